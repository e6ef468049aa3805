/**
 * What the answer to a probe means for a connection. Closes nothing.
 * @see LIF-4 in docs/specification.md
 */

import type { ConnectFailure } from './connect-failure.ts';

export type Probe = 'ping' | 'tools/list';

type ProbeReading =
  /** `next` is the probe to use from now on. */
  | { readonly kind: 'alive'; readonly next: Probe }
  /** It has dropped the session. */
  | { readonly kind: 'expired' }
  | { readonly kind: 'dead' };

const methodNotFound = -32601;
/** Statuses about credentials, or of a proxy that does not reach the server. */
const noAnswers: ReadonlySet<number> = new Set([401, 403, 502, 503, 504]);

/**
 * Interprets a failed probe. A server that answers is alive, even if it does not support `ping`: the stateless era has none,
 * and some servers never had it. A rate-limited server is alive too.
 * @param isExpired whether the failure may mean that the session is gone
 */
export function readProbeFailure(probe: Probe, failure: ConnectFailure, isExpired = false): ProbeReading {
  const code = failure.kind === 'rpc' ? failure.code : failure.kind === 'http' ? failure.rpcCode : undefined;
  if (code === methodNotFound) return { kind: 'alive', next: 'tools/list' };
  if (isExpired) return { kind: 'expired' };
  // Some servers send their JSON-RPC errors with the status 400 or 500.
  if (failure.kind === 'http' && code !== undefined && !noAnswers.has(failure.status))
    return { kind: 'alive', next: 'tools/list' };
  const answered =
    failure.kind === 'rpc' || failure.kind === 'malformed' || (failure.kind === 'http' && failure.status === 429);
  return answered ? { kind: 'alive', next: probe } : { kind: 'dead' };
}
