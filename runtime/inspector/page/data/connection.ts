/**
 * How the page is joined to the daemon, as a person is told: a gap of two seconds is nobody's business, one of five is told
 * with the time from which nothing was heard.
 * @see INS-2 in docs/specification.md
 */

import { createCell } from './cell.ts';
import { link } from './live.ts';

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'offline' | 'refused';

const quietMs = 2_000;
const offlineMs = 5_000;

export const connection = createCell<Connection>('connecting');
/** Since when nothing was heard, in Unix milliseconds. */
export let silentSince = Date.now();

let timers: ReturnType<typeof setTimeout>[] = [];

function follow(): void {
  const now = link.get();
  if (now === 'lost' || now === 'connecting') {
    if (timers.length > 0) return;
    silentSince = Date.now();
    timers = [
      setTimeout(() => connection.set(link.get() === 'connecting' ? 'connecting' : 'reconnecting'), quietMs),
      setTimeout(() => connection.set('offline'), offlineMs),
    ];
    return;
  }
  for (const timer of timers) clearTimeout(timer);
  timers = [];
  connection.set(now);
}

link.onChange(follow);
follow();
