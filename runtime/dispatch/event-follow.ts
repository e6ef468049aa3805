/**
 * Follows the events that match a search: checks for changes while somebody listens. Followers of one search share the work.
 * @see INS-4 in docs/specification.md
 */

import { setTimeout as pause } from 'node:timers/promises';
import { outcomeOfStatus } from '../../machines/base/event-outcome.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { TimeRange } from '../../machines/base/time-range.ts';
import type { EventFound, EventNews, EventSearch, SearchedEvents } from '../control/contract/events.ts';
import { timeOfKey } from '../system/ids.ts';
import type { EventTest } from './event-facts.ts';
import type { Reading } from './event-stats.ts';
import type { CountedEvent } from './event-sums.ts';
import type { FoundEvent } from './find-event.ts';

export interface FollowEvents {
  /** Calls back with changes, at most four times a second, until the signal aborts. Resolves with the present counts. */
  follow(asked: EventSearch, heard: (news: EventNews) => void, signal: AbortSignal): Promise<EventNews>;
}

/** What a search means now: its range may end at the present time. */
export interface Meant {
  readonly range: TimeRange;
  readonly test: EventTest;
  readonly statuses: ReadonlySet<string> | undefined;
}

interface FollowPorts {
  readonly meantBy: (asked: EventSearch) => Promise<Meant>;
  readonly read: (meant: Meant) => Promise<Reading>;
  /** The rows of the events with these keys, of which some are refused requests. */
  readonly rowsOf: (keys: readonly string[], refused: readonly FoundEvent[]) => Promise<readonly EventFound[]>;
  readonly searchedEvents: (meant: Meant, reading: Reading) => SearchedEvents;
  readonly nowMs: () => number;
}

interface Followed {
  readonly listeners: Set<(news: EventNews) => void>;
  /** Aborted when the last listener has left. */
  readonly left: AbortController;
  readonly counts: Promise<() => SearchedEvents>;
}

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
const maxNews = 500;

export function createFollowEvents({ meantBy, read, rowsOf, searchedEvents, nowMs }: FollowPorts): FollowEvents {
  const followed = new Map<string, Followed>();

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
    const first = await read(meant);
    const seen = new Map<string, CountedEvent>();
    changesOf(first, meant, seen, { sinceMs, isFirst: true });
    let refused = countsOf(first.refused);
    let counts = searchedEvents(meant, first);
    let last = JSON.stringify(counts);
    const look = async (): Promise<void> => {
      // The range "the last hour" moves.
      const now = await meantBy(asked);
      const beganMs = nowMs();
      const reading = await read(now);
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
      const rows = await rowsOf(keys.slice(0, maxNews), turnedAway);
      const leftOut = keys.length > maxNews ? { left_out: keys.length - maxNews } : {};
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
    async follow(asked, heard, signal) {
      const name = JSON.stringify([asked.q, asked.range]);
      const one = getOrMake(followed, name, () => begin(asked));
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

export function hasStatus({ statuses }: Pick<Meant, 'statuses'>, { status }: { readonly status: string }): boolean {
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
