/**
 * Direct deliveries of a shared journal whose senders wait at this gateway: the leader sends them, and their outcome is
 * read here. A delivery that no leader has begun in time is ended here. The leader is notified of a sender that has hung up.
 * @see DIS-2 and SCA-1 in docs/specification.md
 */

import type { Put, StoredRecord, Write } from '../../actors/store/journal.ts';
import { directDeadlineMs } from '../../actors/webhook/claim-delivery.ts';
import { notSentInTime } from '../../machines/webhook/interruption.ts';
import { type DeliveryRecord, isOver, isWaitedFor, orderOf, unawaited } from '../../machines/webhook/record.ts';
import type { Every } from '../system/ticks.ts';
import { createTurns } from '../system/turns.ts';
import { releaseOf } from './responses.ts';
import type { RecordPorts } from './written.ts';

interface AwaitedPorts extends Pick<RecordPorts, 'keeper' | 'nowMs' | 'pools'> {
  readonly every: Every;
}

export interface Awaited {
  add(key: string): void;
  /** Lets a delivery go on like that of a run, because its sender has hung up. */
  leave(key: string): void;
  clear(): void;
  stop(): void;
}

/** A notification of an outcome may be missed. */
const lookMs = 1_000;
/** How long after its time a delivery may still be ended, at the leader or here: both need the database. */
const lateMs = 2_000;

export function createAwaited({ keeper, nowMs, pools, every }: AwaitedPorts): Awaited {
  /** When each is late. */
  const keys = new Map<string, number>();
  /** Those of them whose senders have hung up. */
  const left = new Set<string>();
  // A failed read is repeated at the next check.
  const inTurn = createTurns(() => {});

  async function look(key: string): Promise<void> {
    const stored = await keeper.journal()?.get('deliveries', key);
    if (stored === undefined || !keys.has(key)) return;
    if (!isOver(stored.value) && left.has(key)) {
      if (await goOn(stored)) forget(key);
      return;
    }
    const ended = isOver(stored.value) ? stored.value : await endLate(stored);
    if (ended === undefined) return;
    forget(key);
    pools().deliverySettled(key, ended);
  }

  function forget(key: string): void {
    keys.delete(key);
    left.delete(key);
  }

  /** Whether a gateway has begun it. */
  function isTaken({ value, heldBy }: StoredRecord<'deliveries'>): boolean {
    return value.status !== 'queued' || keeper.isElsewhere(heldBy) || heldBy === keeper.session();
  }

  /** Resolves with whether the delivery no longer counts on its sender; else the gateway that has begun it is notified. */
  async function goOn(stored: StoredRecord<'deliveries'>): Promise<boolean> {
    const { key, version, value } = stored;
    if (!isWaitedFor(value)) return true;
    if (isTaken(stored)) {
      await keeper.journal()?.notify({ unawaited: key });
      return false;
    }
    return writeUntaken({ key, version, value: unawaited(value), dueAtMs: orderOf(value) });
  }

  /**
   * Ends a late delivery and resolves with its record; undefined if its time is not over, a gateway has begun it, or it goes on
   * without its sender because that gateway crashed.
   */
  async function endLate(stored: StoredRecord<'deliveries'>): Promise<DeliveryRecord | undefined> {
    const { key, version, value } = stored;
    const { answerByMs } = value;
    if (isTaken(stored) || answerByMs === undefined || nowMs() < answerByMs) return undefined;
    const ended = { ...notSentInTime(value), endedAtMs: nowMs() };
    const released = await releaseOf(ended, { keeper });
    return (await writeUntaken({ key, version, value: ended, dueAtMs: null }, released)) ? ended : undefined;
  }

  /** Without the record writer, whose versions are those of the charts here: this gateway may just have taken it too. */
  async function writeUntaken(
    { version: expect, ...row }: Pick<Put<'deliveries'>, 'key' | 'value' | 'dueAtMs'> & { readonly version: number },
    also: readonly Write[] = [],
  ): Promise<boolean> {
    const verdict = await keeper.commit([{ kind: 'put', collection: 'deliveries', expect, ...row }, ...also]);
    return verdict.kind === 'committed';
  }

  const stopHearing = keeper.heard((news) => {
    if (typeof news !== 'object') return;
    // The sender waited at another gateway.
    if ('unawaited' in news) pools().deliveries.get(news.unawaited)?.send({ type: 'sender.left' });
    else if (keys.has(news.ended)) void inTurn(() => look(news.ended));
  });
  /** The next attempt of the sender gets the outcome. */
  function endLateWaits(): void {
    for (const [key, lateAtMs] of keys) {
      if (nowMs() < lateAtMs) continue;
      forget(key);
      const reason = 'the database does not give the outcome of the delivery';
      pools().requests.get(key)?.send({ type: 'delivery.settled', delivered: false, reason });
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
    leave(key) {
      if (!keys.has(key)) return;
      left.add(key);
      void inTurn(() => look(key));
    },
    clear() {
      keys.clear();
      left.clear();
    },
    stop() {
      stopHearing();
      stopLooking();
    },
  };
}
