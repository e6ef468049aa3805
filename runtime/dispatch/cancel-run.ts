/**
 * Cancels runs for a person: notifies the chart and waits until the outcome is on disk; a run that waits only on disk is
 * closed there. A run that has responded is not cancelled, because its response is being delivered.
 * @see DIS-3 in docs/specification.md
 */

import { setImmediate as turn } from 'node:timers/promises';
import type { StoredRecord } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { RunRecord } from '../../machines/webhook/record.ts';
import type { HistoryQuery } from '../control/contract/choices.ts';
import type { Sweep } from '../control/contract/deliveries.ts';
import type { SeenRun } from '../control/contract/runs.ts';
import type { WorkPools } from '../system/work-pools.ts';
import { runsUnderWay } from './history.ts';
import { listsOf } from './newest-first.ts';
import { matches } from './run-history.ts';
import { chartSettled } from './written.ts';

type CancelVerdict =
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

interface RunCancelPorts {
  readonly runs: () => WorkPools['runs'];
  readonly keeper: JournalKeeper;
  readonly seenRun: SeenRun;
  /** Reports the end of a run without a chart. */
  readonly ended: (key: string, record: RunRecord) => void;
  readonly nowMs: () => number;
}

/** Longer than the chart itself waits for its agent to stop. */
const patienceMs = 20_000;

const unwritten =
  'its cancellation is not on disk: the journal cannot write that now; the run begins after all if the gateway ends before it can';

/** Maximum number of refusals in an answer: a full disk refuses all for the same reason. */
const maxRefusals = 20;

type OpenRunQuery = Omit<HistoryQuery, 'limit' | 'before'>;

export interface RunCancels {
  one(key: string, by: string): Promise<CancelVerdict>;
  /**
   * Cancels the matching runs that wait or are in progress now, except those of other gateways, and those that end or
   * respond meanwhile. Counts a run that takes long to end as done.
   */
  all(query: OpenRunQuery, by: string): Promise<Sweep>;
}

export function createRunCancels({ runs, keeper, seenRun, ended, nowMs }: RunCancelPorts): RunCancels {
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

  async function cancel(key: string, by: string): Promise<CancelVerdict> {
    const run = runs().get(key);
    if (run !== undefined) {
      // A chart that cannot write its outcome does not end.
      const ended = chartSettled(run, ['delivering', 'unrecorded'], patienceMs);
      run.send({ type: 'run.cancel', by });
      await ended;
      const seen = run.getSnapshot();
      const isEnded = seen.status !== 'active';
      const { record } = seen.context;
      if (record.status === 'cancelled') {
        if (isEnded) return { kind: 'cancelled' };
        return seen.value === 'unrecorded' ? { kind: 'refused', reason: unwritten } : { kind: 'notified' };
      }
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
  }

  return {
    one: cancel,
    async all(query, by) {
      const journal = keeper.journal();
      const swept = { done: 0, left: 0, refusals: [] as Sweep['refusals'][number][] };
      // Those that wait first, the newest first: none of them begins in the place of one in progress, or of an older one.
      for (const status of query.status === undefined ? ['queued', 'interrupted', 'running'] : [query.status]) {
        const meant = { ...query, status };
        for await (const list of listsOf(journal, await runsUnderWay(journal, query))) {
          const found = list.filter(({ key, value, heldBy }) => matches(seenRun(key, value, heldBy), meant));
          const verdicts = await Promise.all(found.map(async ({ key }) => ({ id: key, ...(await cancel(key, by)) })));
          for (const verdict of verdicts) {
            if (verdict.kind === 'cancelled' || verdict.kind === 'notified') swept.done += 1;
            if (verdict.kind !== 'refused') continue;
            swept.left += 1;
            const { id, reason: error } = verdict;
            if (swept.refusals.length < maxRefusals) swept.refusals.push({ id, code: 'journal-unavailable', error });
          }
          await turn();
        }
      }
      return swept;
    },
  };
}
