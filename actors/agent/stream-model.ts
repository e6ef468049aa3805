/**
 * Asks a model endpoint one question and reads its streamed answer, within bounds of time and size; asks again after a
 * passing failure. Asking changes nothing at the endpoint, so a question whose answer broke off may be asked anew. Never
 * rejects, and quotes no header, no page and no address: any may hold a secret.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { createEventReader } from '../../machines/agent/event-stream.ts';
import { answerOf, type Draft, emptyDraft } from '../../machines/agent/model-draft.ts';
import { type ModelAnswer, noTokens, type Question, type Tokens } from '../../machines/agent/model-talk.ts';
import { readEvent, readWhole, requestBody } from '../../machines/agent/model-wire.ts';
import { cut, isJsonObject, type Json } from '../../machines/base/json.ts';
import type { ModelSettings } from '../../machines/config/settings.ts';
import { retryAfterMs } from '../../machines/dispatch/retry-after.ts';
import { redactShapes } from '../../machines/mcp/redact-shapes.ts';
import { certificateProblem, connectionCause } from '../connection-cause.ts';
import type { Now } from '../ports.ts';
import { createStopSignal } from '../stop-signal.ts';
import { throughProxy } from '../through-proxy.ts';
import { modelEndpoint } from './model-endpoint.ts';

export interface StreamModelPorts {
  readonly nowMs: Now;
  /** Between 0 and 1. */
  readonly random: () => number;
  /** Resolves after so long; rejects when the signal aborts first. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly limits?: Partial<StreamLimits>;
  /** Hears the text piece by piece as it comes. */
  readonly onText?: (piece: string) => void;
  /** The answer is asked for anew; what came of the last one is void. */
  readonly onAgain?: (why: string) => void;
}

export interface StreamLimits {
  /** Silence of the endpoint, before its first byte too. */
  readonly idleMs: number;
  readonly maxBytes: number;
  /** Calls that one answer may begin. */
  readonly maxCalls: number;
  readonly attempts: number;
  /** An endpoint that asks for a longer wait is not waited for. */
  readonly longestWaitMs: number;
}

export type ModelVerdict =
  | { readonly kind: 'answered'; readonly answer: ModelAnswer }
  /** The tokens of answers that broke off count too. */
  | { readonly kind: 'failed'; readonly why: string; readonly tokens: Tokens };

type Attempt =
  | { readonly kind: 'answered'; readonly answer: ModelAnswer }
  | {
      readonly kind: 'failed';
      readonly why: string;
      readonly passing: boolean;
      readonly tokens: Tokens;
      readonly waitMs?: number;
    };

const usualLimits: StreamLimits = {
  idleMs: 120_000,
  maxBytes: 8_388_608,
  // Of one answer 32 are carried out and the others refused one by one; this many no working model asks for.
  maxCalls: 256,
  attempts: 4,
  longestWaitMs: 120_000,
};
const firstWaitMs = 1_000;
const longestBackoffMs = 30_000;
const passingStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529]);
/** These say what was wrong with the question; others may quote the key. */
const tellingStatuses: ReadonlySet<number> = new Set([400, 404, 413, 422]);
/** No wait fills an empty account. */
const spentQuota = /insufficient_quota|billing_hard_limit|credit balance/;
const maxErrorBytes = 65_536;
const keptMessage = 300;

/** What `wait` is outside of a spec. */
export const waitFor = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal });

/** Asks until there is a whole answer, a lasting failure, or no attempt left. */
export async function streamModel(
  model: ModelSettings,
  question: Question,
  { signal, ...ports }: StreamModelPorts & { readonly signal: AbortSignal },
): Promise<ModelVerdict> {
  const limits = { ...usualLimits, ...ports.limits };
  let spent = noTokens;
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await askOnce(model, question, { ...ports, limits, signal });
    if (outcome.kind === 'answered') {
      return { kind: 'answered', answer: { ...outcome.answer, tokens: sum(spent, outcome.answer.tokens) } };
    }
    spent = sum(spent, outcome.tokens);
    const failed = (why: string): ModelVerdict => ({ kind: 'failed', why, tokens: spent });
    if (signal.aborted) return failed('the run was stopped');
    if (!outcome.passing) return failed(outcome.why);
    if (attempt >= limits.attempts) return failed(`${outcome.why}; asked ${attempt} times`);
    const waitMs = outcome.waitMs ?? backoffMs(attempt, ports.random());
    if (waitMs > limits.longestWaitMs) {
      return failed(`${outcome.why}; it asks to be left alone for ${Math.ceil(waitMs / 1_000)} s`);
    }
    ports.onAgain?.(outcome.why);
    try {
      await ports.wait(waitMs, signal);
    } catch {
      return failed('the run was stopped');
    }
  }
}

export function sum(one: Tokens, other: Tokens): Tokens {
  return { input: one.input + other.input, output: one.output + other.output };
}

/** Doubles with each attempt; half of it is chance, so that runs that failed together do not come back together. */
function backoffMs(attempt: number, chance: number): number {
  const whole = Math.min(longestBackoffMs, firstWaitMs * 2 ** (attempt - 1));
  return Math.round(whole * (0.5 + chance / 2));
}

interface Asking extends Omit<StreamModelPorts, 'limits'> {
  readonly limits: StreamLimits;
  readonly signal: AbortSignal;
}

async function askOnce(model: ModelSettings, question: Question, asking: Asking): Promise<Attempt> {
  const { limits, signal } = asking;
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), limits.idleMs);
  const stop = createStopSignal([signal, silence.signal]);
  // What has come when the connection breaks may be the whole answer already.
  const draft = emptyDraft();
  try {
    // A signal of the request itself would be gone with the request, before the answer is read.
    const request = requestOf(model, question);
    const route = await throughProxy(request.url);
    if (route.kind === 'unusable') throw new Unusable(route.why, false);
    const response = await fetch(request, { ...route.init, signal: stop.signal });
    timer.refresh();
    if (!response.ok) return await refusalOf(response, model, asking);
    await readAnswer(response, { model, limits, heard: () => timer.refresh(), draft, onText: asking.onText });
    return verdictOn(draft, 'it broke off before its end');
  } catch (thrown) {
    const { stop, ended, tokens } = draft;
    if (thrown instanceof Unusable) return { kind: 'failed', why: thrown.message, passing: thrown.passing, tokens };
    const untrusted = certificateProblem(thrown);
    if (untrusted !== undefined)
      return { kind: 'failed', why: `the model endpoint: ${untrusted.why}`, passing: untrusted.passes, tokens };
    if (!signal.aborted && (stop !== null || ended)) return verdictOn(draft, 'it broke off before its end');
    const why = silence.signal.aborted ? `it was silent for ${limits.idleMs / 1_000} s` : connectionCause(thrown);
    return verdictOn(draft, why);
  } finally {
    clearTimeout(timer);
    stop.release();
  }
}

/** A reason of ours, safe to show. */
class Unusable extends Error {
  readonly passing: boolean;
  constructor(message: string, passing: boolean) {
    super(message);
    this.passing = passing;
  }
}

function requestOf(model: ModelSettings, question: Question): Request {
  const { url, headers } = modelEndpoint(model);
  try {
    return new Request(url, {
      method: 'POST',
      headers: { accept: 'text/event-stream, application/json', ...headers },
      body: JSON.stringify(requestBody(model, question)),
      // A key must not follow a redirect to another host.
      redirect: 'manual',
    });
  } catch {
    // The error quotes the address or the header.
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
  const isWhole = type.startsWith('application/json');
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
    if (isWhole) {
      pieces.push(text);
      continue;
    }
    for (const { data } of events.read(text)) take(readEvent(provider, draft, data));
    // Leaving the loop cancels the rest.
    if (draft.ended || draft.fault !== null) return;
  }
  if (!isWhole) {
    // A stream whose last event lacks its empty line is still whole where the event is.
    for (const { data } of events.read('\n\n')) take(readEvent(provider, draft, data));
    return;
  }
  const body = parse(pieces.join(''));
  if (body === undefined) throw new Unusable('the model endpoint answered with what is no JSON', true);
  take(readWhole(provider, draft, body));
}

function verdictOn(draft: Draft, otherwise: string): Attempt {
  const { fault, tokens } = draft;
  if (fault !== null) {
    const why = `the model endpoint ended in the middle of its answer (${fault.type})`;
    return { kind: 'failed', why, passing: fault.passing, tokens };
  }
  const answer = answerOf(draft);
  if (answer !== undefined) return { kind: 'answered', answer };
  const isBegun = draft.text !== '' || draft.calls.size > 0;
  const what = isBegun ? 'the model’s answer was incomplete' : 'the model endpoint gave no answer';
  return { kind: 'failed', why: `${what}: ${otherwise}`, passing: true, tokens };
}

async function refusalOf(response: Response, model: ModelSettings, { nowMs }: Asking): Promise<Attempt> {
  const { status, headers } = response;
  const text = await shortBody(response);
  const isPage = /^\s*<(?:!doctype|html)/i.test(text);
  const said = isPage ? ' with an HTML page' : '';
  if (status >= 300 && status < 400) {
    const why = 'the model endpoint answered with a redirect; give agent.model.base_url as it leads';
    return { kind: 'failed', why, passing: false, tokens: noTokens };
  }
  const passing = passingStatuses.has(status) && !(status === 429 && spentQuota.test(text));
  const message = tellingStatuses.has(status) ? messageIn(text, model) : '';
  const cure = passing ? '' : status === 429 ? '; its quota is spent' : '; check agent.model';
  const waitMs = passing
    ? retryAfterMs(
        { header: headers.get('retry-after'), milliseconds: headers.get('retry-after-ms') ?? undefined },
        nowMs(),
      )
    : undefined;
  return {
    kind: 'failed',
    why: `the model endpoint answered HTTP ${status}${said}${message}${cure}`,
    passing,
    tokens: noTokens,
    ...(waitMs === undefined ? {} : { waitMs }),
  };
}

/** The endpoint's own words where they help, without the key and without shapes of others. */
function messageIn(text: string, { apiKey }: ModelSettings): string {
  const body = parse(text);
  const error = isJsonObject(body) ? body.error : undefined;
  const message = isJsonObject(error) ? error.message : error;
  if (typeof message !== 'string' || message === '') return '';
  const bare = apiKey === undefined || apiKey === '' ? message : message.replaceAll(apiKey, '[redacted]');
  return `: ${cut(redactShapes(bare).replace(/\s+/g, ' '), keptMessage)}`;
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
    // The status has come, and says enough.
  }
  return text;
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
