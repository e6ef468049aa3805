/** The page's seconds: one timer for all ages and countdowns, at rest while the page is hidden. */

import { createCell, useCell } from './cell.ts';

const tickMs = 1_000;
const now = createCell(Date.now());

setInterval(() => {
  if (!document.hidden) now.set(Date.now());
}, tickMs);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) now.set(Date.now());
});

/** Unix milliseconds, anew every second. */
export function useNow(): number {
  return useCell(now);
}
