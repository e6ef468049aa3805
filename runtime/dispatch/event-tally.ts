/**
 * Counts the events that pass a test, by spans of time. The first reading goes through the journal, newest first, within
 * its time limit, and the next one continues; afterwards only events that a commit has touched are read. So counts of
 * millions of events cost only the reading of a few.
 *
 * Recent and unfinished events are kept individually. Spans of older finished events are kept as sums, and are read again
 * if one of their events changes.
 * @see INS-4 and DUR-2 in docs/specification.md
 */

import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { JournalReader, StoredRecord, Write } from '../../actors/store/journal.ts';
import { outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import type { TimeRange } from '../../machines/base/time-range.ts';
import { runKeyOf } from '../../machines/webhook/responses.ts';
import { timeKey, timeOfKey } from '../system/ids.ts';
import { type CountedEvent, type Sums, sumsOf, unite } from './event-sums.ts';
import { membersOf } from './history.ts';
import { type Question, recordsOf } from './newest-first.ts';

export interface TallyPorts {
  readonly journal: () => (JournalReader & { readonly local?: unknown }) | undefined;
  readonly judge: (stored: StoredRecord<'events'>) => Promise<Judged>;
  /** The length of the spans. */
  readonly cellMs: number;
  readonly nowMs: () => number;
}

export interface Judged {
  /** The counted fields; absent if the event does not pass the test. */
  readonly counted?: CountedEvent | undefined;
  /** Whether its work has not ended yet. */
  readonly isOpen: boolean;
}

export interface Tally {
  /**
   * Reads the missing part of a range, for at most `mostMs`.
   * @returns the time from which on everything is counted; the start of the range if the reading got there
   */
  settle(range: TimeRange, mostMs: number): Promise<number>;
  /** The sums from one edge of a span to another. */
  sums(fromMs: number, toMs: number): Sums;
  /** The events before a key, newest first. Returns the time below which only sums are kept. */
  known(before?: string): Generator<CountedEvent, number>;
  /** One event; undefined also if it is only part of a sum. */
  find(key: string): CountedEvent | undefined;
  /** Records the changes of a commit. */
  landed(writes: readonly Write[]): void;
  /** Records that the state of runs has changed without a commit. */
  changed(works: Iterable<string>): void;
}

/** Limit of events that are kept individually, without the unfinished ones. */
const mostKnown = 20_000;
/** Limit of changes that wait to be read; beyond it, everything is read again. */
const mostChanged = 50_000;
/** Limit of sums over several spans: each range that ends now has others a moment later. */
const mostUnited = 1_000;
/** Requests that began within this time may not be committed yet. */
const settlingMs = 60_000;
/** How often to check which of the oldest events the history has removed. */
const removedEveryMs = 60_000;
/** How often to check for failed deliveries that were retried, dropped or confirmed at another gateway. */
const failedEveryMs = 60_000;
/** How often to check for commits of other gateways. */
const othersEveryMs = 2_000;
const batchSize = 64;

interface Cell {
  /** Absent once only the sums are kept. */
  events?: Map<string, CountedEvent>;
  /** Absent after a change, until the next use. */
  sums?: Sums;
  /** The oldest event of the sums. */
  firstKey?: string | undefined;
}

export function createTally(ports: TallyPorts): Tally {
  const { cellMs, nowMs } = ports;
  const cells = new Map<number, Cell>();
  const united = new LRUCache<string, { readonly fromMs: number; readonly toMs: number; readonly sums: Sums }>({
    max: mostUnited,
  });
  /** The unfinished events of each run or delivery. */
  const open = new Map<string, Set<string>>();
  const changedEvents = new Set<string>();
  const changedWorks = new Set<string>();
  /** Everything since then is counted; undefined before the first reading. */
  let countedFromMs: number | undefined;
  let isWatching = false;
  /** Absent after a span was added or removed. */
  let newestSpans: readonly number[] | undefined;
  /** Too much has changed since the last reading. */
  let isOutdated = false;
  let knownCount = 0;
  let lastRemovedMs = nowMs();
  let lastOthersMs = nowMs();
  let lastFailedMs = nowMs();
  let turn: Promise<unknown> = Promise.resolve();
  /** A clock that is set back must not delay the next check. */
  const isWithin = (lastMs: number, spanMs: number): boolean => Math.abs(nowMs() - lastMs) < spanMs;
  const cellOf = (key: string): number => Math.floor(timeOfKey(key) / cellMs);

  function forgetAll(): void {
    for (const held of [cells, united, open, changedEvents, changedWorks]) held.clear();
    countedFromMs = undefined;
    isWatching = false;
    isOutdated = false;
    knownCount = 0;
    newestSpans = undefined;
  }

  function spansNewestFirst(): readonly number[] {
    newestSpans ??= [...cells.keys()].sort((one, other) => other - one);
    return newestSpans;
  }

  function changed(at: number): void {
    for (const [name, { fromMs, toMs }] of [...united]) {
      if (fromMs < (at + 1) * cellMs && at * cellMs < toMs) united.delete(name);
    }
  }

  function put(key: string, work: string | undefined, { counted, isOpen }: Judged): void {
    const at = cellOf(key);
    const cell = cells.get(at) ?? {};
    const events = cell.events ?? new Map<string, CountedEvent>();
    if (counted !== undefined || events.has(key)) {
      knownCount -= events.size;
      if (counted === undefined) events.delete(key);
      else events.set(key, counted);
      knownCount += events.size;
      if (!cells.has(at)) newestSpans = undefined;
      // What was united since the last change has left its sums here.
      const isUnited = cell.sums !== undefined || !cells.has(at);
      cells.set(at, { events });
      if (isUnited) changed(at);
    }
    if (work === undefined) return;
    // An event that does not pass the test yet may pass it when it ends.
    if (isOpen) open.set(work, (open.get(work) ?? new Set<string>()).add(key));
    else if (open.get(work)?.delete(key) === true && open.get(work)?.size === 0) open.delete(work);
  }

  function drop(at: number): void {
    knownCount -= cells.get(at)?.events?.size ?? 0;
    cells.delete(at);
    newestSpans = undefined;
    changed(at);
  }

  async function count(batch: readonly StoredRecord<'events'>[]): Promise<void> {
    const judged = await Promise.all(batch.map(ports.judge));
    for (const [index, { key, value }] of batch.entries()) put(key, value.work, judged[index] ?? { isOpen: false });
  }

  function question(fromMs: number, toMs: number | undefined): Question<'events'> {
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
    drop(at);
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
      const cell = cells.get(cellOf(key));
      if (cell !== undefined && cell.events === undefined) {
        again.add(cellOf(key));
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
    if (isWithin(lastOthersMs, othersEveryMs)) return;
    lastOthersMs = nowMs();
    for await (const { key } of recordsOf(journal, question(nowMs() - settlingMs, undefined))) {
      const known = cells.get(cellOf(key))?.events?.get(key);
      if (known === undefined || isOpen(known)) changedEvents.add(key);
    }
    for (const collection of ['runs', 'deliveries'] as const) {
      for (const key of await journal.dueKeys(collection)) changedWorks.add(runKeyOf(key));
    }
    for (const work of open.keys()) changedWorks.add(work);
    if (isWithin(lastFailedMs, failedEveryMs)) return;
    lastFailedMs = nowMs();
    for (const { events } of cells.values()) {
      for (const { key, status } of events?.values() ?? []) {
        if (outcomeOfStatus(status) === 'failed') changedEvents.add(key);
      }
    }
  }

  /** Keeps only the sums of the oldest finished events, if too many are kept individually. */
  function condense(): void {
    if (knownCount <= mostKnown) return;
    const settled = Math.floor((nowMs() - settlingMs) / cellMs);
    let newer = 0;
    for (const at of spansNewestFirst()) {
      const cell = cells.get(at);
      if (cell?.events === undefined) continue;
      newer += cell.events.size;
      // Reduces them to half, so that this happens rarely. What is read later could not be added to a sum.
      const isPartial = at * cellMs < (countedFromMs ?? 0);
      if (isPartial || newer <= mostKnown / 2 || at >= settled || [...cell.events.values()].some(isOpen)) continue;
      cell.sums ??= sumsOf(cell.events.values());
      cell.firstKey = oldestFinished(cell.events.values());
      knownCount -= cell.events.size;
      delete cell.events;
    }
  }

  /** The history removes its oldest finished events first. */
  async function readRemoved(journal: JournalReader, range: TimeRange): Promise<void> {
    if (isWithin(lastRemovedMs, removedEveryMs)) return;
    lastRemovedMs = nowMs();
    for (const at of spansNewestFirst().toReversed()) {
      const cell = cells.get(at);
      const first = cell?.firstKey ?? oldestFinished(cell?.events?.values() ?? []);
      if (first === undefined) continue;
      if ((await journal.get('events', first)) !== undefined) return;
      await readAgain(journal, at, range);
    }
  }

  async function settle(range: TimeRange, mostMs: number): Promise<number> {
    const journal = ports.journal();
    if (journal === undefined) return range.fromMs;
    const endMs = nowMs() + mostMs;
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
    condense();
    return Math.max(range.fromMs, countedFromMs);
  }

  return {
    settle(range, mostMs) {
      const mine = turn.then(() => settle(range, mostMs));
      turn = mine.catch(forgetAll);
      return mine;
    },

    sums(fromMs, toMs) {
      const name = `${fromMs} ${toMs}`;
      const found = united.get(name);
      if (found !== undefined) return found.sums;
      const parts: Sums[] = [];
      for (let at = Math.floor(fromMs / cellMs); at * cellMs < toMs; at += 1) {
        const cell = cells.get(at);
        if (cell === undefined) continue;
        cell.sums ??= sumsOf(cell.events?.values() ?? []);
        parts.push(cell.sums);
      }
      const sums = unite(parts);
      united.set(name, { fromMs, toMs, sums });
      return sums;
    },

    *known(before) {
      const last = before === undefined ? Number.POSITIVE_INFINITY : cellOf(before);
      for (const at of spansNewestFirst()) {
        if (at > last) continue;
        const events = cells.get(at)?.events;
        if (events === undefined) return (at + 1) * cellMs;
        const keys = [...events.keys()].filter((key) => before === undefined || key < before).sort();
        for (const key of keys.reverse()) {
          const counted = events.get(key);
          if (counted !== undefined) yield counted;
        }
      }
      return Number.NEGATIVE_INFINITY;
    },

    find: (key) => cells.get(cellOf(key))?.events?.get(key),

    landed(writes) {
      if (!isWatching) return;
      for (const write of writes) {
        if (write.kind !== 'put' && write.kind !== 'delete') continue;
        if (write.collection === 'events') changedEvents.add(write.key);
        else if (write.collection === 'runs' || write.collection === 'deliveries')
          changedWorks.add(runKeyOf(write.key));
      }
      if (changedEvents.size + changedWorks.size <= mostChanged) return;
      changedEvents.clear();
      changedWorks.clear();
      isOutdated = true;
    },

    changed(works) {
      if (isWatching) for (const work of works) changedWorks.add(work);
    },
  };
}

function isOpen({ status }: CountedEvent): boolean {
  return outcomeOfStatus(status) === 'open';
}

function oldestFinished(events: Iterable<CountedEvent>): string | undefined {
  let oldest: string | undefined;
  for (const counted of events) {
    if (!isOpen(counted) && (oldest === undefined || counted.key < oldest)) oldest = counted.key;
  }
  return oldest;
}
