/**
 * Cancels runs, and batches that collect, for a person: notifies the chart and waits until the outcome is on disk; a run
 * that waits only on disk is closed there. A run that has responded is not cancelled, because its response is being delivered.
 * @see DIS-3 in docs/specification.md
 */

import { setImmediate as turn } from 'node:timers/promises';
import type { StoredRecord } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { Batches } from '../../actors/webhook/batches.ts';
import { timeMs } from '../../machines/base/since.ts';
import type { RunRecord } from '../../machines/webhook/record.ts';
import type { HistoryQuery } from '../control/contract/choices.ts';
import type { Sweep } from '../control/contract/deliveries.ts';
import type { SeenRun } from '../control/contract/runs.ts';
import type { WorkPools } from '../system/work-pools.ts';
import { runOfBatch } from './batches.ts';
import { runsUnderWay } from './history.ts';
import { listSize, listsOf } from './newest-first.ts';
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
  readonly groups: () => WorkPools['groups'];
  readonly batches: Pick<Batches, 'close'>;
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
   * respond meanwhile; without a status also batches that still collect. Counts a run that takes long to end as done.
   */
  all(query: OpenRunQuery, by: string): Promise<Sweep>;
}

export function createRunCancels(ports: RunCancelPorts): RunCancels {
  const { runs, groups, batches, keeper, seenRun, ended, nowMs } = ports;

  function cancelled(record: RunRecord, by: string): RunRecord {
    return { ...record, status: 'cancelled', reason: `cancelled by ${by}`, endedAtMs: nowMs() };
  }

  /** Undefined if the run was changed meanwhile. */
  async function closeOnDisk(
    { key, version, value }: StoredRecord<'runs'>,
    by: string,
  ): Promise<CancelVerdict | undefined> {
    const record = cancelled(value, by);
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

  /** A batch ends as its run would have, which never waits. Undefined if it collects no more. */
  async function closeBatch(key: string, by: string): Promise<CancelVerdict | undefined> {
    const group = groups().get(key);
    if (group === undefined) return undefined;
    const { context } = group.getSnapshot();
    let closed: { readonly id: string; readonly record: RunRecord } | undefined;
    const verdict = await batches.close(key, (burst) => {
      closed = { id: burst.id, record: cancelled(runOfBatch(context, burst, nowMs()), by) };
      return [{ kind: 'put', collection: 'runs', key: closed.id, value: closed.record }];
    });
    if (verdict.kind === 'unavailable') return { kind: 'refused', reason: verdict.fault.message };
    if (verdict.kind !== 'committed' || closed === undefined) return undefined;
    group.send({ type: 'batch.cancelled', batch: closed.id });
    ended(closed.id, closed.record);
    return { kind: 'cancelled' };
  }

  /** The matching batches that collect here. */
  function collecting({ since, ...query }: OpenRunQuery): readonly string[] {
    const sinceMs = since === undefined ? 0 : timeMs(since);
    return [...groups()].flatMap(([key, group]) => {
      const { burst, opening, profile, route } = group.getSnapshot().context;
      const batch = burst ?? opening;
      const isMeant = batch !== null && batch.firstAtMs >= sinceMs && matches({ profile, route, status: '' }, query);
      return isMeant ? [key] : [];
    });
  }

  return {
    one: cancel,
    async all(query, by) {
      const journal = keeper.journal();
      const swept = { done: 0, left: 0, refusals: [] as Sweep['refusals'][number][] };
      const count = (id: string, verdict: CancelVerdict | undefined): void => {
        if (verdict?.kind === 'cancelled' || verdict?.kind === 'notified') swept.done += 1;
        if (verdict?.kind !== 'refused') return;
        swept.left += 1;
        if (swept.refusals.length < maxRefusals)
          swept.refusals.push({ id, code: 'journal-unavailable', error: verdict.reason });
      };
      // First: the run of a batch that is settled begins at the end of the one before it.
      const keys = query.status === undefined ? collecting(query) : [];
      for (let from = 0; from < keys.length; from += listSize) {
        await Promise.all(keys.slice(from, from + listSize).map(async (key) => count(key, await closeBatch(key, by))));
        await turn();
      }
      // Those that wait first, the newest first: none of them begins in the place of one in progress, or of an older one.
      for (const status of query.status === undefined ? ['queued', 'interrupted', 'running'] : [query.status]) {
        const meant = { ...query, status };
        for await (const list of listsOf(journal, await runsUnderWay(journal, query))) {
          const found = list.filter(({ key, value, heldBy }) => matches(seenRun(key, value, heldBy), meant));
          await Promise.all(found.map(async ({ key }) => count(key, await cancel(key, by))));
          await turn();
        }
      }
      return swept;
    },
  };
}
