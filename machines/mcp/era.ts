/**
 * Decides the era for a server: which handshake is tried first, and whether its failure is a refusal that the other era may
 * not have. At most two attempts.
 * @see ERA-1 and ERA-2 in docs/specification.md
 */

import type { ConnectFailure } from './connect-failure.ts';
import type { Protocol } from './server-settings.ts';

export type Era = 'legacy' | 'stateless';

/** `initialize` opens the legacy era, `server/discover` the stateless one of the 2026-07-28 revision. */
export type Handshake = 'initialize' | 'discover';

export interface FailedAttempt {
  readonly handshake: Handshake;
  readonly failure: ConnectFailure;
  /** The server accepted the handshake; the failure is that of a later request. */
  readonly accepted?: boolean;
}

type NextAttempt =
  | { readonly kind: 'attempt'; readonly handshake: Handshake }
  /** In the order of the attempts: the first error, then the probe's. */
  | { readonly kind: 'failed'; readonly failures: readonly ConnectFailure[] };

/** From a modern-only server, or one that does not support the method or its form. */
const refusalCodes: ReadonlySet<number> = new Set([-32022, -32020, -32021, -32601, -32602, -32600]);
const refusalStatuses: ReadonlySet<number> = new Set([400, 404, 405, 406, 415, 501]);

/**
 * Chooses the first handshake.
 * @param verdict what the server accepted last time; only `auto` lets it change the order
 */
export function firstAttempt(protocol: Protocol, verdict?: Handshake): Handshake {
  if (protocol === 'auto') return verdict ?? 'initialize';
  return protocol === 'stateless' ? 'discover' : 'initialize';
}

/** Decides what follows the failed attempts of one connect; with `legacy`, and after a second failure, it ends. */
export function nextAttempt(protocol: Protocol, tried: readonly [FailedAttempt, ...FailedAttempt[]]): NextAttempt {
  const [first] = tried;
  if (protocol === 'legacy' || tried.length > 1 || !isRefusal(first)) {
    return { kind: 'failed', failures: tried.map(({ failure }) => failure) };
  }
  return { kind: 'attempt', handshake: first.handshake === 'initialize' ? 'discover' : 'initialize' };
}

/**
 * Whether the server answered with a refusal. Silence, a broken connection, missing credentials, rate limits and server
 * errors say nothing about its era.
 */
function isRefusal({ handshake, failure, accepted }: FailedAttempt): boolean {
  // A server that answers a discovery may support it in part.
  if (handshake === 'initialize' && accepted) return false;
  switch (failure.kind) {
    case 'rpc':
      return refuses(handshake, failure.code);
    case 'http':
      // The handshake was accepted.
      if (failure.sessionGone) return false;
      if (refusalStatuses.has(failure.status)) return true;
      if (saysNothing(failure.status)) return false;
      return failure.rpcCode !== undefined && refuses(handshake, failure.rpcCode);
    case 'notStateless':
      return true;
    default:
      return false;
  }
}

/** A legacy server may answer a request before `initialize` with any code, so every code refuses a discovery. */
function refuses(handshake: Handshake, code: number): boolean {
  return handshake === 'discover' || refusalCodes.has(code);
}

function saysNothing(status: number): boolean {
  return status === 401 || status === 403 || status === 408 || status === 429 || status >= 500;
}
