/**
 * Interprets the check of a platform's credentials: whether deliveries may be sent, when to check again, and the remedy if
 * not. Times and randomness are parameters.
 * @see DLV-1 and DLV-2 in docs/specification.md
 */

import { backoffMs } from '../base/restart.ts';
import { canonicalTarget } from '../config/targets.ts';
import type { VerifyOutcome } from './send-outcome.ts';

export type Verification =
  | {
      readonly kind: 'connected';
      /** The account that the platform reports. */
      readonly as: string | null;
      /** Why the credentials are trusted; null if the platform has confirmed them. */
      readonly note: string | null;
      readonly againInMs: number;
    }
  | {
      readonly kind: 'failed';
      readonly why: string;
      /** True if the platform refuses the credentials: nothing is sent until it accepts them. */
      readonly refused: boolean;
      readonly againInMs: number;
    };

const recheckMs = 900_000;
const retry = { baseDelayMs: 5_000, maxDelayMs: recheckMs };

/**
 * @param failures consecutive failed checks before this one
 * @param jitter in [0, 1)
 */
export function readVerification(
  outcome: VerifyOutcome,
  { name, failures, jitter }: { readonly name: string; readonly failures: number; readonly jitter: number },
): Verification {
  const laterMs = Math.round(recheckMs * (1 - jitter / 4));
  switch (outcome.kind) {
    case 'verified':
      return { kind: 'connected', as: outcome.as ?? null, note: null, againInMs: laterMs };
    case 'unverifiable':
      return { kind: 'connected', as: null, note: outcome.reason, againInMs: laterMs };
    case 'rateLimited':
      return {
        kind: 'failed',
        why: `${outcome.reason}; it is checked again automatically`,
        refused: false,
        againInMs: Math.max(outcome.retryAfterMs, retry.baseDelayMs),
      };
    case 'transient':
      return {
        kind: 'failed',
        why: `${outcome.reason}; it is checked again automatically`,
        refused: false,
        againInMs: Math.max(Math.round(backoffMs(retry, failures) * (1 - jitter / 2)), outcome.notBeforeMs ?? 0),
      };
    case 'refused':
      // Credentials may allow sending and nothing else.
      if (outcome.class === 'forbidden')
        return { kind: 'connected', as: null, note: outcome.reason, againInMs: laterMs };
      return { kind: 'failed', why: `${outcome.reason}${cure(name)}`, refused: true, againInMs: laterMs };
  }
}

/** The remedy for credentials that a platform refuses. GitHub's client has its own, and the reason names its login. */
function cure(name: string): string {
  if (canonicalTarget(name) === 'github_comment') return ', then reload with `agent gateway reload`';
  return `; correct platforms.${name} (credentials best in .env) and reload with \`agent gateway reload\``;
}
