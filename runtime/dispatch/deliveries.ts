/** Provides the effects of the delivery chart: its slot, its record and the sending. */

import { fromPromise } from 'xstate';
import { createStopSignal, type StopSignal } from '../../actors/stop-signal.ts';
import type { RecordChange } from '../../actors/store/record-writer.ts';
import { ChurnMap } from '../../machines/base/churn-map.ts';
import { changed } from '../../machines/base/json.ts';
import type { Attempt } from '../../machines/dispatch/next-try.ts';
import { deliveryMachine } from '../../machines/webhook/delivery.machine.ts';
import { type DeliveryRecord, isOver, isWaitedFor, orderOf, type RunRecord } from '../../machines/webhook/record.ts';
import { withResponses } from '../../machines/webhook/responses.ts';
import type { Platforms } from './platforms.ts';
import { type RunEnds, type SettleRun, writeEnded } from './responses.ts';
import { type RecordPorts, reportWritten, unread } from './written.ts';

interface DeliveryPorts extends RecordPorts {
  readonly platforms: Pick<Platforms, 'send' | 'ask' | 'placeOf' | 'hold'> & Partial<Pick<Platforms, 'sendWithin'>>;
  /** Redacts secrets: a target's error text becomes part of a record that people read. */
  readonly redact: (text: string) => string;
  /** Calls back once after a wait; returns a function that cancels it. */
  readonly wake: (callback: () => void, waitMs: number) => () => void;
  readonly settleRun: SettleRun;
  readonly runEnds: RunEnds;
  /** Reports that an attempt has failed and another will follow. */
  readonly retried: (key: string, record: DeliveryRecord) => void;
  /** True while there are so many deliveries in memory that one that waits stays on disk. */
  readonly crowded: (record: DeliveryRecord) => boolean;
}

export function wireDelivery(ports: DeliveryPorts) {
  /** Releases each delivery's slot; keyed by delivery, because a context contains no functions. */
  const leave = new ChurnMap<string, () => void>();
  const leavePlace = (key: string): void => {
    leave.get(key)?.();
    leave.delete(key);
  };

  /** What ends each sending with the wait of its sender; keyed by event, which is the key of a direct delivery. */
  const bounds = new ChurnMap<string, StopSignal>();

  /** Returns the end of the run that waits for this delivery alone, if the delivery succeeded: one commit writes both. */
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

  /** Returns the record of a run that waits for its delivery: a held-back one, else that of its chart. */
  function recordOf(key: string): RunRecord | undefined {
    const held = ports.writer.held('deliveries', key).find(({ collection }) => collection === 'runs');
    // A change of `runs` contains a RunRecord.
    if (held !== undefined) return held.value as RunRecord;
    const seen = ports.pools().runs.get(key)?.getSnapshot();
    return seen?.value === 'delivering' ? seen.context.record : undefined;
  }

  const logic = deliveryMachine.provide({
    actors: {
      sendText: fromPromise<Attempt, DeliveryRecord>(async ({ input, signal }) => {
        const stop = boundedBy(input, signal, ports.nowMs());
        if (isWaitedFor(input)) bounds.set(input.eventKey, stop);
        const attempt = await ports.platforms.send(input, stop.signal).finally(() => {
          bounds.delete(input.eventKey);
          stop.release();
        });
        const { outcome } = attempt;
        return outcome.kind === 'delivered'
          ? attempt
          : { ...attempt, outcome: { ...outcome, reason: ports.redact(outcome.reason) } };
      }),
    },
    actions: {
      awaitPlace: ({ context, self }) => {
        const { key, record } = context;
        const isAwaited = (): boolean => isWaitedFor(self.getSnapshot().context.record);
        // A free slot is granted before `ask` returns, and one that would come too late is reported as missed.
        const now = { state: 'waiting' as 'waiting' | 'granted' | 'missed' };
        let forget = (): void => {};
        const missed = (reason: string): boolean => {
          // A delivery whose sender has hung up keeps its turn.
          if (!isAwaited()) return false;
          now.state = 'missed';
          self.send({ type: 'place.missed', reason });
          return true;
        };
        const granted = (): void => {
          now.state = 'granted';
          forget();
          const chat = ports.platforms.placeOf(record);
          self.send({ type: 'place.granted', atMs: ports.nowMs(), ...(chat === undefined ? {} : { chat }) });
        };
        const give = ports.platforms.ask(record, granted, missed);
        if (now.state === 'missed') return;
        // The wait of a sender ends with this request: a later delivery of the same key must not lose its slot to it.
        leave.set(key, () => {
          forget();
          give();
        });
        if (now.state === 'granted' || record.answerByMs === undefined) return;
        if (record.status === 'sending') self.send({ type: 'place.awaited' });
        forget = ports.wake(
          () =>
            missed(`${record.target}: earlier deliveries or the platform’s pace left no turn while its sender waited`),
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
        // A delivery that reserves its chat must continue even if others wait.
        const free =
          record.status === 'waitingToRetry' &&
          record.sent === undefined &&
          !isWaitedFor(record) &&
          ports.crowded(record);
        // The order as due time: only a restart looks for work in progress, and by order the head of a chat comes first.
        const dueAtMs = over ? null : free ? (record.dueAtMs ?? nowMs) : orderOf(record);
        const change = { collection: 'deliveries', key, value, dueAtMs, free } as const;
        const run = runEnded(record, nowMs);
        if (run !== undefined) {
          // The run first: only its write can be refused, and then nothing needs to be undone.
          ports.writer.submit([run, change], [], (verdict) => {
            if (verdict.kind !== 'refused') ports.runEnds.set(run.key, verdict);
            reportWritten(self, verdict);
          });
          return;
        }
        const written = over ? writeEnded(key, value, ports) : ports.writer.write([change]);
        void written.catch(unread).then((verdict) => {
          if (free && verdict.kind === 'written') self.send({ type: 'delivery.shelved' });
          else reportWritten(self, verdict);
        });
      },
      writeOnTheWay: ({ context: { key, record }, self }) => {
        if (!isWaitedFor(record)) bounds.get(key)?.pause();
        if (isOver(record)) return;
        const change = { collection: 'deliveries', key, value: record, dueAtMs: orderOf(record) } as const;
        // The next write of the record makes up for one that the journal refuses.
        ports.writer.submit([change], [], (verdict) => {
          if (verdict.kind === 'lost') reportWritten(self, verdict);
        });
      },
      reportResult: ({ context: { key, record } }) => {
        if (record.status === 'waitingToRetry') {
          ports.platforms.hold(record);
          ports.retried(key, record);
        }
        // One commit writes a held-back delivery and the record of its run, which is notified after that.
        if (ports.writer.held('deliveries', key).length > 0) return;
        // A request that waits for a direct delivery is only notified of its end.
        if (isOver(record) || !isWaitedFor(record)) ports.pools().deliverySettled(key, record);
      },
    },
  });

  return {
    logic,
    /** Releases the slot of a delivery whose chart crashed. */
    release: leavePlace,
  };
}

/** A direct delivery ends when its sender's wait ends, unless the sender hangs up before. */
function boundedBy({ answerByMs }: DeliveryRecord, signal: AbortSignal, nowMs: number): StopSignal {
  return createStopSignal([signal], answerByMs === undefined ? undefined : answerByMs - nowMs);
}
