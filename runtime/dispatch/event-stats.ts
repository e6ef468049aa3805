/**
 * Counts the history's events over a range of time, in total and by route: by outcome and with the time to delivery.
 * Costs nothing while unused, and little when the same counts are requested again.
 * @see INS-4 in docs/specification.md
 */

import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import { type Buckets, bucketsOf, cellMs, type TimeRange } from '../../machines/base/time-range.ts';
import type { CountedEvents, CountedRoute } from '../control/contract/events.ts';
import { timeOfKey } from '../system/ids.ts';
import { countedOf, type EventFacts, type EventTest, type FactsPorts, factsOf, testOf } from './event-facts.ts';
import { allRoutes, countsOf, type Sum, type Sums, sumsOf, timesOf, totalOf, unite } from './event-sums.ts';
import { createTally, type Tally } from './event-tally.ts';
import type { FoundEvent } from './find-event.ts';

interface EventStatsPorts extends Omit<FactsPorts, 'journal'> {
  readonly keeper: Pick<JournalKeeper, 'journal' | 'watch'>;
  /** The refused requests, which are not in the journal. */
  readonly refused: { newestFirst(): Iterable<FoundEvent> };
  readonly nowMs: () => number;
}

export interface Reading {
  readonly tally: Tally;
  readonly buckets: Buckets;
  /** Since when everything is counted. */
  readonly countedFromMs: number;
  /** The sums of each bucket, refused requests included. */
  readonly sums: readonly Sums[];
  /** The refused requests of the range, newest first. */
  readonly refused: readonly FoundEvent[];
}

export type RouteCounts = Pick<CountedRoute, 'route' | 'profile' | 'total' | 'counts' | 'last_at'>;

export interface EventStats {
  /** Counts the events that pass a test, by default all, and reads the journal for at most `maxMs`, as the others do. */
  read(range: TimeRange, test?: EventTest, maxMs?: number): Promise<Reading>;
  /**
   * The counts of each route with events in a range, for less than `count` costs; with a profile, only of its routes.
   * Everything since `countedFromMs` is counted.
   */
  countRoutes(
    range: TimeRange,
    profile?: string,
    maxMs?: number,
  ): Promise<{ readonly countedFromMs: number; readonly routes: readonly RouteCounts[] }>;
  /** The counts over a range, and those of each route with events in it; with a profile, only its routes. */
  count(
    range: TimeRange,
    profile?: string,
    maxMs?: number,
  ): Promise<{ readonly all: CountedEvents; readonly routes: readonly CountedRoute[] }>;
}

/** How many tallies are kept, and how long after their last use. */
const maxKept = 8;
const keptMs = 300_000;
const defaultMaxMs = 1_000;

const everything: EventTest = { name: '', fits: () => true };

/** The same test as a search for the profile, so that both share a tally. */
function testOfProfile(profile: string): EventTest {
  return testOf({ texts: [], filters: { profile: [profile] } }, (texts) => texts);
}

interface Kept {
  readonly tally: Tally;
  askedMs: number;
  /** The runs that waited for a person at the last reading. */
  waiting: ReadonlyMap<string, string>;
}

export function createEventStats(ports: EventStatsPorts): EventStats {
  const { keeper, refused, runsThatWait, nowMs } = ports;
  const factsPorts: FactsPorts = { ...ports, journal: keeper.journal };
  const kept = new Map<string, Kept>();
  let leave: (() => void) | undefined;

  function release(name: string): void {
    kept.delete(name);
    if (kept.size > 0) return;
    leave?.();
    leave = undefined;
  }

  /** The tally of a test; all ranges that end now share one. */
  function tallyOf(test: EventTest, range: TimeRange, { widthMs }: Buckets): Tally {
    const fixed = range.toMs === undefined ? '' : `${range.fromMs} ${range.toMs} `;
    const name = `${fixed}${test.name}`;
    const found = kept.get(name) ?? {
      tally: createTally({
        journal: keeper.journal,
        cellMs: Math.min(cellMs, widthMs),
        nowMs,
        async judge(stored) {
          const facts = await factsOf(stored, factsPorts);
          const isOpen = outcomeOfStatus(facts.status) === 'open';
          return { isOpen, counted: test.fits(facts) ? countedOf(facts) : undefined };
        },
      }),
      askedMs: 0,
      waiting: new Map(),
    };
    kept.delete(name);
    kept.set(name, found);
    found.askedMs = nowMs();
    const waiting = runsThatWait();
    found.tally.changed([...waiting.keys()].filter((run) => !found.waiting.has(run)));
    found.tally.changed([...found.waiting.keys()].filter((run) => !waiting.has(run)));
    found.waiting = new Map(waiting);
    for (const oldest of [...kept.keys()].slice(0, -maxKept)) release(oldest);
    leave ??= keeper.watch((writes) => {
      for (const [one, { tally, askedMs }] of kept) {
        if (nowMs() - askedMs > keptMs) release(one);
        else tally.landed(writes);
      }
    });
    return found.tally;
  }

  function refusedIn({ fromMs, toMs }: TimeRange, { fits }: EventTest): FoundEvent[] {
    const rows: FoundEvent[] = [];
    for (const found of refused.newestFirst()) {
      const atMs = timeOfKey(found.key);
      if (atMs < fromMs) break;
      if (atMs < (toMs ?? Number.POSITIVE_INFINITY) && fits(factsOfRefused(found))) rows.push(found);
    }
    return rows;
  }

  async function read(range: TimeRange, test = everything, maxMs = defaultMaxMs): Promise<Reading> {
    const buckets = bucketsOf(range, nowMs());
    const tally = tallyOf(test, range, buckets);
    const countedFromMs = await tally.settle(range, maxMs);
    const turnedAway = refusedIn({ ...range, fromMs: countedFromMs }, test);
    const sums: Sums[] = [];
    for (let atMs = buckets.fromMs; atMs < buckets.toMs; atMs += buckets.widthMs) {
      const endMs = atMs + buckets.widthMs;
      const known = tally.sums(Math.max(atMs, range.fromMs, countedFromMs), endMs);
      const here = turnedAway.filter(({ key }) => timeOfKey(key) >= atMs && timeOfKey(key) < endMs);
      const counted = here.map((one) => countedOf(factsOfRefused(one)));
      sums.push(here.length === 0 ? known : unite([known, sumsOf(counted)]));
    }
    return { tally, buckets, countedFromMs, sums, refused: turnedAway };
  }

  const readOf = (range: TimeRange, profile?: string, maxMs?: number): Promise<Reading> =>
    read(range, profile === undefined ? everything : testOfProfile(profile), maxMs);

  return {
    read,
    async countRoutes(...asked) {
      const { countedFromMs, sums } = await readOf(...asked);
      return { countedFromMs, routes: [...unite(sums)].map(routeCounts) };
    },
    async count(range, profile, maxMs) {
      const reading = await readOf(range, profile, maxMs);
      return {
        all: countedEvents(range, reading),
        routes: [...unite(reading.sums)].map(([name, sum]) => ({
          ...routeCounts([name, sum]),
          ...countsIn(
            reading,
            reading.sums.map((one) => one.get(name)),
          ),
        })),
      };
    },
  };
}

function routeCounts([name, sum]: readonly [string, Sum]): RouteCounts {
  const at = name.indexOf('/');
  const counts = countsOf(sum);
  return {
    profile: name.slice(0, at),
    route: name.slice(at + 1),
    last_at: new Date(timeOfKey(sum.lastKey)).toISOString(),
    total: totalOf(counts),
    counts,
  };
}

export function factsOfRefused({ key, event }: FoundEvent): EventFacts {
  return { key, event, status: event.status };
}

/** The answer of a reading; with statuses, only of events that have one of them. */
export function countedEvents(range: TimeRange, reading: Reading, only?: ReadonlySet<string>): CountedEvents {
  const { buckets, countedFromMs } = reading;
  return {
    from: new Date(range.fromMs).toISOString(),
    to: new Date(range.toMs ?? buckets.toMs).toISOString(),
    bucket_ms: buckets.widthMs,
    ...(countedFromMs > range.fromMs ? { counted_from: new Date(countedFromMs).toISOString() } : {}),
    ...countsIn(reading, reading.sums.map(allRoutes), only),
  };
}

function countsIn(
  { buckets: { fromMs, widthMs } }: Reading,
  sums: readonly (Sum | undefined)[],
  only?: ReadonlySet<string>,
): Omit<CountedRoute, 'route' | 'profile' | 'last_at'> {
  const all = allRoutes(new Map(sums.map((sum, index) => [String(index), sum ?? allRoutes(new Map())])));
  const counts = countsOf(all, only);
  return {
    total: totalOf(counts),
    counts,
    ...timesOf(all),
    buckets: sums.map((sum, index) => ({
      at: new Date(fromMs + index * widthMs).toISOString(),
      ...countsOf(sum ?? all, sum === undefined ? new Set() : only),
      ...(sum === undefined ? {} : timesOf(sum)),
    })),
  };
}
