/**
 * The rate windows of the routes: one small counter each, replaced when its minute is over. In memory only: a restart
 * gives every sender a fresh window.
 * @see LIM-2 in docs/specification.md
 */

import type { Route } from '../machines/config/route.ts';
import { type RateWindow, secondsUntilFree, takeSlot } from '../machines/webhook/rate-window.ts';

export interface RateWindows {
  secondsUntilFree(route: Route, nowMs: number): number | undefined;
  take(route: Route, nowMs: number): void;
}

export function createRateWindows(limit: () => number): RateWindows {
  const windows = new Map<string, RateWindow>();
  const nameOf = (route: Route): string => `${route.profile}/${route.name}`;
  return {
    secondsUntilFree: (route, nowMs) => secondsUntilFree(windows.get(nameOf(route)), limit(), nowMs),
    take(route, nowMs) {
      const name = nameOf(route);
      windows.set(name, takeSlot(windows.get(name), nowMs));
    },
  };
}
