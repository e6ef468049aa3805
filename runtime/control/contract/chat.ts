/** The chat with the configured model. */

export interface InChat {
  readonly session: string;
}

export interface ChatOpened extends InChat {
  readonly profile: string;
  readonly provider: string;
  readonly model: string;
  /** Number of tools that are offered to the model. */
  readonly tools: number;
}

export interface TurnResult {
  readonly outcome: string;
  readonly text?: string;
  readonly reason?: string;
  /** Requests to the model. */
  readonly steps?: number;
  readonly input_tokens?: number;
  /** Those of the input that the endpoint had in its cache. */
  readonly cached_tokens?: number;
  readonly output_tokens?: number;
  readonly cost?: number;
}

export interface ToolSummary {
  readonly name: string;
  readonly description: string;
}
