/** Whether the page hears the daemon; the daemon's version, and since when it runs. */

import type { JSX } from 'preact';
import { useCell } from '../data/cell.ts';
import { useNow } from '../data/clock.ts';
import { connection } from '../data/connection.ts';
import { spellSpan } from '../data/format.ts';
import { vitals } from '../data/live.ts';
import { guest } from '../data/session.ts';
import { Icon } from '../parts/icons.tsx';

export function Foot(): JSX.Element {
  const joined = useCell(connection);
  const seen = useCell(vitals);
  const now = useNow();
  const who = useCell(guest);
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
      {who === undefined || (who.who === 'owner' && who.role === undefined) ? null : (
        <div class="row muted">
          <Icon name="person" small />
          <span>{who.role === 'reader' ? `${who.who} · read-only access` : who.who}</span>
        </div>
      )}
    </div>
  );
}
