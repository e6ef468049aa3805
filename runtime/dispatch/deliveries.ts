/** Fills the holes of the delivery chart: its place, its record and the sending itself. */

import { type AnyActorRef, fromPromise } from 'xstate';
import { createStopSignal, type StopSignal } from '../../actors/stop-signal.ts';
import type { Write } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { RecordChange, RecordWriter } from '../../actors/store/record-writer.ts';
import { changed } from '../../machines/base/json.ts';
import { Roster } from '../../machines/base/roster.ts';
import type { Attempt } from '../../machines/dispatch/next-try.ts';
import { deliveryMachine } from '../../machines/webhook/delivery.machine.ts';
import {
  claimNames,
  type DeliveryRecord,
  isOver,
  isWaitedFor,
  orderOf,
  type RunRecord,
} from '../../machines/webhook/record.ts';
import { withResponses } from '../../machines/webhook/responses.ts';
import type { Wards } from '../system/wards.ts';
import type { Platforms } from './platforms.ts';
import type { RunEnds, SettleRun } from './responses.ts';
import { tellWritten, unread } from './written.ts';

export interface DeliveryPorts {
  readonly keeper: JournalKeeper;
  readonly writer: RecordWriter;
  readonly platforms: Pick<Platforms, 'send' | 'ask' | 'placeOf' | 'hold'> & Partial<Pick<Platforms, 'sendWithin'>>;
  /** The judge of what is secret: a target's own words become a record that people read. */
  readonly redact: (text: string) => string;
  readonly nowMs: () => number;
  /** Calls back once after a wait; returns how to take that back. */
  readonly wake: (callback: () => void, waitMs: number) => () => void;
  readonly wards: () => Wards;
  readonly settleRun: SettleRun;
  readonly runEnds: RunEnds;
  /** A try has failed, and there will be another. */
  readonly retried: (key: string, record: DeliveryRecord) => void;
  /** True while so many deliveries live that those that wait do so on disk. */
  readonly crowded: () => boolean;
}

export function wireDelivery(ports: DeliveryPorts) {
  /** Gives each delivery's place back; keyed by delivery, because a context holds no function. */
  const leave = new Roster<string, () => void>();
  const leavePlace = (key: string): void => {
    leave.get(key)?.();
    leave.delete(key);
  };

  /** Returns the end of the run that waits for this delivery alone and has succeeded with it: one commit writes both. */
  function runEnded(record: DeliveryRecord, nowMs: number): RecordChange | undefined {
    const { runKey: key, of, status } = record;
    if (key === undefined || of !== undefined || status !== 'delivered') return undefined;
    const run = recordOf(key);
    if (run?.status !== 'delivering') return undefined;
    return {
      collection: 'runs',
      key,
      value: withResponses(changed(run, { endedAtMs: nowMs }), [record]),
      dueAtMs: null,
    };
  }

  /** Returns the record of a run that waits for its delivery: one that is kept back, else that of its chart. */
  function recordOf(key: string): RunRecord | undefined {
    const held = ports.writer.held('deliveries', key).find(({ collection }) => collection === 'runs');
    // A change of a run is made of its record.
    if (held !== undefined) return held.value as RunRecord;
    const chart: AnyActorRef | undefined = ports.wards().runs.get(key);
    const seen = chart?.getSnapshot();
    return seen?.value === 'delivering' ? seen.context.record : undefined;
  }

  const logic = deliveryMachine.provide({
    actors: {
      sendText: fromPromise<Attempt, DeliveryRecord>(async ({ input, signal }) => {
        const stop = boundedBy(input, signal, ports.nowMs());
        const attempt = await ports.platforms.send(input, stop.signal).finally(stop.release);
        const { outcome } = attempt;
        return outcome.kind === 'delivered'
          ? attempt
          : { ...attempt, outcome: { ...outcome, reason: ports.redact(outcome.reason) } };
      }),
    },
    actions: {
      awaitPlace: ({ context, self }) => {
        const { key, record } = context;
        // A place that is free is granted before the asking returns, and one that comes too late is missed.
        const now = { state: 'waiting' as 'waiting' | 'granted' | 'missed' };
        let forget = (): void => {};
        const missed = (reason: string): void => {
          now.state = 'missed';
          forget();
          leavePlace(key);
          self.send({ type: 'place.missed', reason });
        };
        const granted = (): void => {
          now.state = 'granted';
          forget();
          const chat = ports.platforms.placeOf(record);
          self.send({ type: 'place.granted', atMs: ports.nowMs(), ...(chat === undefined ? {} : { chat }) });
        };
        const give = ports.platforms.ask(record, granted, missed);
        if (now.state === 'missed') return;
        leave.set(key, give);
        if (now.state === 'granted' || record.answerByMs === undefined) return;
        forget = ports.wake(
          () => missed(`${record.target}: no slot was free while its sender waited`),
          record.answerByMs - ports.nowMs(),
        );
      },
      leavePlace: ({ context }) => leavePlace(context.key),
      writeDelivery: ({ context, self }) => {
        const { key, record } = context;
        const attempt = record.status === 'sending' ? ports.platforms.sendWithin?.(record) : undefined;
        if (attempt !== undefined) {
          self.send({ type: 'text.delivered', attempt });
          return;
        }
        const over = isOver(record);
        const nowMs = ports.nowMs();
        const value = over ? changed(record, { endedAtMs: nowMs }) : record;
        // One that keeps its chat for itself must come again whatever else waits.
        const free =
          record.status === 'waitingToRetry' && record.sent === undefined && !isWaitedFor(record) && ports.crowded();
        // Work in hand is looked for after a restart alone, by age, so that the head of a chat comes before those behind it.
        const dueAtMs = over ? null : free ? (record.dueAtMs ?? nowMs) : orderOf(record);
        const change = { collection: 'deliveries', key, value, dueAtMs, free } as const;
        const write = (also: readonly Write[][] = []) => ports.writer.write([change], also.flat());
        const ended = async () => {
          const released = await releaseOf(record, ports);
          return ports.settleRun(record, (run) => write([released, [...run]]));
        };
        const run = runEnded(record, nowMs);
        if (run !== undefined) {
          // The run first: it alone can be refused, and what follows needs no way back.
          ports.writer.submit([run, change], [], (verdict) => {
            if (verdict.kind !== 'refused') ports.runEnds.set(run.key, verdict);
            tellWritten(self, verdict);
          });
          return;
        }
        void (over ? ended() : write()).catch(unread).then((verdict) => {
          if (free && verdict.kind === 'written') self.send({ type: 'delivery.shelved' });
          else tellWritten(self, verdict);
        });
      },
      reportResult: ({ context: { key, record } }) => {
        if (record.status === 'waitingToRetry') {
          ports.platforms.hold(record);
          ports.retried(key, record);
        }
        // One commit writes a delivery that was kept back and the record of its run, which hears of it after that.
        if (ports.writer.held('deliveries', key).length > 0) return;
        // Whoever waits for a direct delivery is told its end.
        if (isOver(record) || !isWaitedFor(record)) ports.wards().deliverySettled(key, record);
      },
    },
  });

  return {
    logic,
    /** Takes back the place of a delivery whose chart is gone without a word. */
    release: leavePlace,
  };
}

/** Nobody is answered later than he waits. */
function boundedBy({ answerByMs }: DeliveryRecord, signal: AbortSignal, nowMs: number): StopSignal {
  return createStopSignal([signal], answerByMs === undefined ? undefined : answerByMs - nowMs);
}

/**
 * A direct delivery that did not succeed releases its id and its signature, so that the sender's next try is a new one
 * (IDM-2). So does one that a person dropped: its sender was answered that it failed, and must not get `duplicate` later.
 */
export async function releaseOf(record: DeliveryRecord, { keeper }: Pick<DeliveryPorts, 'keeper'>): Promise<Write[]> {
  const failed = isOver(record) && record.status !== 'delivered';
  if (!isWaitedFor(record) || !failed) return [];
  const event = (await keeper.journal()?.get('events', record.eventKey))?.value;
  return claimNames(event ?? record).map((name) => ({ kind: 'release', name }));
}
