/**
 * Decides what follows a delivery attempt: done, retry and when, dropped, or unsure and left alone. A wait that the platform
 * requests is followed, and spends no attempt if it is a rate limit; other waits double, with jitter. A delivery that may
 * have arrived is retried only while the platform would recognize the duplicate. Times and randomness are parameters.
 * @see DLV-4, DIS-2 and DUR-1 in docs/specification.md
 */

import { backoffMs } from '../base/restart.ts';
import type { RetryPolicy } from '../config/settings.ts';
import { isUnsure, type PartlySent, type SendOutcome } from './send-outcome.ts';

/** The state left by earlier attempts. */
export interface TryHistory {
  /** When it was queued, or returned to the queue by a person. */
  readonly sinceMs: number;
  /** Attempts spent. */
  readonly failures: number;
  /** Since when a piece may have arrived without confirmation. */
  readonly unsureSinceMs?: number;
  /** Pieces that were certainly delivered. */
  readonly sent?: PartlySent;
  /** Until when a caller waits for the outcome. */
  readonly answerByMs?: number;
}

export interface Attempt {
  readonly outcome: SendOutcome;
  /** The chat it was sent to, or would have been; absent if the target has no chats. */
  readonly chat?: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** In [0, 1). */
  readonly jitter: number;
  /** How long the platform recognizes a repeated delivery as the same message. */
  readonly deduplicatesForMs: number;
  readonly policy: RetryPolicy;
}

/** The state of a delivery that has not arrived. */
interface Standing extends Pick<TryHistory, 'failures' | 'unsureSinceMs' | 'sent'> {
  readonly reason: string;
}

type NextTry =
  | { readonly kind: 'delivered'; readonly messageId?: string; readonly reason?: string }
  | ({ readonly kind: 'retry'; readonly dueAtMs: number } & Standing)
  /** The platform refuses it, or time or attempts are used up; a person may retry it. */
  | ({ readonly kind: 'gaveUp' } & Standing)
  /** It may have arrived; sending it again could deliver it twice. */
  | ({ readonly kind: 'unsure' } & Standing);

export const defaultRetries: RetryPolicy = { attempts: 15, baseDelayMs: 2_000, maxDelayMs: 3_600_000 };
/** A delivery that fails for a day needs a person. */
const maxTryMs = 86_400_000;
/** Spreads retries, so that not all of them come at the moment that the platform named. */
const spreadMs = 1_000;

export function nextTry(history: TryHistory, attempt: Attempt): NextTry {
  const { outcome, endedAtMs, jitter, policy } = attempt;
  if (outcome.kind === 'delivered') return outcome;
  // A wait of 0, such as a date that this clock has passed, is none: it would be tried twice a second for a day.
  const askedMs = askedWaitMs(outcome);
  const isLimit = outcome.kind === 'rateLimited' && askedMs > 0;
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
  const leastMs = askedMs > 0 ? askedMs + jitter * spreadMs : 0;
  const waitMs = isLimit ? leastMs : Math.max(backoffMs(policy, failures - 1) * (1 - jitter / 2), leastMs);
  const dueAtMs = Math.ceil(endedAtMs + waitMs);
  const tooLate = dueAtMs > history.sinceMs + maxTryMs;
  if (tooLate || dueAtMs > (history.answerByMs ?? Number.POSITIVE_INFINITY)) {
    const limit = tooLate ? ', and a delivery is retried for a day' : '';
    return waitMs === leastMs
      ? { ...over, reason: `${outcome.reason}; not before ${Math.ceil(waitMs / 1_000)} s${limit}` }
      : over;
  }
  if (unsureSinceMs !== undefined && dueAtMs - unsureSinceMs >= attempt.deduplicatesForMs) return over;
  return { kind: 'retry', dueAtMs, ...standing };
}

/** The wait that the platform asks for; 0 if there is none. */
function askedWaitMs(outcome: SendOutcome): number {
  if (outcome.kind === 'rateLimited') return outcome.retryAfterMs;
  return (outcome.kind === 'transient' && outcome.notBeforeMs) || 0;
}

/** A later piece that was certainly delivered ends the doubt about the one before it. */
function unsureSince({ unsureSinceMs, sent }: TryHistory, { outcome, startedAtMs }: Attempt): number | undefined {
  if (outcome.kind === 'delivered') return undefined;
  const went = (outcome.partly?.pieces ?? 0) > (sent?.pieces ?? 0);
  const earlier = went ? undefined : unsureSinceMs;
  return isUnsure(outcome) ? (earlier ?? startedAtMs) : earlier;
}
