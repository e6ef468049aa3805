/**
 * Limits a route's concurrent runs over all gateways of a shared journal by a fixed number of locks. Waiting runs try
 * again when any gateway releases one.
 * @see DIS-3 and SCA-1 in docs/specification.md
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { PlaceRequest } from '../../actors/dispatch/places.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { releaseLock, takeLock } from '../../actors/store/shared-claims.ts';

export interface RouteSlots {
  /** The slot that a run of a route needs. A limit that has changed since applies; a removed route keeps `bound`. */
  of(
    route: { readonly profile: string; readonly route: string; readonly bound: number },
    run: string,
  ): PlaceRequest['slot'];
  stop(): void;
}

/** A notification of a released slot may be missed. */
const askAgainMs = 1_000;
/** Each gateway tries at a random moment within this time, so that the releasing one does not always win. */
const fairMs = 20;

/** The present limit of a route's runs: infinite if it has none; undefined if the route was removed. */
export type RouteLimit = (profile: string, route: string) => number | undefined;

export function createRouteSlots(
  keeper: JournalKeeper,
  limitOf: RouteLimit,
  random: () => number = Math.random,
): RouteSlots {
  const waiting = new Set<() => void>();
  const stopHearing = keeper.heard((news) => {
    if (news !== 'work') return;
    for (const ask of waiting) ask();
  });

  function news(): Promise<void> {
    return new Promise((resolve) => {
      const heard = (): void => {
        clearTimeout(timer);
        waiting.delete(heard);
        resolve();
      };
      const timer = setTimeout(heard, askAgainMs).unref();
      waiting.add(heard);
    });
  }

  async function giveBack(lock: string, holder: string): Promise<void> {
    while (!(await releaseLock(keeper, lock, holder))) await sleep(askAgainMs, undefined, { ref: false });
  }

  return {
    of:
      ({ profile, route, bound }, run) =>
      async (isWithdrawn) => {
        for (;;) {
          await sleep(random() * fairMs, undefined, { ref: false });
          const max = limitOf(profile, route) ?? bound;
          if (max === Number.POSITIVE_INFINITY) return () => {};
          for (let nth = 0; nth < max && !isWithdrawn(); nth += 1) {
            const lock = `slot/${profile}/${route}/${nth}`;
            // After a failed read it is tried again.
            const holder = await takeLock(keeper, lock, run).catch(() => undefined);
            if (holder !== undefined) return () => void giveBack(lock, holder);
          }
          if (isWithdrawn()) return undefined;
          await news();
        }
      },
    stop: stopHearing,
  };
}
