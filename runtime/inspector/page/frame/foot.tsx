/** Whether the page hears the daemon; the daemon's version, and since when it runs. */

import type { JSX } from 'preact';
import { useCell } from '../data/cell.ts';
import { useNow } from '../data/clock.ts';
import { spellSpan } from '../data/format.ts';
import { link, vitals } from '../data/live.ts';

export function Foot(): JSX.Element {
  const joined = useCell(link);
  const seen = useCell(vitals);
  const now = useNow();
  const words = {
    connecting: 'Connecting…',
    live: seen?.ready === false ? 'Not ready' : 'Live',
    lost: 'Offline',
    refused: 'No session',
  }[joined];
  return (
    <div class="foot">
      <div class="row">
        <span class={`lamp ${joined}${joined === 'live' && seen?.ready === false ? ' unready' : ''}`} />
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
