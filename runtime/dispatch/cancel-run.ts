/**
 * Cancels a run for a person: notifies its chart and waits until the outcome is on disk; a run that waits only on disk is
 * closed there. A run that has responded is not cancelled, because its response is being delivered.
 * @see DIS-3 in docs/specification.md
 */

import type { StoredRecord } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { RunRecord } from '../../machines/webhook/record.ts';
import type { WorkPools } from '../system/work-pools.ts';
import { chartSettled } from './written.ts';

export type CancelVerdict =
  | { readonly kind: 'cancelled' }
  /** It already had an outcome or a response. */
  | { readonly kind: 'over'; readonly status: RunRecord['status'] }
  /** The chart is notified, but the outcome is not on disk yet. */
  | { readonly kind: 'notified' }
  /** Another gateway holds it. */
  | { readonly kind: 'elsewhere' }
  /** The journal cannot be written now. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown' };

interface CancelRunPorts {
  readonly runs: () => WorkPools['runs'];
  readonly keeper: JournalKeeper;
  /** Reports the end of a run without a chart. */
  readonly ended: (key: string, record: RunRecord) => void;
  readonly nowMs: () => number;
}

/** Longer than the chart itself waits for its agent to stop. */
const patienceMs = 20_000;

type CancelRun = (key: string, by: string) => Promise<CancelVerdict>;

export function createCancelRun({ runs, keeper, ended, nowMs }: CancelRunPorts): CancelRun {
  /** Undefined if the run was changed meanwhile. */
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
    const run = runs().get(key);
    if (run !== undefined) {
      const ended = chartSettled(run, ['delivering'], patienceMs);
      run.send({ type: 'run.cancel', by });
      await ended;
      const seen = run.getSnapshot();
      const isEnded = seen.status !== 'active';
      const { record } = seen.context;
      if (record.status === 'cancelled') return isEnded ? { kind: 'cancelled' } : { kind: 'notified' };
      return isEnded || record.status === 'delivering' ? { kind: 'over', status: record.status } : { kind: 'notified' };
    }
    const stored = await keeper.journal()?.get('runs', key);
    if (stored === undefined) return { kind: 'unknown' };
    const { status } = stored.value;
    // An interrupted run is still stored as running, but nothing runs it.
    const waits = status === 'queued' || (status === 'running' && stored.dueAtMs !== undefined);
    if (!waits) return { kind: 'over', status };
    if (keeper.isElsewhere(stored.heldBy)) return { kind: 'elsewhere' };
    return (await closeOnDisk(stored, by)) ?? cancel(key, by);
  };
}
