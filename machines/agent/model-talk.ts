/**
 * What a run and a model exchange, in one shape for all endpoints: the request with its turns and tools, and the answer.
 * @see DIS-3 in docs/specification.md
 */

import type { Json, JsonObject } from '../base/json.ts';

export interface ToolOffer {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** A model's call of a tool; the arguments are its text, which may be invalid JSON. */
export interface ToolAsk {
  readonly id: string;
  readonly name: string;
  readonly argumentsText: string;
  /** What the endpoint needs back with the call: Gemini rejects a conversation without its signatures. */
  readonly extra?: JsonObject;
}

export interface ToolReply {
  readonly id: string;
  readonly text: string;
  readonly isError: boolean;
}

interface Picture {
  readonly mediaType: string;
  readonly base64: string;
}

export type Turn =
  | { readonly role: 'user'; readonly text: string; readonly picture?: Picture }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly ToolAsk[];
      readonly reasoning?: Json;
    }
  | { readonly role: 'tools'; readonly replies: readonly ToolReply[] };

export interface ModelQuestion {
  /** Empty: none. */
  readonly system: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolOffer[];
  /** Absent: the endpoint's default. */
  readonly temperature?: number;
  /** Texts that end the answer where the model writes them. */
  readonly stopSequences?: readonly string[];
  /** The endpoint refuses cache marks. */
  readonly isUncached?: boolean;
}

export interface Tokens {
  /** Includes the next two. */
  readonly input: number;
  /** Read from the endpoint's cache. */
  readonly cached: number;
  readonly written: number;
  readonly output: number;
}

/** `cut`: the token limit was reached. `refused`: the model or its filter refused. */
export type StopReason = 'ended' | 'calls' | 'cut' | 'refused';

export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ToolAsk[];
  readonly stop: StopReason;
  readonly tokens: Tokens;
  /** What DeepSeek and others need back with the calls of an exchange, in the endpoint's own form. Never shown. */
  readonly reasoning?: Json;
}

export const noTokens: Tokens = { input: 0, cached: 0, written: 0, output: 0 };

/** Why there is no answer of a model that `refused`. */
export const refusedToAnswer = 'the model, or the filter of its endpoint, refused to answer';
