/**
 * The page's clock: one timer for all ages and countdowns. It pauses while the page is hidden or the connection is lost, so
 * that ages show how old the data is.
 */

import { createCell, useCell } from './cell.ts';
import { link } from './live.ts';

const tickMs = 1_000;
const now = createCell(Date.now());

function tick(): void {
  if (!document.hidden && link.get() !== 'lost') now.set(Date.now());
}

setInterval(tick, tickMs);
document.addEventListener('visibilitychange', tick);
link.onChange(tick);

/** Returns Unix milliseconds, updated every second. */
export function useNow(): number {
  return useCell(now);
}
