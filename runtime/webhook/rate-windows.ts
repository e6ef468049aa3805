/**
 * The rate windows of the routes: one small counter each, replaced when its minute is over. In memory only: a restart
 * resets every window.
 * @see LIM-2 in docs/specification.md
 */

import { LRUCache } from 'lru-cache';
import type { Route } from '../../machines/config/route.ts';
import { type RateWindow, secondsUntilFree, takeSlot } from '../../machines/webhook/rate-window.ts';

/** A window that is evicted after so many others has expired long ago. */
const maxWindows = 100_000;

export function createRateWindows(limit: (nowMs: number) => number) {
  let made: LRUCache<string, RateWindow> | undefined;
  /** The cache allocates all of its memory at once, so it is created at the first request, not at the start. */
  const windowsOf = (): LRUCache<string, RateWindow> => {
    made ??= new LRUCache({ max: maxWindows });
    return made;
  };
  /** Each name is built once: a new string would be hashed three times per request. */
  const names = new WeakMap<Route, string>();
  const nameOf = (route: Route): string => {
    const known = names.get(route);
    if (known !== undefined) return known;
    const name = `${route.profile}/${route.name}`;
    names.set(route, name);
    return name;
  };
  return {
    secondsUntilFree: (route: Route, nowMs: number): number | undefined =>
      secondsUntilFree(made?.get(nameOf(route)), limit(nowMs), nowMs),
    take(route: Route, nowMs: number): void {
      const name = nameOf(route);
      const windows = windowsOf();
      windows.set(name, takeSlot(windows.get(name), nowMs));
    },
  };
}
