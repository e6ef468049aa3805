/**
 * Sends one request to a model endpoint and reads the streamed answer, bounded in time and size; repeats it after a
 * retryable failure. A request changes nothing at the endpoint, so it is safe to repeat. Never rejects. Its reasons quote
 * no header, page or address, any of which may hold a secret.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { createEventReader } from '../../machines/agent/event-stream.ts';
import {
  answerOf,
  type Draft,
  emptyDraft,
  saysFiltered,
  saysOverflow,
  unreadCall,
} from '../../machines/agent/model-draft.ts';
import { isLasting, refusedIn, requestWithout } from '../../machines/agent/model-refusals.ts';
import { type ModelAnswer, type ModelQuestion, noTokens, type Tokens } from '../../machines/agent/model-talk.ts';
import { readEvent, readWhole, requestAddress } from '../../machines/agent/model-wire.ts';
import { cutWithMark, isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { parseJson } from '../../machines/base/read-json.ts';
import type { ModelSettings } from '../../machines/config/settings.ts';
import { retryAfterMs } from '../../machines/dispatch/retry-after.ts';
import { redactShapes } from '../../machines/mcp/redact-shapes.ts';
import { certificateProblem, connectionCause } from '../connection-cause.ts';
import type { Now } from '../ports.ts';
import { createStopSignal } from '../stop-signal.ts';
import { throughProxy } from '../through-proxy.ts';

export interface StreamModelPorts {
  readonly nowMs: Now;
  /** Between 0 and 1. */
  readonly random: () => number;
  /** Resolves after `ms`; rejects when the signal aborts first. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly limits?: Partial<StreamLimits>;
  /** Called with each piece of text as it arrives. */
  readonly onText?: (piece: string) => void;
  /** The request is being repeated; discard the pieces of the last attempt. */
  readonly onAgain?: (why: string) => void;
}

export interface StreamLimits {
  /** Longest silence of the endpoint, also before its first byte. */
  readonly idleMs: number;
  readonly maxBytes: number;
  /** Calls that one answer may begin. */
  readonly maxCalls: number;
  readonly attempts: number;
  /** If the endpoint asks for a longer wait, the request fails instead. */
  readonly maxWaitMs: number;
}

export type ModelVerdict =
  | { readonly kind: 'answered'; readonly answer: ModelAnswer }
  | {
      readonly kind: 'failed';
      readonly why: string;
      /** Whether the conversation is too long for the model. */
      readonly overflows?: boolean;
      /** Includes those of answers that broke off. */
      readonly tokens: Tokens;
    };

type Attempt =
  | { readonly kind: 'answered'; readonly answer: ModelAnswer }
  | {
      readonly kind: 'failed';
      readonly why: string;
      readonly retryable: boolean;
      readonly tokens: Tokens;
      readonly waitMs?: number;
      /** What the endpoint does not take and an answer does not need. */
      readonly refuses?: string;
      readonly overflows?: true;
    };

const defaultLimits: StreamLimits = {
  // OpenAI's endpoint sends nothing while a model thinks, and Node's client waits for five minutes at most.
  idleMs: 290_000,
  // A model may think for 100,000 tokens, each of which takes some endpoints 500 bytes of stream.
  maxBytes: 67_108_864,
  // The tool loop runs 32 calls of one answer and refuses the rest one by one; no working model asks for this many.
  maxCalls: 256,
  attempts: 4,
  maxWaitMs: 120_000,
};
const firstWaitMs = 1_000;
const maxBackoffMs = 30_000;
const retryableStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529]);
/** The error texts of these statuses describe the request; those of others may quote the key. */
const reportingStatuses: ReadonlySet<number> = new Set([400, 404, 413, 422]);
/** How long Gemini's endpoint asks to wait; it sends no header. */
const retryDelay = /"retryDelay"\s*:\s*"([\d.]+)s"/;
/** Waiting does not restore a spent quota. */
const spentQuota = /insufficient_quota|billing_hard_limit|credit balance/;
/** OpenAI's endpoint takes 128. */
const tooManyTools = /'tools': array too long/;
/** What Ollama, OpenRouter and vLLM say of a model without tools. */
const noTools = /does not support tools|support tool use|tool choice requires/;
/**
 * What each model has refused for good, so that it is not sent again with each step of a run. By name: a cron job's or a
 * server's own choice of a model has settings of its own.
 */
const refusedBy = new Map<string, ReadonlySet<string>>();
const maxErrorBytes = 65_536;
const keptMessage = 300;

/** The default of `wait`. */
export const waitFor = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal });

const stopped = 'the run was stopped';

/** Repeats the request until there is a complete answer, a permanent failure, or no attempt left. */
export async function streamModel(
  model: ModelSettings,
  question: ModelQuestion,
  { signal, ...ports }: StreamModelPorts & { readonly signal: AbortSignal },
): Promise<ModelVerdict> {
  const limits = { ...defaultLimits, ...ports.limits };
  let spent = noTokens;
  const asked = `${model.provider} ${model.baseUrl} ${model.name}`;
  const without = new Set(refusedBy.get(asked));
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await askOnce(model, question, { ...ports, limits, signal, without });
    if (outcome.kind === 'answered') {
      return { kind: 'answered', answer: { ...outcome.answer, tokens: sum(spent, outcome.answer.tokens) } };
    }
    spent = sum(spent, outcome.tokens);
    const tokens = spent;
    const failed = (why: string): ModelVerdict => ({
      kind: 'failed',
      why,
      overflows: outcome.overflows === true,
      tokens,
    });
    if (signal.aborted) return { kind: 'failed', why: stopped, tokens };
    if (outcome.refuses !== undefined) {
      without.add(outcome.refuses);
      if (isLasting(outcome.refuses)) refusedBy.set(asked, new Set([...without].filter(isLasting)));
      continue;
    }
    if (!outcome.retryable) return failed(outcome.why);
    if (attempt >= limits.attempts) return failed(`${outcome.why}; asked ${attempt} times`);
    const waitMs = outcome.waitMs ?? backoffMs(attempt, ports.random());
    if (waitMs > limits.maxWaitMs) {
      return failed(`${outcome.why}; it asks to be left alone for ${Math.ceil(waitMs / 1_000)} s`);
    }
    ports.onAgain?.(outcome.why);
    try {
      await ports.wait(waitMs, signal);
    } catch {
      return { kind: 'failed', why: stopped, tokens };
    }
  }
}

export function sum(one: Tokens, other: Tokens): Tokens {
  return {
    input: one.input + other.input,
    cached: one.cached + other.cached,
    written: one.written + other.written,
    output: one.output + other.output,
  };
}

/** Exponential backoff. Half of it is random, so that runs that failed together do not retry together. */
function backoffMs(attempt: number, chance: number): number {
  const whole = Math.min(maxBackoffMs, firstWaitMs * 2 ** (attempt - 1));
  return Math.round(whole * (0.5 + chance / 2));
}

interface Asking extends Omit<StreamModelPorts, 'limits'> {
  readonly limits: StreamLimits;
  readonly signal: AbortSignal;
  /** Parameters that are left out; with `reasoning_effort` the model is asked not to think. */
  readonly without: ReadonlySet<string>;
}

async function askOnce(model: ModelSettings, question: ModelQuestion, asking: Asking): Promise<Attempt> {
  const { limits, signal, without } = asking;
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), limits.idleMs);
  const stop = createStopSignal([signal, silence.signal]);
  // When the connection breaks, the draft may already hold the complete answer.
  const draft = emptyDraft();
  let isProxied = false;
  try {
    const body = requestWithout(without, model, question);
    const request = requestOf(model, body);
    const route = await throughProxy(request.url);
    if (route.kind === 'unusable') throw new Unusable(route.why, false);
    isProxied = route.isProxied;
    // The signal is passed here, because Node may collect a signal of the `Request` with it before the answer is read.
    const response = await fetch(request, { ...route.init, signal: stop.signal });
    timer.refresh();
    if (!response.ok) return await refusalOf(response, model, { ...asking, body });
    await readAnswer(response, { model, limits, heard: () => timer.refresh(), draft, onText: asking.onText });
    return verdictOn(draft, 'it broke off before its end');
  } catch (thrown) {
    const { tokens } = draft;
    if (thrown instanceof Unusable) return { kind: 'failed', why: thrown.message, retryable: thrown.retryable, tokens };
    const untrusted = certificateProblem(thrown);
    if (untrusted !== undefined)
      return { kind: 'failed', why: `the model endpoint: ${untrusted.why}`, retryable: untrusted.passes, tokens };
    if (!signal.aborted && (draft.stop !== null || draft.ended)) return verdictOn(draft, 'it broke off before its end');
    const why = silence.signal.aborted
      ? `it was silent for ${limits.idleMs / 1_000} s`
      : connectionCause(thrown, isProxied);
    return verdictOn(draft, why);
  } finally {
    clearTimeout(timer);
    stop.release();
  }
}

/** A reason written by this file, safe to show. */
class Unusable extends Error {
  readonly retryable: boolean;
  constructor(message: string, retryable: boolean) {
    super(message);
    this.retryable = retryable;
  }
}

/**
 * Replaces half characters, as in a text that its server has cut. Endpoints refuse them, so a conversation with one could
 * not continue.
 */
const wellFormed = (_: string, value: unknown): unknown => (typeof value === 'string' ? value.toWellFormed() : value);

function requestOf(model: ModelSettings, body: JsonObject): Request {
  const { url, headers } = requestAddress(model);
  try {
    return new Request(url, {
      method: 'POST',
      headers: { accept: 'text/event-stream, application/json', ...headers },
      body: JSON.stringify(body, wellFormed),
      // A redirect could send the key to another host.
      redirect: 'manual',
    });
  } catch {
    // The caught error may quote the address or a header.
    throw new Unusable('no request can be made of agent.model; check base_url and api_key', false);
  }
}

interface Reading {
  readonly model: ModelSettings;
  readonly limits: StreamLimits;
  readonly heard: () => void;
  readonly draft: Draft;
  readonly onText: ((piece: string) => void) | undefined;
}

async function readAnswer(response: Response, { model, limits, heard, draft, onText }: Reading): Promise<void> {
  const { provider } = model;
  const take = (piece: string): void => {
    if (piece !== '') onText?.(piece);
    if (draft.calls.size > limits.maxCalls) {
      throw new Unusable(`the model asked for more than ${limits.maxCalls} calls in one answer`, false);
    }
  };
  const type = response.headers.get('content-type')?.toLowerCase() ?? '';
  if (type.startsWith('text/html')) {
    await response.body?.cancel();
    throw new Unusable('the model endpoint answered with an HTML page; check agent.model.base_url', false);
  }
  const isDeclared = type.startsWith('application/json');
  /** Known with the first text that is not blank. Some servers and proxies name the type of the other form. */
  let isWhole: boolean | undefined;
  const events = createEventReader();
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    heard();
    bytes += chunk.byteLength;
    if (bytes > limits.maxBytes) {
      throw new Unusable(`the model endpoint answered with more than ${limits.maxBytes} bytes`, false);
    }
    const text = decoder.decode(chunk, { stream: true });
    if (isWhole === undefined && text.trim() !== '') {
      isWhole = isDeclared ? !/^\s*(?:data|event|id|retry)?:/.test(text) : /^\s*[{[]/.test(text);
    }
    if (isWhole !== false) {
      pieces.push(text);
      continue;
    }
    for (const data of events.read(text)) take(readEvent(provider, draft, data));
    // Leaving the loop cancels the rest of the body.
    if (draft.ended || draft.fault !== null) return;
  }
  if (!(isWhole ?? isDeclared)) {
    // The last event is complete even if its terminating empty line is missing.
    for (const data of events.read('\n\n')) take(readEvent(provider, draft, data));
    return;
  }
  const body = parseJson(pieces.join(''));
  if (body === undefined) throw new Unusable('the model endpoint answered with what is no JSON', true);
  take(readWhole(provider, draft, body));
}

function verdictOn(draft: Draft, otherwise: string): Attempt {
  const { fault, tokens } = draft;
  if (fault?.kind === 'overflow') {
    const why =
      'the conversation is longer than the context of the model; give the model a larger one, or ask for less';
    return { kind: 'failed', why, retryable: false, overflows: true, tokens };
  }
  if (fault?.kind === 'torn') {
    const why = 'the model endpoint sent an event that is no JSON';
    return { kind: 'failed', why, retryable: true, tokens };
  }
  if (fault !== null) {
    const why = `the model endpoint ended its answer with an error (${fault.type})`;
    return { kind: 'failed', why, retryable: fault.retryable, tokens };
  }
  const answer = answerOf(draft);
  if (answer !== undefined) return { kind: 'answered', answer };
  const isBegun = draft.text !== '' || draft.calls.size > 0;
  const what = isBegun ? 'the model’s answer was incomplete' : 'the model endpoint gave no answer';
  return { kind: 'failed', why: `${what}: ${otherwise}`, retryable: true, tokens };
}

async function refusalOf(
  response: Response,
  model: ModelSettings,
  { nowMs, body, without }: Asking & { readonly body: JsonObject },
): Promise<Attempt> {
  const { status, headers } = response;
  const text = await shortBody(response);
  const isPage = /^\s*<(?:!doctype|html)/i.test(text);
  const said = isPage ? ' with an HTML page' : '';
  if (status >= 300 && status < 400) {
    const why = 'the model endpoint answered with a redirect; give agent.model.base_url as it leads';
    return { kind: 'failed', why, retryable: false, tokens: noTokens };
  }
  const retryable =
    (retryableStatuses.has(status) && !(status === 429 && spentQuota.test(text))) ||
    (status === 400 && text.includes(`"${unreadCall}"`));
  const message = reportingStatuses.has(status) ? messageIn(text, model) : '';
  const overflows = saysOverflow(message);
  const cure = retryable ? '' : overflows ? '; give the model a larger context, or ask for less' : cureOf(status, text);
  const refuses = refusedIn(status, text, { body, without });
  const waitMs = retryable
    ? retryAfterMs(
        {
          header: headers.get('retry-after'),
          milliseconds: headers.get('retry-after-ms') ?? undefined,
          seconds: retryDelay.exec(text)?.[1],
        },
        nowMs(),
      )
    : undefined;
  return {
    kind: 'failed',
    why: `the model endpoint answered HTTP ${status}${said}${message}${cure}`,
    retryable,
    tokens: noTokens,
    ...(waitMs === undefined ? {} : { waitMs }),
    ...(refuses === undefined ? {} : { refuses }),
    ...(overflows ? { overflows } : {}),
  };
}

function cureOf(status: number, text: string): string {
  if (status === 429) return '; its quota is spent';
  if (status === 402) return '; its credit is spent';
  if (status === 401) return '; check agent.model.api_key';
  if (saysFiltered(text)) return '; the filter of the endpoint refused what the conversation says';
  if (noTools.test(text)) return '; choose a model that takes tools, or give the route `toolsets: []`';
  return tooManyTools.test(text)
    ? '; offer it fewer tools, by `toolsets` of the route or `tools.include` of the servers'
    : '; check agent.model';
}

/** The endpoint's error text, without the key and without anything that has the shape of a secret. */
function messageIn(text: string, { apiKey }: ModelSettings): string {
  const message = errorText(parseJson(text));
  if (message === '') return '';
  const bare = apiKey === undefined || apiKey === '' ? message : message.replaceAll(apiKey, '[redacted]');
  return `: ${cutWithMark(redactShapes(bare).replace(/\s+/g, ' '), keptMessage)}`;
}

/** OpenAI's and Anthropic's `error`, Gemini's list of them, Mistral's `message`, and the `detail` of FastAPI. */
function errorText(body: Json | undefined): string {
  const [first] = [body].flat();
  if (!isJsonObject(first)) return typeof first === 'string' ? first : '';
  const { error, message, detail, msg } = first;
  return errorText([error, message, detail, msg].find((one) => one !== undefined && one !== null));
}

async function shortBody(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > maxErrorBytes) break;
    }
  } catch {
    // The status alone is enough.
  }
  return text;
}
