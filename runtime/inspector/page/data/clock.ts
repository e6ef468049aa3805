/**
 * The page's seconds: one timer for all ages and countdowns, at rest while the page is hidden, and while the daemon is
 * gone: what is shown then is as old as the last that was heard.
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

/** Unix milliseconds, anew every second. */
export function useNow(): number {
  return useCell(now);
}
