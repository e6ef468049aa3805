/**
 * The results of an events search, kept current: the first page immediately, older ones on scrolling, news at most four
 * times a second. Results of an earlier search are discarded. A hidden page reads nothing, and searches again once it is
 * visible.
 * @see INS-4 in docs/specification.md
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { EventNews, FoundEvents, SearchedEvents } from '../../../control/contract/events.ts';
import { beforeGap, type EventList, maxHeld, withNews, withOlder } from './event-list.ts';
import { link, onReturn } from './live.ts';
import { call, subscribe, unreachable, wordsOf } from './rpc.ts';

export interface EventsFound {
  readonly counts: SearchedEvents & Pick<FoundEvents, 'oldest_at'>;
  readonly list: EventList;
}

export interface Events {
  /** The result of the last search that succeeded, also while the daemon cannot be reached; undefined before the first one. */
  readonly found: EventsFound | undefined;
  /** Identifies the search of `found`. */
  readonly key: string;
  readonly busy: boolean;
  readonly refused: { readonly why: string; readonly code: string } | undefined;
  older(): void;
  again(): void;
}

/** The last result, shown when the view is opened again while the daemon cannot be reached. */
let last: { readonly key: string; readonly found: EventsFound } | undefined;

const pageRows = 100;
/** Wait before a broken stream is opened, or a lost search made, again. */
const againMs = 2_000;
/** Wait before an incomplete search is continued. */
const continueMs = 250;

export function useEvents(q: string, range: string, isLive: boolean): Events {
  const key = `${range} ${q}`;
  const [state, setState] = useState<Omit<Events, 'older' | 'again'>>({
    found: link.get() !== 'live' && last?.key === key ? last.found : undefined,
    key,
    busy: true,
    refused: undefined,
  });
  const [asked, setAsked] = useState(0);
  const held = useRef<{ key: string; found: EventsFound | undefined; isReading: boolean }>({
    key,
    found: undefined,
    isReading: false,
  });

  useEffect(() => {
    const left = new AbortController();
    const mine = { key, found: undefined as EventsFound | undefined, isReading: false };
    held.current = mine;
    const isOver = (): boolean => left.signal.aborted;
    const show = (found: EventsFound): void => {
      mine.found = found;
      if (isOver()) return;
      last = { key, found };
      setState({ found, key, busy: false, refused: undefined });
    };
    const refuse = (error: unknown): void => {
      if (isOver()) return;
      const refused = wordsOf(error);
      setState((old) => {
        const isShown = old.found !== undefined && old.key === key;
        // The rows stay; without them it still loads, until the daemon is back.
        if (isShown || refused.code === unreachable) return { ...old, busy: !isShown, refused: undefined };
        return { ...old, busy: false, refused };
      });
    };
    /** News that arrived before the first page. */
    const early: EventNews[] = [];
    const hear = (news: EventNews): void => {
      if (mine.found === undefined) {
        early.push(news);
        return;
      }
      const { rows, left_out: leftOut, ...counts } = news;
      const { oldest_at } = mine.found.counts;
      const list = leftOut === undefined ? mine.found.list : beforeGap(mine.found.list, rows);
      show({
        counts: oldest_at === undefined ? counts : { ...counts, oldest_at },
        list: withNews(list, rows, counts.from),
      });
    };

    async function search(): Promise<void> {
      try {
        for (;;) {
          const { rows, cursor, ...counts } = await call('events.search', { q, range, limit: pageRows });
          const page: EventList = cursor === undefined ? { rows } : { rows, cursor };
          const listed = mine.found?.list;
          const isAhead = listed !== undefined && (listed.cursor ?? '') < (cursor ?? '');
          const current = listed === undefined || !isLive ? page : withNews(page, listed.rows, counts.from);
          show({ counts, list: isAhead ? listed : current });
          for (const news of early.splice(0)) hear(news);
          // Of a long history the news complete the counts, but bring no older rows.
          if (isOver() || counts.counted_from === undefined || (isLive && rows.length === pageRows)) return;
          await new Promise((resolve) => setTimeout(resolve, continueMs));
        }
      } catch (error) {
        refuse(error);
        againIf(wordsOf(error).code === unreachable);
      }
    }

    /** While the daemon is away, its return starts it again. */
    function againIf(isLost: boolean): void {
      if (isLost && link.get() === 'live') setTimeout(() => !isOver() && setAsked((times) => times + 1), againMs);
    }

    async function run(): Promise<void> {
      setState((old) => ({ ...old, busy: true }));
      if (!isLive) return search();
      let hasBegun = false;
      try {
        await subscribe(
          'events.follow',
          { q, range },
          {
            signal: left.signal,
            // Changes from now on arrive as news, so no row is missed between the page and the news.
            begun: () => {
              hasBegun = true;
              void search();
            },
            heard: (news) => hear(news as never),
          },
        );
      } catch (error) {
        if (isOver()) return;
        if (!hasBegun) refuse(error);
        againIf(hasBegun || wordsOf(error).code === unreachable);
      }
    }
    const seen = (): void => {
      if (document.hidden) left.abort();
      else setAsked((times) => times + 1);
    };
    // A hidden page reads nothing, and what was shown stays.
    if (!document.hidden) void run();
    document.addEventListener('visibilitychange', seen);
    const forget = onReturn(() => setAsked((times) => times + 1));
    return () => {
      left.abort();
      forget();
      document.removeEventListener('visibilitychange', seen);
    };
  }, [key, isLive, asked]);

  async function readOlder(): Promise<void> {
    const mine = held.current;
    const { found } = mine;
    if (found?.list.cursor === undefined || mine.isReading || found.list.rows.length >= maxHeld) return;
    mine.isReading = true;
    const from = found.list.cursor;
    let isEarlier = false;
    try {
      const { rows, cursor } = await call('events.search', { q, range, limit: pageRows, cursor: from });
      const now = mine.found;
      if (now === undefined || held.current !== mine) return;
      const list = withOlder(now.list, cursor === undefined ? { rows } : { rows, cursor }, from);
      isEarlier = list === undefined;
      if (list === undefined) return;
      mine.found = { ...now, list };
      setState({ found: mine.found, key, busy: false, refused: undefined });
    } catch {
      // The rows stay; reaching their end again reads again.
    } finally {
      mine.isReading = false;
      // The view calls for more only when the length of the list changes, which it did while this page was read.
      if (isEarlier) void readOlder();
    }
  }

  return { ...state, older: () => void readOlder(), again: () => setAsked((times) => times + 1) };
}
