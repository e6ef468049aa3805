/**
 * The arithmetic of a connection's age: when an idle or old child is recycled, when a connection is asked whether it
 * lives, and what the answer means. Times come as numbers; nothing is closed here.
 * @see LIF-4 and LIF-5 in docs/specification.md
 */

import type { ConnectFailure } from './connect-failure.ts';
import type { TransportPlan } from './server-settings.ts';

export interface ConnectionAge {
  readonly nowMs: number;
  readonly connectedAtMs: number;
  /** When the last call began or ended; the time of the connect where there was none. */
  readonly lastUsedAtMs: number;
  /** Calls that have no answer yet. */
  readonly inFlight: number;
  /** 0: never. */
  readonly idleTimeoutMs: number;
  readonly maxLifetimeMs: number;
}

export type RecycleDue =
  | { readonly kind: 'now'; readonly why: 'idle' | 'age' }
  /** Ask again after so long; nothing may be due then. */
  | { readonly kind: 'in'; readonly ms: number }
  | { readonly kind: 'never' };

export interface KeepaliveAge {
  readonly nowMs: number;
  /** When the server last answered anything. */
  readonly lastHeardAtMs: number;
  readonly inFlight: number;
  /** Undefined: no keepalive. */
  readonly intervalMs: number | undefined;
}

export type KeepaliveDue =
  | { readonly kind: 'now' }
  | { readonly kind: 'in'; readonly ms: number }
  | { readonly kind: 'never' };

export type Probe = 'ping' | 'tools/list';

export type ProbeReading =
  /** `next` is the probe to use from now on. */
  { readonly kind: 'alive'; readonly next: Probe } | { readonly kind: 'dead' };

const keepaliveFloorMs = 5_000;
const httpKeepaliveMs = 180_000;
/** A timer of more than 2^31 ms fires at once, so a long wait is asked about once a day. */
const longestWaitMs = 86_400_000;
const methodNotFound = -32601;

/** Decides whether the child is recycled; while a call is in flight it never is, so ask again when the call ends. */
export function recycleDue(age: ConnectionAge): RecycleDue {
  if (age.inFlight > 0) return { kind: 'never' };
  const idleLeftMs = leftMs(age.idleTimeoutMs, age.nowMs - Math.max(age.lastUsedAtMs, age.connectedAtMs));
  const ageLeftMs = leftMs(age.maxLifetimeMs, age.nowMs - age.connectedAtMs);
  const firstMs = Math.min(idleLeftMs, ageLeftMs);
  if (firstMs === Number.POSITIVE_INFINITY) return { kind: 'never' };
  if (firstMs > 0) return { kind: 'in', ms: Math.min(firstMs, longestWaitMs) };
  return { kind: 'now', why: idleLeftMs <= ageLeftMs ? 'idle' : 'age' };
}

/** Decides whether the server is probed; a call in flight is proof enough or will find out, and is not disturbed. */
export function keepaliveDue({ nowMs, lastHeardAtMs, inFlight, intervalMs }: KeepaliveAge): KeepaliveDue {
  if (intervalMs === undefined) return { kind: 'never' };
  if (inFlight > 0) return { kind: 'in', ms: Math.min(intervalMs, longestWaitMs) };
  const ms = leftMs(intervalMs, nowMs - lastHeardAtMs);
  return ms > 0 ? { kind: 'in', ms: Math.min(ms, longestWaitMs) } : { kind: 'now' };
}

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
  const answered = failure.kind === 'rpc' || (failure.kind === 'http' && failure.status === 429);
  return answered ? { kind: 'alive', next: probe } : { kind: 'dead' };
}

/** What is left of a limit; a clock that was set back counts as no time passed. */
function leftMs(limitMs: number, passedMs: number): number {
  return limitMs <= 0 ? Number.POSITIVE_INFINITY : limitMs - Math.max(0, passedMs);
}
