/**
 * Searches the history: rows newest first, and counts over the complete range. A search that takes too long stops at a
 * time that the answer contains; the next request continues it.
 * @see INS-4, DUR-2 and CLI-6 in docs/specification.md
 */

import { type ChipName, chipNames, chipOfStatus, readQuery, statusesOf } from '../../machines/base/event-query.ts';
import { cut, defined } from '../../machines/base/json.ts';
import { readRange } from '../../machines/base/time-range.ts';
import { placeWords } from '../../machines/config/targets.ts';
import { isPassing, statusMark } from '../../machines/webhook/marks.ts';
import { eventSummary } from '../../machines/webhook/record.ts';
import type { EventFound, EventSearch, FoundEvents, SearchedEvents } from '../control/contract/events.ts';
import { Refusal } from '../control/contract/refusal.ts';
import { timeKey, timeOfKey } from '../system/ids.ts';
import { type EventFacts, type FactsPorts, factsOf, testOf, tookOf } from './event-facts.ts';
import { createFollowEvents, type FollowEvents, hasStatus, type Meant } from './event-follow.ts';
import { countedEvents, type EventStats, factsOfRefused, type Reading } from './event-stats.ts';
import { unite } from './event-sums.ts';
import { alikeOf, type FoundEvent } from './find-event.ts';
import { type JournalQuery, listsOf } from './newest-first.ts';
import { type AskedQuestion, questionOf, waitingWords } from './run-history.ts';

interface EventSearchPorts extends FactsPorts {
  readonly stats: EventStats;
  /** The open questions of a run, oldest first. */
  readonly workOf: (run: string) => { readonly questions: readonly AskedQuestion[] };
  readonly redact: <Given extends object>(record: Given) => Given;
  readonly nowMs: () => number;
}

export interface SearchEvents extends FollowEvents {
  search(asked: EventSearch & { readonly cursor?: string; readonly limit: number }): Promise<FoundEvents>;
}

/** How long one answer reads the journal. */
const maxMs = 1_000;
const maxResultLength = 200;

interface Page {
  readonly cursor: string | undefined;
  readonly limit: number;
}

export function createSearchEvents(ports: EventSearchPorts): SearchEvents {
  const { stats, journal, nowMs } = ports;

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
    const question: JournalQuery<'events'> = {
      collection: 'events',
      limit: Number.POSITIVE_INFINITY,
      before: cursor !== undefined && cursor < end ? cursor : end,
      from: timeKey(reachedMs),
      marks: statuses && [...statuses].filter((one) => !isPassing(one)).map((one) => [statusMark(one)]),
    };
    const endMs = nowMs() + maxMs;
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
    return clean.result === undefined ? clean : { ...clean, result: cut(clean.result, maxResultLength) };
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

  return {
    async search({ cursor, limit, ...asked }) {
      const meant = await meantBy(asked);
      const reading = await stats.read(meant.range, meant.test, maxMs);
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

    ...createFollowEvents({
      meantBy,
      read: ({ range, test }) => stats.read(range, test, maxMs),
      rowsOf,
      searchedEvents,
      nowMs,
    }),
  };
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
  const row = eventSummary(event, run ?? delivery);
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
const maxStartLength = 16_384;

/** In one line: the target and its place, or the first words of the response, or the batch that the event waits in. */
function resultOf({ event, run, delivery, status }: EventFacts): string | undefined {
  if (status === 'coalesced') return event.told?.groupKey === undefined ? undefined : `Batch ${event.told.groupKey}`;
  if (delivery !== undefined && delivery.target !== 'log') return placeWords(delivery);
  const said = (run?.response ?? delivery?.text)?.trim() ?? '';
  const from = firstWords.exec(said.slice(0, maxStartLength))?.index ?? 0;
  const text = /.*/.exec(said.slice(from, from + maxStartLength))?.[0].trim();
  return text === '' ? undefined : text;
}
