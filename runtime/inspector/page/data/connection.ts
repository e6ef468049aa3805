/**
 * The connection to the daemon, as shown to a person: a gap is shown after two seconds, and after five with the time of the
 * last data.
 * @see INS-2 in docs/specification.md
 */

import { createCell, useCell } from './cell.ts';
import { heardAtMs, link } from './live.ts';

type Connection = 'connecting' | 'live' | 'reconnecting' | 'offline' | 'full' | 'refused';

const quietMs = 2_000;
const offlineMs = 5_000;

export const connection = createCell<Connection>('connecting');
/** When the daemon last sent something before the connection was lost, in Unix milliseconds. */
export let silentSince = heardAtMs;

/** Whether the page gets no news of the daemon, as a person sees it. */
export function useIsGone(): boolean {
  const joined = useCell(connection);
  return joined === 'offline' || joined === 'reconnecting' || joined === 'full';
}

let timers: ReturnType<typeof setTimeout>[] = [];

function follow(): void {
  const now = link.get();
  if (now === 'lost' || now === 'connecting') {
    if (timers.length > 0) return;
    silentSince = heardAtMs;
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
