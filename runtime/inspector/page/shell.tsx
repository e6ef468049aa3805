/**
 * What is around every view: the ways between them, how the page is joined to the daemon, the notes. Each view is a place
 * of the hash.
 * @see INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { announce, note } from './data/announce.ts';
import { useCell } from './data/cell.ts';
import { useNow } from './data/clock.ts';
import { spellClock, spellSpan } from './data/format.ts';
import { hashOf, type Place, type View, views } from './data/hash.ts';
import { link, vitals } from './data/live.ts';
import { place } from './data/place.ts';
import { withCode } from './parts/basics.tsx';
import { icons } from './parts/icons.tsx';
import { Approvals } from './views/approvals.tsx';
import { Cron } from './views/cron.tsx';
import { Events } from './views/events.tsx';
import { Now } from './views/now.tsx';
import { Servers } from './views/servers.tsx';
import { Targets } from './views/targets.tsx';

const titles: Readonly<Record<View, string>> = {
  now: 'Now',
  events: 'Events',
  servers: 'Servers',
  approvals: 'Approvals',
  cron: 'Cron',
  targets: 'Targets',
};

export function Shell(): JSX.Element {
  const at = useCell(place);
  const joined = useCell(link);
  const seen = useCell(vitals);
  const waiting = seen?.approvals ?? 0;
  useApprovalNews(seen?.approvals);
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${titles[at.view]} · agent inspector`;
  }, [at.view, waiting]);
  return (
    <>
      <button type="button" class="skip" onClick={toMain}>
        Skip to the content
      </button>
      <header class="top">
        <h1>
          {icons.agent}
          agent <span>inspector</span>
        </h1>
        <nav aria-label="Views">
          <ul>
            {views.map((view) => (
              <li key={view}>
                <a href={hashOf(view)} aria-current={at.view === view ? 'page' : undefined}>
                  {icons[view]}
                  <span class="word">{titles[view]}</span>
                  {view === 'approvals' && waiting > 0 ? (
                    <span class="badge num">
                      {waiting}
                      <span class="unseen"> waiting</span>
                    </span>
                  ) : null}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Pulse />
      </header>
      <main id="main" tabIndex={-1} class={joined}>
        {joined === 'lost' ? <Gone /> : null}
        {joined === 'refused' ? <NoSession /> : <ViewOf place={at} />}
      </main>
      <Notes />
    </>
  );
}

function ViewOf({ place: at }: { readonly place: Place }): JSX.Element {
  switch (at.view) {
    case 'now':
      return <Now place={at} />;
    case 'events':
      return <Events place={at} />;
    case 'servers':
      return <Servers place={at} />;
    case 'approvals':
      return <Approvals place={at} />;
    case 'cron':
      return <Cron />;
    case 'targets':
      return <Targets />;
  }
}

/** Once for all that stands below, which stays to be read. */
function Gone(): JSX.Element {
  const now = useNow();
  return (
    <p class="gone" role="alert">
      The daemon does not answer. What you see is as it was at {spellClock(now, now)}; the page comes back by itself
      once <code>agent gateway</code> runs.
    </p>
  );
}

function NoSession(): JSX.Element {
  return (
    <div class="nothing">
      <p class="title">This page has no session</p>
      <p>
        Run <code>agent inspect --web</code> and open the link that it prints. It works once, in one browser; the
        session lasts 12 hours.
      </p>
    </div>
  );
}

/** Whether the page hears the daemon, and since when that runs. */
function Pulse(): JSX.Element {
  const joined = useCell(link);
  const seen = useCell(vitals);
  const now = useNow();
  const words = {
    connecting: 'connecting…',
    live: seen === undefined ? 'live' : seen.ready ? 'live' : 'not ready',
    lost: 'no daemon',
    refused: 'no session',
  }[joined];
  return (
    <p class={`pulse ${joined}${joined === 'live' && seen?.ready === false ? ' unready' : ''}`}>
      <span class="lamp" aria-hidden="true" />
      <span role="status">{words}</span>
      {joined === 'live' && seen !== undefined ? (
        <span class="muted num">
          {seen.version} · up {spellSpan(now - seen.started)}
        </span>
      ) : null}
    </p>
  );
}

function Notes(): JSX.Element {
  const told = useCell(note);
  return (
    <div class="notes" role="status" aria-live="polite">
      {told === undefined ? null : <p class={told.bad ? 'bad' : ''}>{withCode(told.text)}</p>}
    </div>
  );
}

/** What waited before the page was opened has its badge; what comes since is news. */
function useApprovalNews(waiting: number | undefined): void {
  const before = useRef(waiting);
  useEffect(() => {
    if (waiting === undefined) return;
    if (before.current !== undefined && waiting > before.current && place.get().view !== 'approvals') {
      announce(waiting === 1 ? 'A question waits for you under Approvals.' : `${waiting} questions wait for you.`);
    }
    before.current = waiting;
  }, [waiting]);
}

/** A button, since the hash belongs to the places. */
function toMain(): void {
  document.getElementById('main')?.focus();
}
