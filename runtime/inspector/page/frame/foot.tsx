/** The connection to the daemon, its version and uptime; who has signed in, and how to sign out. */

import type { JSX } from 'preact';
import { announce } from '../data/announce.ts';
import { useCell } from '../data/cell.ts';
import { useNow } from '../data/clock.ts';
import { useCommands } from '../data/commands.ts';
import { connection } from '../data/connection.ts';
import { formatSpan } from '../data/format.ts';
import { health } from '../data/live.ts';
import { guest, signOut } from '../data/session.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icons.tsx';

export function Foot(): JSX.Element {
  const joined = useCell(connection);
  const seen = useCell(health);
  const now = useNow();
  const who = useCell(guest);
  const isUnready = joined === 'live' && seen?.ready === false;
  const words = {
    connecting: 'Connecting…',
    live: isUnready ? 'Not ready' : 'Live',
    reconnecting: 'Reconnecting…',
    offline: 'Offline',
    full: 'Too many pages',
    refused: 'No session',
  }[joined];
  return (
    <div class="foot">
      <div class="row">
        <span class={`lamp ${isUnready ? 'unready' : joined}`} />
        <span role="status">{words}</span>
        {joined === 'live' && seen !== undefined ? (
          <span class="muted num push">
            {seen.version} · up {formatSpan(now - seen.started)}
          </span>
        ) : null}
      </div>
      {who === undefined || (who.who === 'owner' && who.role === undefined && !who.isByPassword) ? null : (
        <div class="row user muted">
          <Icon name="person" small />
          <span class="cut">{who.role === 'reader' ? `${who.who} · read-only access` : who.who}</span>
          {who.isByPassword ? (
            <Button class="quiet push" onClick={leave} disabled={joined !== 'live'}>
              Sign out
            </Button>
          ) : null}
        </div>
      )}
    </div>
  );
}

/** Only a user with a password can sign out; a session from a link could be resumed only by another link. */
export function useSignOut(): void {
  const isByPassword = useCell(guest)?.isByPassword === true;
  useCommands('actions', isByPassword ? [{ label: 'Sign out', icon: 'leave', run: leave }] : []);
}

function leave(): void {
  signOut().catch(() => announce('Not signed out: the daemon does not answer. Press “Sign out” again.', true));
}
