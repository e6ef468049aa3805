/**
 * What is said between a run and a model, in one shape for every kind of endpoint: the question with its turns and tools,
 * and the answer. Knows no endpoint's notation.
 * @see DIS-3 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';

/** A tool as a model is offered it. */
export interface ToolOffer {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** A model asks for a tool; the arguments are its text, which need not be JSON. */
export interface ToolAsk {
  readonly id: string;
  readonly name: string;
  readonly argumentsText: string;
}

export interface ToolReply {
  readonly id: string;
  readonly text: string;
  readonly isError: boolean;
}

export interface Picture {
  readonly mediaType: string;
  readonly base64: string;
}

export type Turn =
  | { readonly role: 'user'; readonly text: string; readonly picture?: Picture }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly ToolAsk[] }
  | { readonly role: 'tools'; readonly replies: readonly ToolReply[] };

export interface Question {
  /** Empty: none. */
  readonly system: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolOffer[];
  /** Left out: as the endpoint likes. */
  readonly temperature?: number;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
}

/** `cut`: the token limit came first. `refused`: the model or its filter would not. */
export type StopReason = 'ended' | 'calls' | 'cut' | 'refused';

export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ToolAsk[];
  readonly stop: StopReason;
  readonly tokens: Tokens;
}

export const noTokens: Tokens = { input: 0, output: 0 };
