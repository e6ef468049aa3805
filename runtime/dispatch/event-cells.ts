/**
 * The counted events, by spans of time. Recent and unfinished events are kept individually; spans of older finished
 * events are kept as sums, to which no event can be added: such a span is dropped and counted again.
 * @see INS-4 in docs/specification.md
 */

import { LRUCache } from 'lru-cache';
import { outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import { timeOfKey } from '../system/ids.ts';
import { type CountedEvent, type Sums, sumsOf, unite } from './event-sums.ts';

/** Limit of events that are kept individually, without the unfinished ones. */
const maxKnown = 20_000;
/** Limit of sums over several spans: each range that ends now has others a moment later. */
const maxUnited = 1_000;

interface Cell {
  /** Absent once only the sums are kept. */
  events?: Map<string, CountedEvent>;
  /** Absent after a change, until the next use. */
  sums?: Sums;
  /** The oldest event of the sums. */
  firstKey?: string | undefined;
}

export type EventCells = ReturnType<typeof createEventCells>;

export function createEventCells(cellMs: number) {
  const cells = new Map<number, Cell>();
  const united = new LRUCache<string, { readonly fromMs: number; readonly toMs: number; readonly sums: Sums }>({
    max: maxUnited,
  });
  /** Absent after a span was added or removed. */
  let newestSpans: readonly number[] | undefined;
  let knownCount = 0;
  const spanOf = (key: string): number => Math.floor(timeOfKey(key) / cellMs);

  function spansNewestFirst(): readonly number[] {
    newestSpans ??= [...cells.keys()].sort((one, other) => other - one);
    return newestSpans;
  }

  function changed(at: number): void {
    for (const [name, { fromMs, toMs }] of [...united]) {
      if (fromMs < (at + 1) * cellMs && at * cellMs < toMs) united.delete(name);
    }
  }

  return {
    /** The number of the span that an event is in. */
    spanOf,
    spansNewestFirst,

    /** Counts an event, or counts it no more. */
    put(key: string, counted: CountedEvent | undefined): void {
      const at = spanOf(key);
      const cell = cells.get(at) ?? {};
      const events = cell.events ?? new Map<string, CountedEvent>();
      if (counted === undefined && !events.has(key)) return;
      knownCount -= events.size;
      if (counted === undefined) events.delete(key);
      else events.set(key, counted);
      knownCount += events.size;
      if (!cells.has(at)) newestSpans = undefined;
      // What was united since the last change has left its sums here.
      const isUnited = cell.sums !== undefined || !cells.has(at);
      cells.set(at, { events });
      if (isUnited) changed(at);
    },

    drop(at: number): void {
      knownCount -= cells.get(at)?.events?.size ?? 0;
      cells.delete(at);
      newestSpans = undefined;
      changed(at);
    },

    clear(): void {
      cells.clear();
      united.clear();
      newestSpans = undefined;
      knownCount = 0;
    },

    /** One event; undefined also if it is only part of a sum. */
    find: (key: string): CountedEvent | undefined => cells.get(spanOf(key))?.events?.get(key),

    /** Whether only the sums of a span are kept. */
    isSummed(at: number): boolean {
      const cell = cells.get(at);
      return cell !== undefined && cell.events === undefined;
    },

    /** The key of a span's oldest finished event. */
    firstFinished(at: number): string | undefined {
      const cell = cells.get(at);
      return cell?.firstKey ?? oldestFinished(cell?.events?.values() ?? []);
    },

    /** The events that are kept individually, in no order. */
    *individual(): Generator<CountedEvent> {
      for (const { events } of cells.values()) yield* events?.values() ?? [];
    },

    /** The events before a key, newest first. Returns the time below which only sums are kept. */
    *known(before?: string): Generator<CountedEvent, number> {
      const last = before === undefined ? Number.POSITIVE_INFINITY : spanOf(before);
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

    /** The sums from one edge of a span to another. */
    sums(fromMs: number, toMs: number): Sums {
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

    /**
     * Keeps only the sums of the oldest finished events, if too many are kept individually.
     * @param fromMs from when on everything is counted: an event that is counted later could not be added to a sum
     * @param toMs until when no event is still to come
     */
    condense(fromMs: number, toMs: number): void {
      if (knownCount <= maxKnown) return;
      let newer = 0;
      for (const at of spansNewestFirst()) {
        const cell = cells.get(at);
        if (cell?.events === undefined) continue;
        newer += cell.events.size;
        const isSettled = at * cellMs >= fromMs && at < Math.floor(toMs / cellMs);
        // Reduces them to half, so that this happens rarely.
        if (!isSettled || newer <= maxKnown / 2 || [...cell.events.values()].some(isOpen)) continue;
        cell.sums ??= sumsOf(cell.events.values());
        cell.firstKey = oldestFinished(cell.events.values());
        knownCount -= cell.events.size;
        delete cell.events;
      }
    },
  };
}

export function isOpen({ status }: CountedEvent): boolean {
  return outcomeOfStatus(status) === 'open';
}

function oldestFinished(events: Iterable<CountedEvent>): string | undefined {
  let oldest: string | undefined;
  for (const counted of events) {
    if (!isOpen(counted) && (oldest === undefined || counted.key < oldest)) oldest = counted.key;
  }
  return oldest;
}
