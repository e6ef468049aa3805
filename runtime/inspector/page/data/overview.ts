/**
 * The overview from the daemon: watched while its view is drawn, visible and connected, and kept in the meantime.
 * @see INS-4 in docs/specification.md
 */

import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Notices, Params } from '../../../control/contract.ts';
import { link } from './live.ts';
import { type Kept, subscribe, unreachable, wordsOf } from './rpc.ts';

export type Overview = Notices['overview.changed'];
export type Range = NonNullable<Params<'overview.watch'>['range']>;

/** Wait before a stream that could not be opened, or has ended, is opened again. */
const againMs = 2_000;

/** The last overviews by key, shown again while the daemon cannot be reached. */
const remembered = new Map<string, Asked>();

type Asked = Kept<Overview>['asked'];

export function useOverview(range: Range, profile: string | undefined): Kept<Overview> {
  const key = `${range} ${profile ?? ''}`;
  const none = { key, asked: { kind: 'waiting' }, failed: '' } as const;
  const [state, setState] = useState<{ readonly key: string; readonly asked: Asked; readonly failed: string }>(none);
  const [turn, setTurn] = useState(0);
  const again = useCallback(async () => setTurn((before) => before + 1), []);
  useEffect(() => {
    let leaving: AbortController | undefined;
    let isOver = false;
    const leave = (): void => {
      leaving?.abort();
      leaving = undefined;
    };
    const watch = (): void => {
      if (isOver || leaving !== undefined || document.hidden || link.get() !== 'live') return;
      const mine = new AbortController();
      leaving = mine;
      const heard = (overview: object): void => {
        if (mine.signal.aborted) return;
        const asked = { kind: 'there', value: overview as Overview } as const;
        remembered.set(key, asked);
        setState({ key, asked, failed: '' });
      };
      const choice = { range, ...(profile === undefined ? {} : { profile }) };
      let hasBegun = false;
      const begun = (): void => {
        hasBegun = true;
      };
      void subscribe('overview.watch', choice, { signal: mine.signal, begun, heard }).catch((error: unknown) => {
        if (mine.signal.aborted) return;
        leaving = undefined;
        const refused = { kind: 'refused', ...wordsOf(error) } as const;
        const isRetried = hasBegun || refused.code === unreachable;
        if (isRetried) setTimeout(look, againMs);
        // The last overview stays, with the reason if no newer one will come.
        const last = remembered.get(key);
        setState({ key, asked: last ?? refused, failed: last === undefined || isRetried ? '' : refused.why });
      });
    };
    const look = (): void => {
      if (!document.hidden && link.get() === 'live') {
        watch();
        return;
      }
      leave();
      const last = remembered.get(key);
      if (last !== undefined) setState({ key, asked: last, failed: '' });
    };
    look();
    const forget = link.onChange(look);
    document.addEventListener('visibilitychange', look);
    return () => {
      isOver = true;
      forget();
      document.removeEventListener('visibilitychange', look);
      leave();
    };
  }, [key, turn]);
  return { ...(state.key === key ? state : none), again };
}
