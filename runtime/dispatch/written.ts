/** The records of work and their charts: reads that an outage delays, the outcome of a write for a chart, and a chart's end. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyActorRef } from 'xstate';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { RecordWriter, WriteVerdict } from '../../actors/store/record-writer.ts';
import { causeOf } from '../../machines/base/fault.ts';
import type { RunEvent } from '../../machines/webhook/agent-run.machine.ts';
import type { WorkPools } from '../system/work-pools.ts';

export interface RecordPorts {
  readonly keeper: JournalKeeper;
  readonly writer: RecordWriter;
  /** The charts of the records. */
  readonly pools: () => WorkPools;
  readonly nowMs: () => number;
}

interface WriteListener {
  send(event: Extract<RunEvent, { readonly type: 'journal.written' | 'journal.refused' | 'work.lost' }>): void;
}

/** The verdict for a write whose records could not be read. */
export function unread(thrown: unknown): WriteVerdict {
  return { kind: 'refused', reason: causeOf(thrown) };
}

const readAgainMs = 1_000;

/** Resolves with the value as soon as the journal can be read. Never rejects. */
export async function readAgain<Value>(read: () => Promise<Value>, pauseMs = readAgainMs): Promise<Value> {
  for (;;) {
    try {
      return await read();
    } catch {
      await sleep(pauseMs, undefined, { ref: false });
    }
  }
}

/** Resolves when a chart has ended or is in one of these states, or the time is over. */
export function chartSettled<Chart extends AnyActorRef>(
  chart: Chart,
  states: readonly ReturnType<Chart['getSnapshot']>['value'][],
  patienceMs?: number,
): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      watch.unsubscribe();
      resolve();
    };
    const look = (): void => {
      if (states.includes(chart.getSnapshot().value)) settle();
    };
    const timer = patienceMs === undefined ? undefined : setTimeout(settle, patienceMs);
    const watch = chart.subscribe({ next: look, complete: settle, error: settle });
    look();
  });
}

export function reportWritten(listener: WriteListener, verdict: WriteVerdict): void {
  switch (verdict.kind) {
    case 'written':
      listener.send({ type: 'journal.written' });
      return;
    case 'lost':
      listener.send({ type: 'work.lost' });
      return;
    case 'refused':
      listener.send({ type: 'journal.refused', reason: verdict.reason });
  }
}
