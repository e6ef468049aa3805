/**
 * The page's clock: one timer for all ages and countdowns, by the daemon's time, which deadlines refer to. It pauses while
 * the page is hidden or the connection is lost, so that ages show how old the data is.
 * @see TRU-5 and INS-2 in docs/specification.md
 */

import { createCell, useCell } from './cell.ts';
import { heard, link } from './live.ts';

const tickMs = 1_000;
/** A smaller difference between the clocks can be the time that a message takes. */
const leastOffsetMs = 1_000;
let offsetMs = 0;
const now = createCell(Date.now());
/** The day, with which the times of a list get or lose their date. */
export const today = createCell(dayOf(Date.now()));

function tick(): void {
  if (document.hidden || link.get() === 'lost' || link.get() === 'full') return;
  now.set(daemonNow());
  today.set(dayOf(daemonNow()));
}

function dayOf(atMs: number): string {
  return new Date(atMs).toDateString();
}

/** Returns the daemon's time in Unix milliseconds. */
export function daemonNow(): number {
  return Date.now() + offsetMs;
}

function adjust(): void {
  const apart = (heard.get()?.at ?? Date.now()) - Date.now();
  // Kept while it is about right, so that the clock does not jump with each message.
  if (Math.abs(apart - offsetMs) >= leastOffsetMs) offsetMs = Math.abs(apart) < leastOffsetMs ? 0 : apart;
}

heard.onChange(adjust);
adjust();

setInterval(tick, tickMs);
document.addEventListener('visibilitychange', tick);
link.onChange(tick);

/** Returns the daemon's time in Unix milliseconds, updated every second. */
export function useNow(): number {
  return useCell(now);
}
