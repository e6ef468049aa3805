/**
 * Asks an address, before the first message, what kind of thing it answers with: a web page is no MCP endpoint, and
 * saying so at once is better than a handshake that fails strangely. Anything else is left to the handshake.
 * @see ERA-3 in docs/specification.md
 */

import type { FetchLike } from '@modelcontextprotocol/client';
import { createStopSignal } from '../stop-signal.ts';

export interface PreflightRequest {
  readonly url: string;
  readonly fetch: FetchLike;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export type PreflightVerdict = { readonly kind: 'mcp' } | { readonly kind: 'notMcp'; readonly contentType: string };

const defaultTimeoutMs = 5_000;
/** HEAD is unknown here; GET may be known. */
const headRefused: ReadonlySet<number> = new Set([405, 501]);
const pageType = /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i;

/** Never rejects: where nobody answers in time, the connection itself says why. */
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

async function ask({ url, fetch }: PreflightRequest, method: string, signal: AbortSignal): Promise<Response> {
  const answer = await fetch(url, { method, headers: { accept: 'application/json, text/event-stream' }, signal });
  // Only the head counts, and a stream of events would hold its connection for ever.
  await answer.body?.cancel();
  return answer;
}
