/**
 * Sends a text in pieces, in order: starts with the first that has not arrived, waits when the platform asks for a short
 * pause in between, and reports with a failure how many pieces arrived.
 * @see DLV-4 in docs/specification.md
 */

import {
  isUnsure,
  type PartlySent,
  partly,
  refused,
  type SendOutcome,
  stillUnsure,
  transient,
  type Undelivered,
} from '../../../machines/dispatch/send-outcome.ts';
import type { PiecePace } from '../../ports.ts';

interface Sending {
  /** What an earlier attempt has delivered. */
  readonly sent: PartlySent | undefined;
  /** Resolves after a time, or as soon as the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  readonly pace?: PiecePace | undefined;
}

/** A text in progress is finished if all requested pauses together are no longer than this. */
const maxPauseMs = 30_000;

/** For a pause that another delivery met; those that wait for it know it already. */
function pausedFor(retryAfterMs: number): Undelivered {
  return { kind: 'rateLimited', retryAfterMs, ofChat: true, reason: 'the platform asks for a pause' };
}

export async function sendPieces(
  pieces: readonly string[],
  { sent, wait, signal, pace }: Sending,
  send: (piece: string, index: number) => Promise<SendOutcome>,
): Promise<SendOutcome> {
  if (sent !== undefined && sent.of !== pieces.length)
    return partly(refused('permanent', 'the text is cut otherwise than when its first pieces were delivered'), sent);

  let first = sent?.messageId;
  let pausedMs = 0;
  const arrivedTo = (index: number): PartlySent => ({
    pieces: index,
    of: pieces.length,
    ...(first === undefined ? {} : { messageId: first }),
  });
  for (const [index, piece] of pieces.entries()) {
    if (index < (sent?.pieces ?? 0)) continue;
    if (index > (sent?.pieces ?? 0)) {
      const leftMs = await pace?.turn(signal, maxPauseMs);
      if (signal.aborted) return partly(transient('stopped before the next piece was sent'), arrivedTo(index));
      if (leftMs !== undefined) return partly(pausedFor(leftMs), arrivedTo(index));
    }
    let outcome = await send(piece, index);
    let unsure = isUnsure(outcome);
    while (index > 0 && outcome.kind === 'rateLimited') {
      // A platform that asks for 0 but keeps refusing is asked at most thirty times.
      const pauseMs = Math.max(1_000, outcome.retryAfterMs);
      pausedMs += pauseMs;
      // Other deliveries to this platform wait as well.
      if (outcome.ofChat !== true) pace?.limited(pauseMs);
      if (pausedMs > maxPauseMs) break;
      await wait(pauseMs, signal);
      const leftMs = signal.aborted ? undefined : await pace?.turn(signal, maxPauseMs);
      if (signal.aborted) break;
      if (leftMs !== undefined) {
        outcome = pausedFor(leftMs);
        break;
      }
      outcome = await send(piece, index);
      unsure ||= isUnsure(outcome);
    }
    if (outcome.kind !== 'delivered') {
      const undelivered = unsure ? stillUnsure(outcome) : outcome;
      return index === 0 ? undelivered : partly(undelivered, arrivedTo(index));
    }
    pace?.arrived();
    if (index === 0) first = outcome.messageId;
  }
  return first === undefined ? { kind: 'delivered' } : { kind: 'delivered', messageId: first };
}
