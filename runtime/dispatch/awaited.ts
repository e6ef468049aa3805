/**
 * Direct deliveries of a shared journal whose senders wait at this gateway: the leader sends them, and their outcome is
 * read here. A delivery that no leader has begun in time is ended here.
 * @see DIS-2 and SCA-1 in docs/specification.md
 */

import type { StoredRecord } from '../../actors/store/journal.ts';
import { directDeadlineMs } from '../../actors/webhook/claim-delivery.ts';
import { notSentInTime } from '../../machines/webhook/interruption.ts';
import { type DeliveryRecord, isOver } from '../../machines/webhook/record.ts';
import type { Every } from '../system/ticks.ts';
import { createTurns } from '../system/turns.ts';
import { releaseOf } from './responses.ts';
import { type RecordPorts, unread } from './written.ts';

export interface AwaitedPorts extends Omit<RecordPorts, 'wards'> {
  readonly every: Every;
  /** Passes the outcome of a delivery to the request that waits for it. */
  readonly settled: (key: string, record: DeliveryRecord) => void;
  /** Answers the request of a delivery whose outcome cannot be read in its time; its next attempt gets it. */
  readonly late: (key: string) => void;
}

export interface Awaited {
  add(key: string): void;
  clear(): void;
  stop(): void;
}

/** A notification of an outcome may be missed. */
const lookMs = 1_000;
/** How long after its time a delivery may still be ended, at the leader or here: both need the database. */
const lateMs = 2_000;

export function createAwaited({ keeper, writer, nowMs, every, settled, late }: AwaitedPorts): Awaited {
  /** When each is late. */
  const keys = new Map<string, number>();
  // A failed read is repeated at the next check.
  const inTurn = createTurns(() => {});

  async function look(key: string): Promise<void> {
    const stored = await keeper.journal()?.get('deliveries', key);
    if (stored === undefined || !keys.has(key)) return;
    const ended = isOver(stored.value) ? stored.value : await endLate(stored);
    if (ended === undefined) return;
    keys.delete(key);
    settled(key, ended);
  }

  /** Ends a late delivery and resolves with its record; undefined if its time is not over or a gateway has begun it. */
  async function endLate({
    key,
    version,
    value,
    heldBy,
  }: StoredRecord<'deliveries'>): Promise<DeliveryRecord | undefined> {
    const isTaken = value.status !== 'queued' || keeper.isElsewhere(heldBy) || heldBy === keeper.session();
    if (isTaken || nowMs() < (value.answerByMs ?? 0)) return undefined;
    const ended = { ...notSentInTime(value), endedAtMs: nowMs() };
    writer.adopt('deliveries', key, version);
    const released = await releaseOf(ended, { keeper });
    const verdict = await writer
      .write([{ collection: 'deliveries', key, value: ended, dueAtMs: null }], released)
      .catch(unread);
    return verdict.kind === 'written' ? ended : undefined;
  }

  const stopHearing = keeper.heard((news) => {
    if (typeof news === 'object' && keys.has(news.ended)) void inTurn(() => look(news.ended));
  });
  function endLateWaits(): void {
    for (const [key, lateAtMs] of keys) {
      if (nowMs() < lateAtMs) continue;
      keys.delete(key);
      late(key);
    }
  }

  const stopLooking = every(() => {
    endLateWaits();
    if (keys.size > 0) void inTurn(async () => void (await Promise.all([...keys.keys()].map(look))));
  }, lookMs);

  return {
    add(key) {
      keys.set(key, nowMs() + directDeadlineMs + lateMs);
    },
    clear: () => keys.clear(),
    stop() {
      stopHearing();
      stopLooking();
    },
  };
}
