/**
 * Ends a run for a person: tells its chart and waits until that has its outcome on disk; one that waits on disk alone is
 * closed there. A run that has answered already is not called back: its response is on its way.
 * @see DIS-3 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import type { StoredRecord } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { WardHandle } from '../../machines/base/ward.ts';
import type { RunInput } from '../../machines/webhook/agent-run.machine.ts';
import type { RunRecord } from '../../machines/webhook/record.ts';

export type CancelVerdict =
  | { readonly kind: 'cancelled' }
  /** It had its outcome, or its response, before. */
  | { readonly kind: 'over'; readonly status: RunRecord['status'] }
  /** It is told, and not on disk yet. */
  | { readonly kind: 'told' }
  /** Another gateway has it. */
  | { readonly kind: 'elsewhere' }
  /** The journal cannot write now. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown' };

export interface CancelRunPorts {
  readonly runs: () => WardHandle<RunInput>;
  readonly keeper: JournalKeeper;
  /** A run has ended that has no chart to say so. */
  readonly ended: (key: string, record: RunRecord) => void;
  readonly nowMs: () => number;
}

/** The chart itself waits shorter for what the agent began. */
const patienceMs = 20_000;

export type CancelRun = (key: string, by: string) => Promise<CancelVerdict>;

export function createCancelRun({ runs, keeper, ended, nowMs }: CancelRunPorts): CancelRun {
  /** Undefined where somebody has taken it up meanwhile. */
  async function closeOnDisk(
    { key, version, value }: StoredRecord<'runs'>,
    by: string,
  ): Promise<CancelVerdict | undefined> {
    const reason = `cancelled by ${by}`;
    const record = { ...value, status: 'cancelled', reason, endedAtMs: nowMs() } as const;
    const verdict = await keeper.commit([
      { kind: 'put', collection: 'runs', key, value: record, expect: version, dueAtMs: null },
    ]);
    if (verdict.kind === 'unavailable') return { kind: 'refused', reason: verdict.fault.message };
    if (verdict.kind !== 'committed') return undefined;
    ended(key, record);
    return { kind: 'cancelled' };
  }

  return async function cancel(key, by): Promise<CancelVerdict> {
    const run: AnyActorRef | undefined = runs().get(key);
    if (run !== undefined) {
      const ended = endOf(run);
      run.send({ type: 'run.cancel', by });
      const isEnded = await ended;
      const { record } = run.getSnapshot().context as { readonly record: RunRecord };
      if (record.status === 'cancelled') return isEnded ? { kind: 'cancelled' } : { kind: 'told' };
      return isEnded || record.status === 'delivering' ? { kind: 'over', status: record.status } : { kind: 'told' };
    }
    const stored = await keeper.journal()?.get('runs', key);
    if (stored === undefined) return { kind: 'unknown' };
    const { status } = stored.value;
    // One that a crash cut off stands there as running, with nobody to run it.
    const waits = status === 'queued' || (status === 'running' && stored.dueAtMs !== undefined);
    if (!waits) return { kind: 'over', status };
    if (keeper.isElsewhere(stored.heldBy)) return { kind: 'elsewhere' };
    return (await closeOnDisk(stored, by)) ?? cancel(key, by);
  };
}

/** Resolves when the chart has ended, delivers, or patience is over; with whether it has ended. */
function endOf(run: AnyActorRef): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isEnded: boolean): void => {
      clearTimeout(timer);
      watch.unsubscribe();
      resolve(isEnded);
    };
    const timer = setTimeout(() => settle(false), patienceMs);
    const watch = run.subscribe({
      next: (snapshot: { readonly value?: unknown }) => {
        if (snapshot.value === 'delivering') settle(false);
      },
      complete: () => settle(true),
      error: () => settle(true),
    });
    if (run.getSnapshot().value === 'delivering') settle(false);
  });
}
