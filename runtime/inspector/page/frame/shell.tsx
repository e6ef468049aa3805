/**
 * What is around every view: the ways between them, how the page is joined to the daemon, the toasts. Each view is a place
 * of the hash, and a row of the table.
 * @see INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { announce } from '../data/announce.ts';
import { useCell } from '../data/cell.ts';
import { useNow } from '../data/clock.ts';
import { spellClock } from '../data/format.ts';
import { link, vitals } from '../data/live.ts';
import { go, place } from '../data/place.ts';
import { Banner } from '../parts/panel.tsx';
import { rowOf } from '../views.ts';
import { folded, Sidebar, TabBar } from './sidebar.tsx';
import { Toast } from './toast.tsx';

export function Shell(): JSX.Element {
  const at = useCell(place);
  const joined = useCell(link);
  const waiting = useCell(vitals)?.approvals ?? 0;
  const isFolded = useCell(folded);
  const row = rowOf(at.view);
  const { component: View } = row;
  useApprovalNews();
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${row.title} · agent inspector`;
  }, [row, waiting]);
  return (
    <>
      <button type="button" class="skip" onClick={toMain}>
        Skip to the content
      </button>
      <div class={isFolded ? 'app rail' : 'app'}>
        <Sidebar at={row.name} onFind={() => undefined} />
        <main class="main" id="main" tabIndex={-1}>
          {joined === 'lost' ? <Gone /> : null}
          {joined === 'refused' || View === undefined ? <NoSession /> : <View key={row.name} place={at} />}
        </main>
        <TabBar at={row.name} />
      </div>
      <Toast />
    </>
  );
}

/** Once for all that stands below, which stays to be read. */
function Gone(): JSX.Element {
  const now = useNow();
  return (
    <Banner mark="failed" alert>
      The daemon does not answer. What you see is as it was at {spellClock(now, now)}; the page comes back by itself
      once <code>agent gateway</code> runs.
    </Banner>
  );
}

function NoSession(): JSX.Element {
  return (
    <div class="empty">
      <p class="strong">This page has no session</p>
      <p class="muted">
        Run <code>agent inspect --web</code> and open the link that it prints. It works once, in one browser; the
        session lasts 12 hours.
      </p>
    </div>
  );
}

/** What waited before the page was opened has its count; what comes since is news. */
function useApprovalNews(): void {
  const waiting = useCell(vitals)?.approvals;
  const before = useRef(waiting);
  useEffect(() => {
    if (waiting === undefined) return;
    if (before.current !== undefined && waiting > before.current && place.get().view !== 'approvals') {
      const words = waiting === 1 ? 'A question waits for you.' : `${waiting} questions wait for you.`;
      announce(words, false, { label: 'Review', run: () => go('approvals') });
    }
    before.current = waiting;
  }, [waiting]);
}

/** A button, since the hash belongs to the places. */
function toMain(): void {
  document.getElementById('main')?.focus();
}
