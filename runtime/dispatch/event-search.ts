/**
 * Searches the history: rows newest first, and counts over the complete range. A search that takes too long stops at a
 * time that the answer contains; the next request continues it. Followers of one search share the work.
 * @see INS-4, DUR-2 and CLI-6 in docs/specification.md
 */

import { setTimeout as pause } from 'node:timers/promises';
import { outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import { type ChipName, chipNames, chipOfStatus, readQuery, statusesOf } from '../../machines/base/event-query.ts';
import { cut, defined } from '../../machines/base/json.ts';
import { readRange, type TimeRange } from '../../machines/base/time-range.ts';
import { placeWords } from '../../machines/config/targets.ts';
import { isPassing, statusMark } from '../../machines/webhook/marks.ts';
import { deliveryRow } from '../../machines/webhook/record.ts';
import type { EventFound, EventNews, EventSearch, FoundEvents, SearchedEvents } from '../control/contract/events.ts';
import { Refusal } from '../control/refusal.ts';
import { timeKey, timeOfKey } from '../system/ids.ts';
import { alikeOf, type FoundEvent } from '../webhook/find-event.ts';
import { type EventFacts, type EventTest, type FactsPorts, factsOf, testOf, tookOf } from './event-facts.ts';
import { countedEvents, type EventStats, factsOfRefused, type Reading } from './event-stats.ts';
import { type CountedEvent, unite } from './event-sums.ts';
import { listsOf, type Question } from './newest-first.ts';
import { type AskedQuestion, questionOf, waitingWords } from './run-history.ts';

interface EventSearchPorts extends FactsPorts {
  readonly stats: EventStats;
  /** The open questions of a run, oldest first. */
  readonly workOf: (run: string) => { readonly questions: readonly AskedQuestion[] };
  readonly redact: <Given extends object>(record: Given) => Given;
  readonly nowMs: () => number;
}

export interface SearchEvents {
  search(asked: EventSearch & { readonly cursor?: string; readonly limit: number }): Promise<FoundEvents>;
  /** Calls back with changes, at most four times a second, until the signal aborts. Resolves with the first counts. */
  follow(asked: EventSearch, heard: (news: EventNews) => void, signal: AbortSignal): Promise<EventNews>;
}

/** How long one answer reads the journal. */
const mostMs = 1_000;
const newsEveryMs = 250;
/** How many of the newest events, and of the unfinished ones, are followed for changes. */
const followedNewest = 300;
const followedOpen = 2_000;
/**
 * Of more than that many, those that began within this time before the last check: commits are not in the order of keys. Of
 * a flood only so many: more of it is left out of a message anyway, and a check must not hold up the loop.
 */
const followedMs = 5_000;
const followedRecent = 10_000;
/** Rows per message, the newest ones; the message says how many it leaves out. */
const mostNews = 500;
const longestResult = 200;

interface Page {
  readonly cursor: string | undefined;
  readonly limit: number;
}

interface Meant {
  readonly range: TimeRange;
  readonly test: EventTest;
  readonly statuses: ReadonlySet<string> | undefined;
}

/** A search that is followed. */
interface Followed {
  readonly listeners: Set<(news: EventNews) => void>;
  /** Aborted when the last listener has left. */
  readonly left: AbortController;
  readonly counts: Promise<() => SearchedEvents>;
}

export function createSearchEvents(ports: EventSearchPorts): SearchEvents {
  const { stats, journal, nowMs } = ports;
  const followed = new Map<string, Followed>();

  async function meantBy({ q = '', range = 'all' }: EventSearch): Promise<Meant> {
    const read = readQuery(q);
    if (!read.ok) throw new Refusal('search-unreadable', read.problem);
    const oldest = range === 'all' ? ((await oldestMs()) ?? nowMs()) : undefined;
    const meant = oldest === undefined ? readRange(range, nowMs()) : { fromMs: Math.floor(oldest / 1_000) * 1_000 };
    if (meant === undefined) {
      throw new Refusal(
        'search-unreadable',
        `${JSON.stringify(range)} is no range; use 15m, 1h, 24h, 7d, all, or two ISO 8601 times such as 2026-01-31T09:00:00Z..2026-01-31T10:00:00Z`,
      );
    }
    return {
      range: meant,
      test: testOf(read.query, (texts) => ports.redact({ texts }).texts),
      statuses: statusesOf(read.query),
    };
  }

  async function oldestMs(): Promise<number | undefined> {
    const [oldest] = (await journal()?.list('events', { order: 'oldest', limit: 1 })) ?? [];
    return oldest && timeOfKey(oldest.key);
  }

  /** The keys of a page, newest first; one more than the limit if there are more. */
  async function keysOf(meant: Meant, reading: Reading, { cursor, limit }: Page) {
    const { range } = meant;
    const keys: string[] = [];
    const known = reading.tally.known(cursor);
    let summedMs = Number.NEGATIVE_INFINITY;
    for (;;) {
      const next = known.next();
      if (next.done === true) {
        summedMs = next.value;
        break;
      }
      if (timeOfKey(next.value.key) < Math.max(range.fromMs, reading.countedFromMs)) break;
      if (hasStatus(meant, next.value)) keys.push(next.value.key);
      if (keys.length > limit) break;
    }
    let reachedMs = reading.countedFromMs;
    if (keys.length <= limit && summedMs > reachedMs) {
      reachedMs = await readOlder(meant, keys, { cursor, limit, summedMs, reachedMs });
    }
    return { keys, reachedMs };
  }

  /**
   * Adds the keys of events from `reachedMs` to `summedMs`, which are known only as sums. They are finished, so the index
   * finds those of given statuses. Returns the time that it got to.
   */
  async function readOlder(
    { test, statuses }: Meant,
    keys: string[],
    { cursor, limit, summedMs, reachedMs }: Page & { readonly summedMs: number; readonly reachedMs: number },
  ): Promise<number> {
    const end = timeKey(summedMs);
    const question: Question<'events'> = {
      collection: 'events',
      limit: Number.POSITIVE_INFINITY,
      before: cursor !== undefined && cursor < end ? cursor : end,
      from: timeKey(reachedMs),
      marks: statuses && [...statuses].filter((one) => !isPassing(one)).map((one) => [statusMark(one)]),
    };
    const endMs = nowMs() + mostMs;
    for await (const list of listsOf(journal(), question)) {
      if (nowMs() > endMs) return timeOfKey(list[0]?.key ?? '') + 1;
      for (const facts of await Promise.all(list.map((stored) => factsOf(stored, ports)))) {
        if (!test.fits(facts) || statuses?.has(facts.status) === false) continue;
        keys.push(facts.key);
        if (keys.length > limit) return reachedMs;
      }
    }
    return reachedMs;
  }

  /** Redacts before it cuts: half a secret is not recognized. */
  function shown(row: EventFound): EventFound {
    const clean = ports.redact(row);
    return clean.result === undefined ? clean : { ...clean, result: cut(clean.result, longestResult) };
  }

  async function rowsOf(keys: readonly string[], refused: readonly FoundEvent[]): Promise<EventFound[]> {
    const waiting = ports.runsThatWait();
    const byKey = new Map(refused.map((found) => [found.key, found]));
    const rows = await Promise.all(
      keys.map(async (key) => {
        const found = byKey.get(key);
        if (found !== undefined) return shown({ ...rowOf(factsOfRefused(found)), ...alikeOf(found.alike) });
        const stored = await journal()?.get('events', key);
        if (stored === undefined) return undefined;
        const row = rowOf(await factsOf(stored, ports));
        const { work } = stored.value;
        const asked = work === undefined || !waiting.has(work) ? undefined : ports.workOf(work).questions[0];
        const waits = asked === undefined ? {} : { result: waitingWords(asked) };
        return { ...shown({ ...row, ...waits }), ...questionOf(work, waiting) };
      }),
    );
    return rows.filter((row) => row !== undefined);
  }

  function begin(asked: EventSearch): Followed {
    const listeners = new Set<(news: EventNews) => void>();
    const left = new AbortController();
    const hear = (news: EventNews): void => {
      for (const heard of listeners) heard(news);
    };
    return { listeners, left, counts: keepLooking(asked, hear, left.signal) };
  }

  /** Checks for changes until the signal aborts. Resolves with the latest counts. */
  async function keepLooking(
    asked: EventSearch,
    heard: (news: EventNews) => void,
    signal: AbortSignal,
  ): Promise<() => SearchedEvents> {
    const meant = await meantBy(asked);
    let sinceMs = nowMs() - followedMs;
    const first = await stats.read(meant.range, meant.test, mostMs);
    const seen = new Map<string, CountedEvent>();
    changesOf(first, meant, seen, { sinceMs, isFirst: true });
    let refused = countsOf(first.refused);
    let counts = searchedEvents(meant, first);
    let last = JSON.stringify(counts);
    const look = async (): Promise<void> => {
      // The range "the last hour" moves.
      const now = await meantBy(asked);
      const beganMs = nowMs();
      const reading = await stats.read(now.range, now.test, mostMs);
      const turnedAway = reading.refused.filter(
        ({ key, event, alike }) => hasStatus(now, event) && refused.get(key) !== (alike?.count ?? 1),
      );
      refused = countsOf(reading.refused);
      const changed = changesOf(reading, now, seen, { sinceMs });
      sinceMs = beganMs - followedMs;
      const keys = [...changed, ...turnedAway.map(({ key }) => key)].sort().reverse();
      counts = searchedEvents(now, reading);
      const text = JSON.stringify(counts);
      if (keys.length === 0 && text === last) return;
      last = text;
      const rows = await rowsOf(keys.slice(0, mostNews), turnedAway);
      const leftOut = keys.length > mostNews ? { left_out: keys.length - mostNews } : {};
      if (!signal.aborted) heard({ ...counts, rows, ...leftOut });
    };
    const repeat = async (): Promise<void> => {
      for (;;) {
        await pause(newsEveryMs, undefined, { signal });
        // A journal that cannot be read just now, such as a database that restarts, is asked again.
        await look().catch(() => {});
      }
    };
    // Only the signal ends it.
    repeat().catch(() => {});
    return () => counts;
  }

  return {
    async search({ cursor, limit, ...asked }) {
      const meant = await meantBy(asked);
      const reading = await stats.read(meant.range, meant.test, mostMs);
      const { keys, reachedMs } = await keysOf(meant, reading, { cursor, limit });
      const refused = reading.refused.filter(
        ({ key, event }) =>
          (cursor === undefined || key < cursor) && timeOfKey(key) >= reachedMs && hasStatus(meant, event),
      );
      const all = [...keys, ...refused.map(({ key }) => key)].sort().reverse();
      const shown = all.slice(0, limit);
      // A new tally may not have come as far as the cursor, from which the next request continues then.
      const reached = cursor === undefined || cursor > timeKey(reachedMs) ? timeKey(reachedMs) : cursor;
      const next = all.length > limit ? shown.at(-1) : reachedMs > meant.range.fromMs ? reached : undefined;
      const oldest = await oldestMs();
      return {
        ...searchedEvents(meant, reading),
        rows: await rowsOf(shown, refused),
        ...(next === undefined ? {} : { cursor: next }),
        ...(oldest === undefined ? {} : { oldest_at: new Date(oldest).toISOString() }),
      };
    },

    async follow(asked, heard, signal) {
      const name = JSON.stringify([asked.q, asked.range]);
      const one = followed.get(name) ?? begin(asked);
      followed.set(name, one);
      one.listeners.add(heard);
      const leave = (): void => {
        one.listeners.delete(heard);
        if (one.listeners.size > 0) return;
        one.left.abort();
        if (followed.get(name) === one) followed.delete(name);
      };
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
      try {
        const counts = await one.counts;
        return { ...counts(), rows: [] };
      } catch (thrown) {
        leave();
        throw thrown;
      }
    },
  };
}

function hasStatus({ statuses }: Pick<Meant, 'statuses'>, { status }: { readonly status: string }): boolean {
  return statuses === undefined || statuses.has(status);
}

/** How often each refused request was made, by its key. */
function countsOf(refused: readonly FoundEvent[]): ReadonlyMap<string, number> {
  return new Map(refused.map(({ key, alike }) => [key, alike?.count ?? 1]));
}

/** The keys of events that are new or have changed since the last check; updates `followed`. */
function changesOf(
  { tally }: Reading,
  { statuses, range }: Meant,
  followed: Map<string, CountedEvent>,
  { sinceMs, isFirst = false }: { readonly sinceMs: number; readonly isFirst?: boolean },
): string[] {
  const changed: string[] = [];
  const look = (counted: CountedEvent): void => {
    const before = followed.get(counted.key);
    if (before === counted) return;
    followed.set(counted.key, counted);
    const fits =
      statuses === undefined || statuses.has(counted.status) || (before !== undefined && statuses.has(before.status));
    if (!isFirst && fits) changed.push(counted.key);
  };
  const newest = new Set<string>();
  let count = 0;
  for (const counted of tally.known()) {
    count += 1;
    const atMs = timeOfKey(counted.key);
    const isNewest = count <= followedNewest || (count <= followedRecent && atMs >= sinceMs);
    if (atMs < range.fromMs || !(isNewest || (isFirst && count <= followedOpen))) break;
    if (isNewest) newest.add(counted.key);
    if (isNewest || outcomeOfStatus(counted.status) === 'open') look(counted);
  }
  for (const [key, { status }] of followed) {
    const counted = tally.find(key);
    if (counted !== undefined) look(counted);
    const isOver = outcomeOfStatus(counted?.status ?? status) !== 'open';
    // If one of the newest were forgotten, it would seem new at the next check.
    if (isOver && !newest.has(key) && followed.size > followedNewest * 2) followed.delete(key);
  }
  return changed;
}

function searchedEvents({ range, statuses }: Meant, reading: Reading): SearchedEvents {
  const chips = Object.fromEntries(chipNames.map((name) => [name, 0])) as Record<ChipName, number>;
  for (const sum of unite(reading.sums).values()) {
    for (const [status, count] of sum.statuses) chips[chipOfStatus(status)] += count;
  }
  return { ...countedEvents(range, reading, statuses), chips };
}

function rowOf(facts: EventFacts): EventFound {
  const { key, event, run, delivery, status } = facts;
  const row = deliveryRow(event, run ?? delivery);
  const result = row.reason === undefined ? resultOf(facts) : undefined;
  const tookMs = tookOf(facts);
  return {
    ...row,
    key,
    status: status === 'retrying' ? status : row.status,
    ...(result === undefined ? {} : { result }),
    ...(row.reason === undefined || delivery === undefined ? {} : { place: placeWords(delivery) }),
    ...defined({ took_ms: tookMs, replay_of: event.replayOf }),
  };
}

/** The beginning of the first line that is more than the start of JSON or of a block of code. */
const firstWords = /^(?!```).*[\p{L}\p{N}]/mu;
/** How much of a response they are looked for in: it may have millions of characters. */
const longestStart = 16_384;

/** In one line: the target and its place, or the first words of the response, or the batch that the event waits in. */
function resultOf({ event, run, delivery, status }: EventFacts): string | undefined {
  if (status === 'coalesced') return event.told?.groupKey === undefined ? undefined : `Batch ${event.told.groupKey}`;
  if (delivery !== undefined && delivery.target !== 'log') return placeWords(delivery);
  const said = (run?.response ?? delivery?.text)?.trim() ?? '';
  const from = firstWords.exec(said.slice(0, longestStart))?.index ?? 0;
  const text = /.*/.exec(said.slice(from, from + longestStart))?.[0].trim();
  return text === '' ? undefined : text;
}
