/**
 * Requests the URL before the first message to see its content type: a web page is not an MCP endpoint, and reporting
 * that at once is better than an odd handshake failure. Anything else is left to the handshake.
 * @see ERA-3 in docs/specification.md
 */

import type { FetchLike } from '@modelcontextprotocol/client';
import { createStopSignal } from '../stop-signal.ts';

interface PreflightRequest {
  readonly url: string;
  readonly fetch: FetchLike;
  /** `manual`: a redirect says nothing of the endpoint. */
  readonly redirect?: 'follow' | 'manual';
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

type PreflightVerdict = { readonly kind: 'mcp' } | { readonly kind: 'notMcp'; readonly contentType: string };

const defaultTimeoutMs = 5_000;
/** HEAD is not supported here; GET may be. */
const headRefused: ReadonlySet<number> = new Set([405, 501]);
const pageType = /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i;

/** Never rejects: if there is no answer in time, the connection attempt reports why. */
export async function preflight(request: PreflightRequest): Promise<PreflightVerdict> {
  const { timeoutMs = defaultTimeoutMs, signal } = request;
  const stop = createStopSignal([signal], timeoutMs);
  try {
    let answer = await ask(request, 'HEAD', stop.signal);
    if (headRefused.has(answer.status)) answer = await ask(request, 'GET', stop.signal);
    const contentType = answer.headers.get('content-type') ?? '';
    return answer.ok && pageType.test(contentType) ? { kind: 'notMcp', contentType } : { kind: 'mcp' };
  } catch {
    return { kind: 'mcp' };
  } finally {
    stop.release();
  }
}

async function ask(
  { url, fetch, redirect = 'follow' }: PreflightRequest,
  method: string,
  signal: AbortSignal,
): Promise<Response> {
  const headers = { accept: 'application/json, text/event-stream' };
  const answer = await fetch(url, { method, headers, redirect, signal });
  // Only the head matters, and an event stream would hold its connection open.
  await answer.body?.cancel();
  return answer;
}
