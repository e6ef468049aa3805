/**
 * Sends one request to a platform and returns its outcome, never an exception: an answer, or how the request failed, which
 * decides whether a text may be sent again. Does not interpret answers, follows no redirect, and quotes neither address
 * nor header, because both may contain a token.
 * @see DLV-4 and DUR-1 in docs/specification.md
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { Json } from '../../../machines/base/json.ts';
import { parseJson } from '../../../machines/base/read-json.ts';
import { refused, transient, type Undelivered, unknownOutcome } from '../../../machines/dispatch/send-outcome.ts';
import { certificateProblem, connectionCause, proxyRefusal } from '../../connection-cause.ts';
import { createStopSignal } from '../../stop-signal.ts';
import { throughProxy } from '../../through-proxy.ts';
import { ownUserAgent } from '../../user-agent.ts';

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** At most one of `json` and `form`. */
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  /** Only the status counts. A body that has not come with it is not waited for: it may never end. */
  readonly ignoresBody?: true;
  readonly timeoutMs: number;
}

export interface HttpAnswer {
  readonly kind: 'answered';
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if the body is not JSON, or is longer than any answer that matters. */
  readonly json: Json | undefined;
  readonly text: string;
}

/** Trackers repeat a comment in their answer, with escapes: GitLab's may have a million characters. */
const maxBodyBytes = 8_388_608;

/** Whether the head of a request was written to its socket, and the status of its answer, as undici reports for each request. */
interface Progress {
  written: boolean;
  status?: number;
}
const progress = new AsyncLocalStorage<Progress>();
const underWay = new WeakMap<object, Progress>();
/** undici publishes these when a request is queued and when its head is sent. */
subscribe('undici:request:create', (message) => {
  const mine = progress.getStore();
  const { request } = message as { readonly request: { readonly method?: string } };
  // A CONNECT to a proxy does not contain the request yet.
  if (mine !== undefined && request.method !== 'CONNECT') underWay.set(request, mine);
});
subscribe('undici:client:sendHeaders', (message) => {
  const mine = underWay.get((message as { readonly request: object }).request);
  if (mine !== undefined) mine.written = true;
});
subscribe('undici:request:headers', (message) => {
  const { request, response } = message as { readonly request: object; readonly response: { statusCode: number } };
  const mine = underWay.get(request);
  if (mine !== undefined) mine.status = response.statusCode;
});

/**
 * Without an answer: `transient` if the request was not sent, `unknown` if it was and no complete answer came, `refused` if
 * it cannot be made.
 */
export async function httpRequest(call: HttpCall, signal: AbortSignal): Promise<HttpAnswer | Undelivered> {
  if (signal.aborted) return transient('stopped before the request was sent');
  const request = buildRequest(call);
  if (request === undefined)
    return refused('permanent', 'no request can be made of these settings; check api_base and the credentials');
  const mine: Progress = { written: false };
  const route = await throughProxy(call.url);
  if (route.kind === 'unusable') return refused('permanent', route.why);
  const stop = createStopSignal([signal], call.timeoutMs);
  try {
    // The signal is passed here, because Node may collect a signal of the `Request` with it before the body is read.
    const response = await progress.run(mine, () => fetch(request, { ...route.init, signal: stop.signal }));
    if (call.ignoresBody !== true) return await readAnswer(response);
    // A body that cannot be cancelled has ended already.
    response.body?.cancel().catch(() => {});
    return { kind: 'answered', status: response.status, headers: response.headers, json: undefined, text: '' };
  } catch (thrown) {
    if (isClosedPort(thrown))
      return refused('permanent', `no HTTP client speaks to port ${new URL(call.url).port}; check api_base`);
    const untrusted = certificateProblem(thrown);
    if (untrusted !== undefined && !mine.written) {
      const reason = `${hostOf(call.url)}: ${untrusted.why}`;
      return untrusted.passes ? transient(reason) : refused('permanent', reason);
    }
    const why = signal.aborted
      ? 'stopped before an answer came'
      : stop.isTimeOver()
        ? `no answer within ${call.timeoutMs / 1_000} s`
        : connectionCause(thrown, route.isProxied);
    const ofProxy = proxyRefusal(thrown) !== undefined;
    // `fetch` rejects this answer also of a server that is no proxy.
    if (mine.status === 407 && !ofProxy)
      return refused('permanent', 'the answer is that of a proxy, which wants a login (HTTP 407); check api_base');
    // A proxy that requires a login has not forwarded the request.
    return mine.written && !ofProxy
      ? unknownOutcome(`the request was sent, and then: ${why}`)
      : transient(`${hostOf(call.url)} was not reached: ${why}`);
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
    // The caught error may quote a header or the address.
    return undefined;
  }
}

/** Rejects if the answer breaks off. */
async function readAnswer(response: Response): Promise<HttpAnswer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the body.
    if (bytes > maxBodyBytes) break;
    chunks.push(chunk);
  }
  // Without a byte order mark, which some servers put before JSON.
  const text = new TextDecoder().decode(Buffer.concat(chunks));
  const json = bytes > maxBodyBytes ? undefined : parseJson(text);
  return { kind: 'answered', status: response.status, headers: response.headers, json, text };
}

/** undici refuses ports on the Fetch standard's list of bad ports, so a retry would fail too. */
function isClosedPort(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.cause instanceof Error && thrown.cause.message === 'bad port';
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'the platform';
}
