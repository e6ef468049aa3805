/**
 * The interface of a kind of model endpoint, and what all kinds have in common: the partial answer, with its calls in
 * parts, token counts and faults.
 * @see DIS-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { readJson } from '../base/read-json.ts';
import type { ModelSettings } from '../config/settings.ts';
import {
  type ModelAnswer,
  type ModelQuestion,
  noTokens,
  type StopReason,
  type Tokens,
  type ToolAsk,
} from './model-talk.ts';

/** The settings that a request's body needs. */
export type Asked = Pick<ModelSettings, 'name' | 'maxTokens'> & Partial<Pick<ModelSettings, 'baseUrl'>>;

/** How one kind of endpoint is asked, and how its answer is read. */
export interface Endpoint {
  /** What follows the base URL, which ends without a slash. */
  readonly pathOf: (base: string) => string;
  /** The headers that authenticate a request: they contain the key. */
  readonly headersOf: (apiKey: string | undefined, baseUrl: string) => Readonly<Record<string, string>>;
  /** The body of a request for a streamed answer. */
  readonly bodyOf: (asked: Asked, question: ModelQuestion) => JsonObject;
  /**
   * Adds one stream event to the draft. Ignores unknown events, because endpoints add new ones.
   * @returns the text that it added
   */
  readonly readEvent: (draft: Draft, event: JsonObject) => string;
  /** Adds the complete answer of an endpoint that does not stream although it was asked to. */
  readonly readWhole: (draft: Draft, body: JsonObject) => string;
}

/** A partial answer. Each event changes it in place: copying it for each event would make reading quadratic. */
export interface Draft {
  text: string;
  readonly calls: Map<string, ToolAsk>;
  stop: StopReason | null;
  tokens: Tokens;
  /** Null if the endpoint shows none. */
  reasoning: Json;
  ended: boolean;
  /** The endpoint failed in mid-stream. */
  fault: StreamFault | null;
}

type StreamFault =
  | {
      readonly kind: 'error';
      /** The endpoint's error type, never its message. */
      readonly type: string;
      readonly retryable: boolean;
    }
  /** The conversation is too long for the model. */
  | { readonly kind: 'overflow' }
  /** An event was no JSON, so a piece of the answer is missing. */
  | { readonly kind: 'torn' };

export function emptyDraft(): Draft {
  return { text: '', calls: new Map(), stop: null, tokens: noTokens, reasoning: null, ended: false, fault: null };
}

export function extendText(draft: Draft, said: Json | undefined): string {
  const piece = textOf(said);
  draft.text += piece;
  return piece;
}

const emptyArguments = '{}';

/** The answer that a draft contains; undefined until the endpoint has given a stop reason. */
export function answerOf(draft: Draft): ModelAnswer | undefined {
  const { text, stop, tokens, reasoning } = draft;
  if (stop === null) return undefined;
  const calls = withIds([...draft.calls.values()]);
  return { text, calls, stop, tokens, ...(reasoning === null ? {} : { reasoning }) };
}

/** Replies are matched to calls by id, so calls with a missing or repeated id get a new one. */
function withIds(calls: readonly ToolAsk[]): readonly ToolAsk[] {
  const taken = new Set<string>();
  return calls.map((call, index) => {
    let { id } = call;
    for (let turn = 0; id === '' || taken.has(id); turn += 1) id = `call_${index}${turn === 0 ? '' : `_${turn}`}`;
    taken.add(id);
    return { ...call, id, argumentsText: call.argumentsText.trim() === '' ? emptyArguments : call.argumentsText };
  });
}

/** Appends a part to a call, in time independent of the call's length. */
export function extendCall(calls: Map<string, ToolAsk>, key: string, part: ToolAsk): void {
  const standing = calls.get(key) ?? { id: '', name: '', argumentsText: '' };
  calls.set(key, {
    ...part,
    ...standing,
    id: standing.id === '' ? part.id : standing.id,
    // Some endpoints repeat the name in every part.
    name: standing.name === '' ? part.name : standing.name,
    argumentsText: standing.argumentsText + part.argumentsText,
  });
}

/** Reads each provider's field names. A later count replaces an earlier one: both count from the start. */
export function tokensOf(standing: Tokens, usage: Json | undefined): Tokens {
  if (!isJsonObject(usage)) return standing;
  const details = isJsonObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const first = (...counts: readonly (Json | undefined)[]) => counts.map(countOf).find((one) => one !== undefined);
  const cached =
    first(usage.cache_read_input_tokens, details.cached_tokens, usage.prompt_cache_hit_tokens) ?? standing.cached;
  const written = first(usage.cache_creation_input_tokens, details.cache_write_tokens) ?? standing.written;
  const fresh = countOf(usage.input_tokens);
  const input = countOf(usage.prompt_tokens) ?? (fresh === undefined ? standing.input : fresh + cached + written);
  return { input, cached, written, output: first(usage.completion_tokens, usage.output_tokens) ?? standing.output };
}

function countOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' && value >= 0 && Number.isSafeInteger(value) ? value : undefined;
}

/** Groq's error type if the model wrote a call that its endpoint cannot read; another attempt may succeed. */
export const unreadCall = 'tool_use_failed';
const retryableTypes: ReadonlySet<string> = new Set([
  'overloaded_error',
  'api_error',
  'rate_limit_error',
  'timeout_error',
  'server_error',
  'rate_limit_exceeded',
  'internal_server_error',
  unreadCall,
]);
const lastingStatuses: ReadonlySet<number> = new Set([400, 401, 402, 403, 404, 413, 422]);
const typePattern = /^[a-z][a-z_]{0,48}$/;

/** What endpoints say of a conversation that is too long for their model. */
const overflow =
  /context (?:length|size|window|limit)|(?:prompt|input|request) (?:is )?too (?:long|large)|prompt length|number of tokens|reduce the length/i;

/** What Azure, and Anthropic in mid-stream too, say of a prompt or an answer that their filter holds back. */
const filtered = /content (?:filtering|management) policy/i;

/** Whether an error text says that a filter of the endpoint refused. */
export function saysFiltered(text: string): boolean {
  return filtered.test(text);
}

/** Whether an error text says that the conversation is too long for the model. */
export function saysOverflow(text: string): boolean {
  return overflow.test(text);
}

/** The fault of an endpoint that failed; retryable if it names no type. */
export function faultOf(error: Json | undefined): StreamFault {
  const types = isJsonObject(error) ? [error.type, error.code].map(textOf).filter((one) => typePattern.test(one)) : [];
  // LM Studio begins to answer before it counts the tokens. A limit of tokens per minute is another thing.
  const isRate = types.some((one) => one.startsWith('rate_limit')) || (isJsonObject(error) && error.code === 429);
  const message = textOf(isJsonObject(error) ? error.message : error);
  if (!isRate && saysOverflow(message)) return { kind: 'overflow' };
  if (saysFiltered(message)) return { kind: 'error', type: 'content_filter', retryable: false };
  // A rate limit has its kind as type, such as `tokens`.
  const type = types.find((one) => retryableTypes.has(one)) ?? types[0];
  if (type !== undefined) return { kind: 'error', type, retryable: retryableTypes.has(type) };
  // OpenRouter has the status with which a provider answered.
  const status = isJsonObject(error) ? countOf(error.code) : undefined;
  if (status === undefined) return { kind: 'error', type: 'error', retryable: true };
  return { kind: 'error', type: String(status), retryable: !lastingStatuses.has(status) };
}

/** An endpoint rejects a conversation with arguments that are not an object, so malformed ones become an empty object. */
export function objectOf(text: string): JsonObject {
  const parsed = readJson(text);
  return isJsonObject(parsed) ? parsed : {};
}

/** The value if it is a list; else an empty list. */
export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** The value if it is a string; else an empty one. */
export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
