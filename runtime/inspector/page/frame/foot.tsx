/** Whether the page hears the daemon; the daemon's version, and since when it runs. */

import type { JSX } from 'preact';
import { useCell } from '../data/cell.ts';
import { useNow } from '../data/clock.ts';
import { connection } from '../data/connection.ts';
import { spellSpan } from '../data/format.ts';
import { vitals } from '../data/live.ts';

export function Foot(): JSX.Element {
  const joined = useCell(connection);
  const seen = useCell(vitals);
  const now = useNow();
  const isUnready = joined === 'live' && seen?.ready === false;
  const words = {
    connecting: 'Connecting…',
    live: isUnready ? 'Not ready' : 'Live',
    reconnecting: 'Reconnecting…',
    offline: 'Offline',
    refused: 'No session',
  }[joined];
  return (
    <div class="foot">
      <div class="row">
        <span class={`lamp ${isUnready ? 'unready' : joined}`} />
        <span role="status">{words}</span>
        {joined === 'live' && seen !== undefined ? (
          <span class="muted num push">
            {seen.version} · up {spellSpan(now - seen.started)}
          </span>
        ) : null}
      </div>
    </div>
  );
}
