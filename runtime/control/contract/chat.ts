/** The chat with the configured model. */

import type { ModelUse } from './runs.ts';

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

export interface TurnResult extends ModelUse {
  readonly outcome: string;
  readonly text?: string;
  readonly reason?: string;
}

export interface ToolSummary {
  readonly name: string;
  readonly description: string;
}
