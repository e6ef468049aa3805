/**
 * The frame around every view: navigation, connection, toasts. Each view is a place in the hash and a row of the table.
 * @see INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { announce, note } from '../data/announce.ts';
import { useCell } from '../data/cell.ts';
import { connection, useIsGone } from '../data/connection.ts';
import { sentenceCase } from '../data/format.ts';
import { useKeptFocus, useMovedFocus } from '../data/kept-focus.ts';
import { heard, vitals } from '../data/live.ts';
import { useNotices } from '../data/notices.ts';
import { go, place } from '../data/place.ts';
import { useMedia } from '../data/use-media.ts';
import { openDialogs, Toast } from '../parts/toast.tsx';
import { rowOf } from '../views.ts';
import { ignoreDoubleClicks } from './double-clicks.ts';
import { useSignOut } from './foot.tsx';
import { listenToKeys } from './global-keys.ts';
import { KeySheet } from './key-sheet.tsx';
import { Palette } from './palette.tsx';
import { useProfileCommands } from './profiles.tsx';
import { useKeptScroll } from './scroll.ts';
import { folded, Sidebar, TabBar } from './sidebar.tsx';
import { Banners, NoSession } from './states.tsx';

export function Shell(): JSX.Element {
  const at = useCell(place);
  const joined = useCell(connection);
  const [opened, setOpened] = useState<'' | 'palette' | 'sheet'>('');
  const isFolded = useCell(folded);
  const isRail = useMedia('(max-width: 1100px)') || isFolded;
  const had = useRef(false);
  const isGone = useIsGone();
  const isBelow = useCell(openDialogs) > 0;
  const row = rowOf(at.view);
  const { component: View } = row;
  if (joined === 'live') had.current = true;
  useApprovalNews();
  useNotices();
  useSignOut();
  useProfileCommands();
  useKeptScroll(at);
  useKeptFocus();
  useMovedFocus(at);
  useEffect(() => {
    const tell = (): void => {
      const waiting = heard.get()?.approvals ?? 0;
      document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${sentenceCase(row.name)} · agent inspector`;
    };
    tell();
    // Also while the page is hidden, when only its title is visible.
    return heard.onChange(tell);
  }, [row]);
  useEffect(() => listenToKeys({ palette: () => setOpened('palette'), sheet: () => setOpened('sheet') }), []);
  useEffect(ignoreDoubleClicks, []);
  const close = (): void => setOpened('');
  if (joined === 'refused') return <NoSession had={had.current} />;
  return (
    <>
      <button type="button" class="btn skip" onClick={toMain}>
        Skip to the content
      </button>
      <div class={isRail ? 'app rail' : 'app'}>
        <Sidebar at={row.name} onFind={() => setOpened('palette')} />
        <main class={isGone ? 'main lost' : 'main'} id="main" tabIndex={-1} aria-label={sentenceCase(row.name)}>
          <Banners />
          <fieldset class="acts" disabled={isGone && !isBelow} role="none">
            <View key={row.name} place={at} />
          </fieldset>
        </main>
        <TabBar at={row.name} />
      </div>
      {opened === 'palette' ? <Palette onClose={close} onSheet={() => setOpened('sheet')} /> : null}
      {opened === 'sheet' ? <KeySheet onClose={close} /> : null}
      <Toast />
    </>
  );
}

/** Announces new questions; those from before the page was opened are only counted. */
function useApprovalNews(): void {
  const waiting = useCell(vitals)?.approvals;
  const before = useRef(waiting);
  useEffect(() => {
    if (waiting === undefined) return;
    const isNew = before.current !== undefined && waiting > before.current && place.get().view !== 'approvals';
    // An error stays until a person has closed it.
    if (isNew && note.get()?.bad !== true) {
      const words = waiting === 1 ? 'A question waits for you.' : `${waiting} questions wait for you.`;
      announce(words, false, { label: 'Review', run: () => go('approvals') });
    }
    before.current = waiting;
  }, [waiting]);
}

/** For a button instead of a link, because the hash is the place. */
function toMain(): void {
  document.getElementById('main')?.focus();
}
