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
import { health, heard } from '../data/live.ts';
import { useNotices } from '../data/notices.ts';
import { go, place } from '../data/place.ts';
import { guest } from '../data/session.ts';
import { useMedia } from '../data/use-media.ts';
import { Button } from '../parts/button.tsx';
import { openDialogs, Toast } from '../parts/toast.tsx';
import { rowOf } from '../views.ts';
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
    const report = (): void => {
      const waiting = heard.get()?.approvals ?? 0;
      document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${sentenceCase(row.name)} · agent inspector`;
    };
    report();
    // Also while the page is hidden, when only its title is visible.
    return heard.onChange(report);
  }, [row]);
  useEffect(() => listenToKeys({ palette: () => setOpened('palette'), sheet: () => setOpened('sheet') }), []);
  useEffect(ignoreDoubleClicks, []);
  const close = (): void => setOpened('');
  const { isOut, keeps, owner } = useTyped(joined === 'refused');
  return (
    <>
      {isOut ? <NoSession had={had.current} keeps={keeps} /> : null}
      {isOut && !keeps ? null : (
        <div key={owner} hidden={isOut}>
          <Button class="skip" onClick={toMain}>
            Skip to the content
          </Button>
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
        </div>
      )}
    </>
  );
}

/** What a person types into; a search is in the address. */
const fields = '#main :is(textarea, input:not([type=search], [type=checkbox], [type=radio], search *))';

/**
 * Returns whether the session is over, and whether the page stays behind the way to sign in, unseen, because something is
 * typed in it. Its `owner` changes with the person: that page begins anew, also where no session has ended in this tab,
 * because another person's link was opened in another one.
 */
function useTyped(isOut: boolean): { readonly isOut: boolean; readonly keeps: boolean; readonly owner: number } {
  const typed = useRef(new WeakSet<EventTarget>());
  const keeps = useRef<boolean | undefined>(undefined);
  const focused = useRef<Element | null>(null);
  const who = useCell(guest)?.who;
  const owner = useRef({ who, turn: 0 });
  const { who: before, turn } = owner.current;
  if (who !== before) owner.current = { who, turn: before === undefined ? turn : turn + 1 };
  if (isOut && keeps.current === undefined) {
    keeps.current = [...document.querySelectorAll(fields)].some((one) => typed.current.has(one));
    focused.current = document.activeElement;
  } else if (!isOut) keeps.current = undefined;
  useEffect(() => {
    if (!isOut && focused.current instanceof HTMLElement) focused.current.focus();
  }, [isOut]);
  useEffect(() => {
    const note = ({ target }: Event): void => {
      if (target !== null) typed.current.add(target);
    };
    addEventListener('input', note, { capture: true });
    return () => removeEventListener('input', note, { capture: true });
  }, []);
  return { isOut, keeps: keeps.current === true, owner: owner.current.turn };
}

/** Announces new questions; those from before the page was opened are only counted. */
function useApprovalNews(): void {
  const waiting = useCell(health)?.approvals;
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

/**
 * Takes a double click on a button for one click, until the returned function is called. By the second, the first may have
 * been answered, and the button works again: a job would be fired, a tool called or an event replayed twice.
 */
function ignoreDoubleClicks(): () => void {
  const onClick = (event: MouseEvent): void => {
    // A click by a key has no number.
    if (event.detail < 2 || !(event.target instanceof Element) || event.target.closest('button.btn') === null) return;
    event.preventDefault();
    event.stopPropagation();
  };
  addEventListener('click', onClick, { capture: true });
  return () => removeEventListener('click', onClick, { capture: true });
}

/** For a button instead of a link, because the hash is the place. */
function toMain(): void {
  document.getElementById('main')?.focus();
}
