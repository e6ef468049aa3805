/**
 * Counts the events of the history that answer a question, by spans of time. The first reading goes through the journal,
 * newest first, for as long as it may take, and the next one continues; afterwards only events are read that a commit has
 * touched. So counts of millions of events cost a look at a few of them.
 *
 * Recent events and unfinished ones are known one by one. Spans of older finished ones are kept as sums, and are read
 * again if one of their events changes.
 * @see INS-4 and DUR-2 in docs/specification.md
 */

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
  /** What is counted; absent where the event does not answer the question. */
  readonly counted?: CountedEvent | undefined;
  /** Whether its work is still to end. */
  readonly isOpen: boolean;
}

export interface Tally {
  /**
   * Reads what is missing of a range, at most for so long.
   * @returns the time from which on everything is counted: the beginning of the range, if the reading came that far
   */
  settle(range: TimeRange, mostMs: number): Promise<number>;
  /** Sums over part of what is counted, from and to edges of spans. */
  sums(fromMs: number, toMs: number): Sums;
  /** The events before a key, newest first. Returns the time below which they are known as sums only. */
  known(before?: string): Generator<CountedEvent, number>;
  /** One of them; undefined too where it is known as part of a sum only. */
  find(key: string): CountedEvent | undefined;
  /** Takes note of what a commit has changed. */
  landed(writes: readonly Write[]): void;
  /** Takes note of runs that have changed without a commit. */
  changed(works: Iterable<string>): void;
}

/** Events that are known one by one, unfinished ones apart. */
const mostKnown = 20_000;
/** Changes that wait to be read; beyond them, all is read anew. */
const mostChanged = 50_000;
/** Requests that began before this may still be committed. */
const settlingMs = 60_000;
/** The history removes its oldest events; so often is checked which. */
const removedEveryMs = 60_000;
/** So often are the commits of other nodes looked for. */
const othersEveryMs = 2_000;
const batchSize = 64;

interface Cell {
  /** Absent once only the sums are kept. */
  events?: Map<string, CountedEvent>;
  /** Absent after a change, until they are asked for. */
  sums?: Sums;
  /** The oldest event of the sums. */
  firstKey?: string | undefined;
}

export function createTally(ports: TallyPorts): Tally {
  const { cellMs, nowMs } = ports;
  const cells = new Map<number, Cell>();
  const united = new Map<string, { readonly fromMs: number; readonly toMs: number; readonly sums: Sums }>();
  /** The unfinished events of each run or delivery. */
  const open = new Map<string, Set<string>>();
  const changedEvents = new Set<string>();
  const changedWorks = new Set<string>();
  /** Everything since then is counted; undefined before the first reading. */
  let countedFromMs: number | undefined;
  let isWatching = false;
  let knownCount = 0;
  let lastRemovedMs = nowMs();
  let lastOthersMs = nowMs();
  let turn: Promise<unknown> = Promise.resolve();
  const cellOf = (key: string): number => Math.floor(timeOfKey(key) / cellMs);

  function forgetAll(): void {
    for (const held of [cells, united, open, changedEvents, changedWorks]) held.clear();
    countedFromMs = undefined;
    isWatching = false;
    knownCount = 0;
  }

  function changed(at: number): void {
    for (const [name, { fromMs, toMs }] of united) {
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
      cells.set(at, { events });
      changed(at);
    }
    if (work === undefined) return;
    // An event that does not answer the question yet may do so when it ends.
    if (isOpen) open.set(work, (open.get(work) ?? new Set<string>()).add(key));
    else if (open.get(work)?.delete(key) === true && open.get(work)?.size === 0) open.delete(work);
  }

  function drop(at: number): void {
    knownCount -= cells.get(at)?.events?.size ?? 0;
    cells.delete(at);
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
      ...(toMs === undefined ? {} : { before: timeKey(toMs) }),
    };
  }

  /** Counts back to a time; where the patience ends before, to the edge of a span. */
  async function readBack(fromMs: number, toMs: number | undefined, endMs = Number.POSITIVE_INFINITY): Promise<number> {
    let batch: StoredRecord<'events'>[] = [];
    for await (const stored of recordsOf(ports.journal(), question(fromMs, toMs))) {
      const last = batch.at(-1);
      const edge = (cellOf(stored.key) + 1) * cellMs;
      const isEdge = last !== undefined && cellOf(last.key) !== cellOf(stored.key);
      if (batch.length >= batchSize || isEdge) {
        await count(batch);
        batch = [];
        if (isEdge && nowMs() >= endMs) return edge;
      }
      batch.push(stored);
    }
    await count(batch);
    return fromMs;
  }

  function readAgain(at: number, range: TimeRange): Promise<number> {
    drop(at);
    const { fromMs = 0, toMs = Number.POSITIVE_INFINITY } = range.toMs === undefined ? {} : range;
    return readBack(Math.max(at * cellMs, fromMs), Math.min((at + 1) * cellMs, toMs));
  }

  /** Counts anew what has changed since the last look. */
  async function readChanges(journal: JournalReader, range: TimeRange): Promise<void> {
    const events = new Set(changedEvents);
    const works = [...changedWorks];
    changedEvents.clear();
    changedWorks.clear();
    for (const work of works) {
      for (const key of open.get(work) ?? [work, ...(await membersOf(journal, work))]) events.add(key);
    }
    const again = new Set<number>();
    const batch: StoredRecord<'events'>[] = [];
    for (const key of events) {
      const atMs = timeOfKey(key);
      if (atMs < (countedFromMs ?? 0) || atMs >= (range.toMs ?? Number.POSITIVE_INFINITY)) continue;
      const cell = cells.get(cellOf(key));
      if (cell !== undefined && cell.events === undefined) again.add(cellOf(key));
      else {
        const stored = await journal.get('events', key);
        if (stored === undefined) put(key, undefined, { isOpen: false });
        else batch.push(stored);
      }
    }
    for (let first = 0; first < batch.length; first += batchSize) await count(batch.slice(first, first + batchSize));
    for (const at of again) await readAgain(at, range);
  }

  /** Behind a network other nodes may write too, which is not seen here. */
  async function noteOthers(journal: JournalReader): Promise<void> {
    if (nowMs() - lastOthersMs < othersEveryMs) return;
    lastOthersMs = nowMs();
    for await (const { key } of recordsOf(journal, question(nowMs() - settlingMs, undefined))) changedEvents.add(key);
    for (const collection of ['runs', 'deliveries'] as const) {
      for (const key of await journal.dueKeys(collection)) changedWorks.add(runKeyOf(key));
    }
    for (const work of open.keys()) changedWorks.add(work);
  }

  /** Keeps only the sums of the oldest finished events, where too many are known one by one. */
  function condense(): void {
    if (knownCount <= mostKnown) return;
    const settled = Math.floor((nowMs() - settlingMs) / cellMs);
    let newer = 0;
    for (const at of [...cells.keys()].sort((one, other) => other - one)) {
      const cell = cells.get(at);
      if (cell?.events === undefined) continue;
      newer += cell.events.size;
      // Half of them, so that this happens seldom.
      if (newer <= mostKnown / 2 || at >= settled || [...cell.events.values()].some(isOpen)) continue;
      cell.sums ??= sumsOf(cell.events.values());
      cell.firstKey = oldestFinished(cell.events.values());
      knownCount -= cell.events.size;
      delete cell.events;
    }
  }

  /** The history removes its oldest finished events first. */
  async function readRemoved(journal: JournalReader, range: TimeRange): Promise<void> {
    if (nowMs() - lastRemovedMs < removedEveryMs) return;
    lastRemovedMs = nowMs();
    for (const at of [...cells.keys()].sort((one, other) => one - other)) {
      const cell = cells.get(at);
      const first = cell?.firstKey ?? oldestFinished(cell?.events?.values() ?? []);
      if (first === undefined) continue;
      if ((await journal.get('events', first)) !== undefined) return;
      await readAgain(at, range);
    }
  }

  async function settle(range: TimeRange, mostMs: number): Promise<number> {
    const journal = ports.journal();
    if (journal === undefined) return range.fromMs;
    const endMs = nowMs() + mostMs;
    isWatching = true;
    if (countedFromMs !== undefined) {
      if (journal.local === undefined) await noteOthers(journal);
      await readChanges(journal, range);
      await readRemoved(journal, range);
    }
    if (countedFromMs === undefined || range.fromMs < countedFromMs) {
      countedFromMs = await readBack(range.fromMs, countedFromMs ?? range.toMs, endMs);
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
      const places = [...cells.keys()].filter((at) => at <= last).sort((one, other) => other - one);
      for (const at of places) {
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
      if (changedEvents.size + changedWorks.size > mostChanged) forgetAll();
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
