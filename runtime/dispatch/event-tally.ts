/**
 * Counts the events that pass a test, by spans of time. The first reading goes through the journal, newest first, within
 * its time limit, and the next one continues; afterwards only events that a commit has touched are read. So counts of
 * millions of events cost only the reading of a few.
 * @see INS-4 and DUR-2 in docs/specification.md
 */

import { setImmediate as turnOfLoop } from 'node:timers/promises';
import type { JournalReader, StoredRecord, Write } from '../../actors/store/journal.ts';
import { outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import type { TimeRange } from '../../machines/base/time-range.ts';
import { runKeyOf } from '../../machines/webhook/responses.ts';
import { timeKey, timeOfKey } from '../system/ids.ts';
import { createEventCells, type EventCells, isOpen } from './event-cells.ts';
import type { CountedEvent } from './event-sums.ts';
import { membersOf } from './history.ts';
import { type JournalQuery, recordsOf } from './newest-first.ts';

interface TallyPorts {
  readonly journal: () => (JournalReader & { readonly local?: unknown }) | undefined;
  readonly judge: (stored: StoredRecord<'events'>) => Promise<Judged>;
  /** The length of the spans. */
  readonly cellMs: number;
  readonly nowMs: () => number;
}

interface Judged {
  /** The counted fields; absent if the event does not pass the test. */
  readonly counted?: CountedEvent | undefined;
  /** Whether its work has not ended yet. */
  readonly isOpen: boolean;
}

export interface Tally extends Pick<EventCells, 'find' | 'known' | 'sums'> {
  /**
   * Reads the missing part of a range, for at most `maxMs`.
   * @returns the time from which on everything is counted; the start of the range if the reading got there
   */
  settle(range: TimeRange, maxMs: number): Promise<number>;
  landed(writes: readonly Write[]): void;
  /** Records that the state of runs has changed without a commit. */
  changed(works: Iterable<string>): void;
}

/** Limit of changes that wait to be read; beyond it, everything is read again. */
const maxChanged = 50_000;
/** Requests that began within this time may not be committed yet. */
const settlingMs = 60_000;
/** How often to check which of the oldest events the history has removed. */
const removedEveryMs = 60_000;
/** How often to check for failed deliveries that were retried, dropped or confirmed at another gateway. */
const failedEveryMs = 60_000;
/** How often to check for commits of other gateways. */
const othersEveryMs = 2_000;
const batchSize = 64;

export function createTally(ports: TallyPorts): Tally {
  const { cellMs, nowMs } = ports;
  const cells = createEventCells(cellMs);
  /** The unfinished events of each run or delivery. */
  const open = new Map<string, Set<string>>();
  const changedEvents = new Set<string>();
  const changedWorks = new Set<string>();
  /** Everything since then is counted; undefined before the first reading. */
  let countedFromMs: number | undefined;
  let isWatching = false;
  /** Too much has changed since the last reading. */
  let isOutdated = false;
  let turn: Promise<unknown> = Promise.resolve();
  const isRemovedDue = dueEvery(nowMs, removedEveryMs);
  const isFailedDue = dueEvery(nowMs, failedEveryMs);
  const areOthersDue = dueEvery(nowMs, othersEveryMs);

  function forgetAll(): void {
    for (const held of [cells, open, changedEvents, changedWorks]) held.clear();
    countedFromMs = undefined;
    isWatching = false;
    isOutdated = false;
  }

  function put(key: string, work: string | undefined, { counted, isOpen }: Judged): void {
    cells.put(key, counted);
    if (work === undefined) return;
    // An event that does not pass the test yet may pass it when it ends.
    if (isOpen) open.set(work, (open.get(work) ?? new Set<string>()).add(key));
    else if (open.get(work)?.delete(key) === true && open.get(work)?.size === 0) open.delete(work);
  }

  async function count(batch: readonly StoredRecord<'events'>[]): Promise<void> {
    const judged = await Promise.all(batch.map(ports.judge));
    for (const [index, { key, value }] of batch.entries()) put(key, value.work, judged[index] ?? { isOpen: false });
  }

  function question(fromMs: number, toMs: number | undefined): JournalQuery<'events'> {
    return {
      collection: 'events',
      limit: Number.POSITIVE_INFINITY,
      from: timeKey(fromMs),
      before: toMs === undefined ? undefined : timeKey(toMs),
    };
  }

  /** Counts back to a time, or to an earlier one at the time limit. Returns the time it got to. */
  async function readBack(
    journal: JournalReader,
    fromMs: number,
    toMs: number | undefined,
    endMs = Number.POSITIVE_INFINITY,
  ): Promise<number> {
    let batch: StoredRecord<'events'>[] = [];
    for await (const stored of recordsOf(journal, question(fromMs, toMs))) {
      const last = batch.at(-1);
      if (last !== undefined && batch.length >= batchSize) {
        await count(batch);
        batch = [];
        const reachedMs = timeOfKey(stored.key) + 1;
        // A span may hold thousands, so the limit applies within it too.
        if (timeOfKey(last.key) >= reachedMs && nowMs() >= endMs) return reachedMs;
      }
      batch.push(stored);
    }
    await count(batch);
    return fromMs;
  }

  function readAgain(journal: JournalReader, at: number, range: TimeRange): Promise<number> {
    cells.drop(at);
    const { fromMs = 0, toMs = Number.POSITIVE_INFINITY } = range.toMs === undefined ? {} : range;
    return readBack(journal, Math.max(at * cellMs, fromMs), Math.min((at + 1) * cellMs, toMs));
  }

  /** Counts again what has changed since the last reading. */
  async function readChanges(journal: JournalReader, range: TimeRange): Promise<void> {
    const events = new Set(changedEvents);
    const works = [...changedWorks];
    changedEvents.clear();
    changedWorks.clear();
    for (const work of works) {
      // A new run is counted with its event.
      const known = open.get(work) ?? (events.has(work) ? [] : [work, ...(await membersOf(journal, work))]);
      for (const key of known) events.add(key);
    }
    const again = new Set<number>();
    let batch: StoredRecord<'events'>[] = [];
    for (const key of events) {
      const atMs = timeOfKey(key);
      if (atMs < (countedFromMs ?? 0) || atMs >= (range.toMs ?? Number.POSITIVE_INFINITY)) continue;
      const at = cells.spanOf(key);
      if (cells.isSummed(at)) {
        again.add(at);
        continue;
      }
      const stored = await journal.get('events', key);
      if (stored === undefined) put(key, undefined, { isOpen: false });
      else batch.push(stored);
      if (batch.length < batchSize) continue;
      await count(batch);
      batch = [];
      // A local journal answers without a turn of the event loop.
      await turnOfLoop();
    }
    await count(batch);
    for (const at of again) await readAgain(journal, at, range);
  }

  /** Adds the events that other gateways of a shared journal may have changed, whose commits are not seen here. */
  async function noteOthers(journal: JournalReader): Promise<void> {
    if (!areOthersDue()) return;
    for await (const { key } of recordsOf(journal, question(nowMs() - settlingMs, undefined))) {
      const known = cells.find(key);
      if (known === undefined || isOpen(known)) changedEvents.add(key);
    }
    for (const collection of ['runs', 'deliveries'] as const) {
      for (const key of await journal.dueKeys(collection)) changedWorks.add(runKeyOf(key));
    }
    for (const work of open.keys()) changedWorks.add(work);
    if (!isFailedDue()) return;
    for (const { key, status } of cells.individual()) {
      if (outcomeOfStatus(status) === 'failed') changedEvents.add(key);
    }
  }

  /** The history removes its oldest finished events first. */
  async function readRemoved(journal: JournalReader, range: TimeRange): Promise<void> {
    if (!isRemovedDue()) return;
    for (const at of cells.spansNewestFirst().toReversed()) {
      const first = cells.firstFinished(at);
      if (first === undefined) continue;
      if ((await journal.get('events', first)) !== undefined) return;
      await readAgain(journal, at, range);
    }
  }

  async function settle(range: TimeRange, maxMs: number): Promise<number> {
    const journal = ports.journal();
    if (journal === undefined) return range.fromMs;
    const endMs = nowMs() + maxMs;
    if (isOutdated) forgetAll();
    isWatching = true;
    if (countedFromMs !== undefined) {
      if (journal.local === undefined) await noteOthers(journal);
      await readChanges(journal, range);
      await readRemoved(journal, range);
    }
    if (countedFromMs === undefined || range.fromMs < countedFromMs) {
      countedFromMs = await readBack(journal, range.fromMs, countedFromMs ?? range.toMs, endMs);
    }
    cells.condense(countedFromMs, nowMs() - settlingMs);
    return Math.max(range.fromMs, countedFromMs);
  }

  return {
    find: cells.find,
    known: cells.known,
    sums: cells.sums,
    settle(range, maxMs) {
      const mine = turn.then(() => settle(range, maxMs));
      turn = mine.catch(forgetAll);
      return mine;
    },

    landed(writes) {
      if (!isWatching) return;
      for (const write of writes) {
        if (write.kind !== 'put' && write.kind !== 'delete') continue;
        if (write.collection === 'events') changedEvents.add(write.key);
        else if (write.collection === 'runs' || write.collection === 'deliveries')
          changedWorks.add(runKeyOf(write.key));
      }
      if (changedEvents.size + changedWorks.size <= maxChanged) return;
      changedEvents.clear();
      changedWorks.clear();
      isOutdated = true;
    },

    changed(works) {
      if (isWatching) for (const work of works) changedWorks.add(work);
    },
  };
}

/** Whether it is time for what is done at intervals. A clock that is set back must not delay it. */
function dueEvery(nowMs: () => number, pauseMs: number): () => boolean {
  let lastMs = nowMs();
  return () => {
    if (Math.abs(nowMs() - lastMs) < pauseMs) return false;
    lastMs = nowMs();
    return true;
  };
}
