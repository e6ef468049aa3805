/**
 * One request to a platform and what came of it, never an exception: an answer, or no answer and whether the request had
 * gone out by then. That difference decides whether a text may be sent again. Reads no platform's answers, follows no
 * redirect, and quotes neither address nor header: both may hold a token.
 * @see DLV-4 and DUR-1 in docs/specification.md
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { Json } from '../../../machines/base/json.ts';
import { certificateProblem, connectionCause } from '../../connection-cause.ts';
import { createStopSignal } from '../../stop-signal.ts';
import { throughProxy } from '../../through-proxy.ts';
import { ownUserAgent } from '../../user-agent.ts';

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** At most one of the two. */
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export interface HttpAnswer {
  readonly kind: 'answered';
  readonly status: number;
  readonly headers: Headers;
  /** Undefined where the body is not JSON, or longer than any answer that matters. */
  readonly json: Json | undefined;
  readonly text: string;
}

export type HttpOutcome =
  | HttpAnswer
  /** Nothing of the request left this machine's connection: it may be made again. */
  | { readonly kind: 'neverSent'; readonly reason: string }
  /** It went out, and no whole answer came. */
  | { readonly kind: 'lost'; readonly reason: string }
  /** It cannot be made at all: the address or a header is not one. */
  | { readonly kind: 'unsendable'; readonly reason: string };

const maxBodyBytes = 262_144;

/** Whether the head of a request has been written to its socket; undici says so, request by request. */
interface Progress {
  written: boolean;
}
const progress = new AsyncLocalStorage<Progress>();
const underWay = new WeakMap<object, Progress>();
/** undici publishes these when a request is queued and when its head goes out. */
subscribe('undici:request:create', (message) => {
  const mine = progress.getStore();
  const { request } = message as { readonly request: { readonly method?: string } };
  // A tunnel through a proxy carries nothing yet.
  if (mine !== undefined && request.method !== 'CONNECT') underWay.set(request, mine);
});
subscribe('undici:client:sendHeaders', (message) => {
  const mine = underWay.get((message as { readonly request: object }).request);
  if (mine !== undefined) mine.written = true;
});

export async function httpRequest(call: HttpCall, signal: AbortSignal): Promise<HttpOutcome> {
  if (signal.aborted) return { kind: 'neverSent', reason: 'stopped before the request was sent' };
  const request = buildRequest(call);
  if (request === undefined)
    return {
      kind: 'unsendable',
      reason: 'no request can be made of these settings; check api_base and the credentials',
    };
  const mine: Progress = { written: false };
  const stop = createStopSignal([signal], call.timeoutMs);
  try {
    // A signal of the request itself would be gone with the request, before the body is read.
    const route = await throughProxy(call.url);
    if (route.kind === 'unusable') return { kind: 'unsendable', reason: route.why };
    const response = await progress.run(mine, () => fetch(request, { ...route.init, signal: stop.signal }));
    return await readAnswer(response);
  } catch (thrown) {
    if (isClosedPort(thrown))
      return { kind: 'unsendable', reason: `no HTTP client speaks to port ${new URL(call.url).port}; check api_base` };
    const untrusted = certificateProblem(thrown);
    if (untrusted !== undefined && !mine.written)
      return {
        kind: untrusted.passes ? 'neverSent' : 'unsendable',
        reason: `${hostOf(call.url)}: ${untrusted.why}`,
      };
    const why = signal.aborted
      ? 'stopped before an answer came'
      : stop.isTimeOver()
        ? `no answer within ${call.timeoutMs / 1_000} s`
        : connectionCause(thrown);
    return mine.written
      ? { kind: 'lost', reason: `the request was sent, and then: ${why}` }
      : { kind: 'neverSent', reason: `${hostOf(call.url)} was not reached: ${why}` };
  } finally {
    stop.release();
  }
}

function buildRequest(call: HttpCall): Request | undefined {
  try {
    const headers = new Headers({ accept: 'application/json', 'user-agent': ownUserAgent, ...call.headers });
    let body: string | null = null;
    if (call.json !== undefined) {
      if (!headers.has('content-type')) headers.set('content-type', 'application/json; charset=utf-8');
      body = JSON.stringify(call.json);
    } else if (call.form !== undefined) {
      headers.set('content-type', 'application/x-www-form-urlencoded');
      body = new URLSearchParams(call.form).toString();
    }
    if (!/^https?:/.test(call.url)) return undefined;
    return new Request(call.url, { method: call.method, headers, body, redirect: 'manual' });
  } catch {
    // The error quotes the header or the address.
    return undefined;
  }
}

/** Throws where the answer breaks off. */
async function readAnswer(response: Response): Promise<HttpAnswer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the body.
    if (bytes > maxBodyBytes) break;
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const json = bytes > maxBodyBytes ? undefined : parsed(text);
  return { kind: 'answered', status: response.status, headers: response.headers, json, text };
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The web's own list of ports that belong to other protocols; whoever asks there again is refused again. */
function isClosedPort(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.cause instanceof Error && thrown.cause.message === 'bad port';
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'the platform';
}
