/**
 * An answer of a model as far as it has come, and what every kind of endpoint's stream adds to it alike: calls in parts,
 * counts of tokens, faults.
 * @see DIS-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { type ModelAnswer, noTokens, type StopReason, type Tokens, type ToolAsk } from './model-talk.ts';

/** An answer as far as it has come. Each event changes it in place: a copy for each would make reading quadratic. */
export interface Draft {
  text: string;
  readonly calls: Map<string, ToolAsk>;
  stop: StopReason | null;
  tokens: Tokens;
  /** The endpoint said that nothing follows. */
  ended: boolean;
  /** The endpoint gave up in mid-stream. */
  fault: StreamFault | null;
}

export interface StreamFault {
  /** The endpoint's name for it: a word, never its message. */
  readonly type: string;
  readonly passing: boolean;
}

export function emptyDraft(): Draft {
  return { text: '', calls: new Map(), stop: null, tokens: noTokens, ended: false, fault: null };
}

/** Adds a text to the draft. Returns it. */
export function extendText(draft: Draft, said: Json | undefined): string {
  const piece = textOf(said);
  draft.text += piece;
  return piece;
}

const emptyArguments = '{}';

/** The answer that a draft amounts to; undefined while the endpoint has not said that it is whole. */
export function answerOf(draft: Draft): ModelAnswer | undefined {
  if (draft.stop === null) return undefined;
  return { text: draft.text, calls: withIds([...draft.calls.values()]), stop: draft.stop, tokens: draft.tokens };
}

/** Replies are matched to calls by id, so each call gets one of its own where the endpoint gave none or one twice. */
function withIds(calls: readonly ToolAsk[]): readonly ToolAsk[] {
  const taken = new Set<string>();
  return calls.map((call, index) => {
    let { id } = call;
    for (let turn = 0; id === '' || taken.has(id); turn += 1) id = `call_${index}${turn === 0 ? '' : `_${turn}`}`;
    taken.add(id);
    return {
      id,
      name: call.name,
      argumentsText: call.argumentsText.trim() === '' ? emptyArguments : call.argumentsText,
    };
  });
}

/** Adds a part of a call to what has come of it, in time that does not depend on how much that is. */
export function extendCall(calls: Map<string, ToolAsk>, key: string, part: ToolAsk): void {
  const standing = calls.get(key) ?? { id: '', name: '', argumentsText: '' };
  calls.set(key, {
    id: standing.id === '' ? part.id : standing.id,
    // Some endpoints repeat the name in every part.
    name: standing.name === '' ? part.name : standing.name,
    argumentsText: standing.argumentsText + part.argumentsText,
  });
}

/** Each provider's names; a later count replaces an earlier one, for both count from the start. */
export function tokensOf(standing: Tokens, usage: Json | undefined): Tokens {
  if (!isJsonObject(usage)) return standing;
  const cached = [usage.cache_creation_input_tokens, usage.cache_read_input_tokens].map((one) => countOf(one) ?? 0);
  const fresh = countOf(usage.input_tokens);
  const input =
    countOf(usage.prompt_tokens) ?? (fresh === undefined ? undefined : cached.reduce((sum, one) => sum + one, fresh));
  const output = countOf(usage.completion_tokens) ?? countOf(usage.output_tokens);
  return { input: input ?? standing.input, output: output ?? standing.output };
}

function countOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' && value >= 0 && Number.isSafeInteger(value) ? value : undefined;
}

const passing: ReadonlySet<string> = new Set([
  'overloaded_error',
  'api_error',
  'rate_limit_error',
  'timeout_error',
  'server_error',
  'rate_limit_exceeded',
  'internal_server_error',
]);
const wordPattern = /^[a-z][a-z_]{0,48}$/;

/** What an endpoint that gave up says of it; without a word of its own it passes. */
export function faultOf(error: Json | undefined): StreamFault {
  const type = isJsonObject(error)
    ? [error.type, error.code].map(textOf).find((one) => wordPattern.test(one))
    : undefined;
  return type === undefined ? { type: 'error', passing: true } : { type, passing: passing.has(type) };
}

/** An endpoint refuses a conversation in which arguments are no object, so malformed ones go back as none. */
export function objectOf(text: string): JsonObject {
  const parsed = parse(text);
  return isJsonObject(parsed) ? parsed : {};
}

/** The list that was said; an empty one where something else was. */
export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** The text that was said; an empty one where something else was. */
export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** Reads JSON; undefined where it is none. */
export function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
