/**
 * Decides what follows an attempt to deliver: done, once more and when, given up, or not known and left alone. A platform's
 * own wait is obeyed and spends no try; other waits double, spread by chance. What may have been delivered goes again only
 * while the platform would know it again. Times and chance come as numbers; knows no journal and no platform.
 * @see DLV-4, DIS-2 and DUR-1 in docs/specification.md
 */

import { backoffMs } from '../base/restart.ts';
import type { RetryPolicy } from '../config/settings.ts';
import { isUnsure, type PartlySent, type SendOutcome } from './send-outcome.ts';

/** What earlier attempts have left behind. */
export interface TryHistory {
  /** When it was queued, or put back by a person. */
  readonly sinceMs: number;
  /** Tries that are spent. */
  readonly failures: number;
  /** Since when a piece may lie at the platform without anybody knowing. */
  readonly unsureSinceMs?: number;
  /** Pieces that are delivered for certain. */
  readonly sent?: PartlySent;
  /** Until when somebody waits for the outcome. */
  readonly answerByMs?: number;
}

export interface Attempt {
  readonly outcome: SendOutcome;
  /** Where it went, or would have; absent where the target knows no places. */
  readonly chat?: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** In [0, 1). */
  readonly jitter: number;
  /** For how long the platform takes the same delivery for the same message. */
  readonly deduplicatesForMs: number;
  readonly policy: RetryPolicy;
}

/** What is known of a delivery that has not arrived. */
interface Standing {
  readonly reason: string;
  readonly failures: number;
  readonly unsureSinceMs?: number;
  readonly sent?: PartlySent;
}

export type NextTry =
  | { readonly kind: 'delivered'; readonly messageId?: string; readonly reason?: string }
  | ({ readonly kind: 'retry'; readonly dueAtMs: number } & Standing)
  /** The platform will not take it, or time and tries are over; a person may put it back. */
  | ({ readonly kind: 'gaveUp' } & Standing)
  /** It may have arrived, and sending it again could deliver it twice. */
  | ({ readonly kind: 'unsure' } & Standing);

export const usualRetries: RetryPolicy = { attempts: 15, baseDelayMs: 2_000, longestDelayMs: 3_600_000 };
/** What could not be delivered within a day is a person's matter. */
const longestTryMs = 86_400_000;
/** A platform that says when is not asked by everybody at that very moment. */
const spreadMs = 1_000;

export function nextTry(history: TryHistory, attempt: Attempt): NextTry {
  const { outcome, endedAtMs, jitter, policy } = attempt;
  if (outcome.kind === 'delivered') return outcome;
  const isLimit = outcome.kind === 'rateLimited';
  const failures = history.failures + (isLimit ? 0 : 1);
  const sent = outcome.partly ?? history.sent;
  const unsureSinceMs = unsureSince(history, attempt);
  const standing: Standing = {
    reason: outcome.reason,
    failures,
    ...(sent === undefined ? {} : { sent }),
    ...(unsureSinceMs === undefined ? {} : { unsureSinceMs }),
  };
  const over = { kind: unsureSinceMs === undefined ? 'gaveUp' : 'unsure', ...standing } as const;
  if (outcome.kind === 'refused' || failures >= policy.attempts) return over;
  const waitMs = isLimit
    ? outcome.retryAfterMs + jitter * spreadMs
    : backoffMs(policy, failures - 1) * (1 - jitter / 2);
  const dueAtMs = Math.ceil(endedAtMs + waitMs);
  if (dueAtMs > Math.min(history.answerByMs ?? Number.POSITIVE_INFINITY, history.sinceMs + longestTryMs)) {
    return isLimit ? { ...over, reason: `${outcome.reason}; not before ${Math.ceil(waitMs / 1_000)} s` } : over;
  }
  if (unsureSinceMs !== undefined && dueAtMs - unsureSinceMs >= attempt.deduplicatesForMs) return over;
  return { kind: 'retry', dueAtMs, ...standing };
}

/** A piece that was delivered for certain afterwards ends the doubt about the one before it. */
function unsureSince({ unsureSinceMs, sent }: TryHistory, { outcome, startedAtMs }: Attempt): number | undefined {
  if (outcome.kind === 'delivered') return undefined;
  const went = (outcome.partly?.pieces ?? 0) > (sent?.pieces ?? 0);
  const earlier = went ? undefined : unsureSinceMs;
  return isUnsure(outcome) ? (earlier ?? startedAtMs) : earlier;
}
