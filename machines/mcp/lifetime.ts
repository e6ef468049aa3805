/**
 * Decides what the answer to a probe says about a connection. Nothing is closed here.
 * @see LIF-4 in docs/specification.md
 */

import type { ConnectFailure } from './connect-failure.ts';

export type Probe = 'ping' | 'tools/list';

export type ProbeReading =
  /** `next` is the probe to use from now on. */
  { readonly kind: 'alive'; readonly next: Probe } | { readonly kind: 'dead' };

const methodNotFound = -32601;

/**
 * Reads the failure of a probe. A server that answers lives, even if it does not know `ping`: the stateless era has
 * none, and some servers never had it. One that asks for patience is not connected to anew.
 */
export function readProbeFailure(probe: Probe, failure: ConnectFailure): ProbeReading {
  const code = failure.kind === 'rpc' ? failure.code : failure.kind === 'http' ? failure.rpcCode : undefined;
  if (code === methodNotFound) return { kind: 'alive', next: 'tools/list' };
  const answered =
    failure.kind === 'rpc' || failure.kind === 'malformed' || (failure.kind === 'http' && failure.status === 429);
  return answered ? { kind: 'alive', next: probe } : { kind: 'dead' };
}
