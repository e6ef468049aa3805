/**
 * Decides how a lost server is retried, and when calls to a failing one are refused at once. Waits grow, with jitter; after
 * a few failures the server is parked and probed from time to time. Times and randomness are parameters; which failures are
 * permanent is decided elsewhere.
 * @see LIF-7 and LIF-8 in docs/specification.md
 * @see [Exponential backoff and jitter](https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/)
 */

import { backoffMs } from '../base/restart.ts';
import type { ServerSettings } from './server-settings.ts';

type RetryPlan =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'parked'; readonly probeInMs: number };

/** Times are of a monotonic clock: a clock that is set back must not keep the breaker open. */
export type BreakerState =
  | { readonly kind: 'closed'; readonly failures: number }
  | { readonly kind: 'open'; readonly untilMs: number }
  /** One trial call is in progress. Its time is limited: a cancelled trial would otherwise block all others forever. */
  | { readonly kind: 'halfOpen'; readonly untilMs: number };

export type BreakerEvent =
  /** A call was admitted and is sent. */
  | { readonly kind: 'sent'; readonly nowMs: number }
  /** Any answer of the server, including tool errors and JSON-RPC errors: the transport works. */
  | { readonly kind: 'answered' }
  | { readonly kind: 'transportFailed'; readonly nowMs: number };

const reconnect = { baseDelayMs: 1_000, maxDelayMs: 60_000 };
const attemptsInARow = 5;
/** How often a parked server is tried. */
export const selfProbeMs = 300_000;

export const closedBreaker: BreakerState = { kind: 'closed', failures: 0 };

/**
 * Plans what follows a failed attempt.
 * @param failures consecutive failed attempts, including this one
 * @param random a number in [0, 1): full jitter, so that servers lost together do not reconnect together
 */
export function planRetry(failures: number, random: number): RetryPlan {
  if (failures >= attemptsInARow) return { kind: 'parked', probeInMs: selfProbeMs };
  return { kind: 'retry', delayMs: Math.floor(random * backoffMs(reconnect, Math.max(0, failures - 1))) };
}

/** Milliseconds until a call may be tried; undefined if it is admitted now. */
export function refusedForMs(state: BreakerState, nowMs: number): number | undefined {
  if (state.kind === 'closed' || nowMs >= state.untilMs) return undefined;
  return state.untilMs - nowMs;
}

/** Why a call is not tried now, for a person. */
export function refusedWords(waitMs: number): string {
  return `its last calls all failed in transport; calls are tried again in ${Math.ceil(waitMs / 1_000)} s`;
}

export function breakerStep(
  state: BreakerState,
  event: BreakerEvent,
  { failures, resetMs }: ServerSettings['breaker'],
): BreakerState {
  switch (state.kind) {
    case 'closed': {
      if (event.kind === 'sent') return state;
      if (event.kind === 'answered') return closedBreaker;
      const counted = state.failures + 1;
      return counted >= failures
        ? { kind: 'open', untilMs: event.nowMs + resetMs }
        : { kind: 'closed', failures: counted };
    }
    case 'open':
      // A call that ends now was sent before the breaker opened, and adds no information.
      return event.kind === 'sent' ? { kind: 'halfOpen', untilMs: event.nowMs + resetMs } : state;
    case 'halfOpen':
      if (event.kind === 'answered') return closedBreaker;
      return { kind: event.kind === 'sent' ? 'halfOpen' : 'open', untilMs: event.nowMs + resetMs };
  }
}
