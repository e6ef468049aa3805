/**
 * Decides how often a connection is asked whether it lives, and what the answer means. Times come as numbers; nothing is
 * closed here.
 * @see LIF-4 in docs/specification.md
 */

import type { ConnectFailure } from './connect-failure.ts';
import type { TransportPlan } from './server-settings.ts';

export type Probe = 'ping' | 'tools/list';

export type ProbeReading =
  /** `next` is the probe to use from now on. */
  { readonly kind: 'alive'; readonly next: Probe } | { readonly kind: 'dead' };

const keepaliveFloorMs = 5_000;
const httpKeepaliveMs = 180_000;
const methodNotFound = -32601;

/** The period of the probes: a given one is at least the floor; without one, HTTP has a default and stdio none. */
export function keepaliveIntervalMs(kind: TransportPlan['kind'], givenMs: number | undefined): number | undefined {
  if (givenMs !== undefined) return Math.max(keepaliveFloorMs, givenMs);
  return kind === 'stdio' ? undefined : httpKeepaliveMs;
}

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
