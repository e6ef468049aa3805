/**
 * The keys of all views: the palette, search, the sheet of keys, the places, the sidebar; and J, K, Enter and Esc in the
 * list of a view without its own.
 * @see INS-2 in docs/specification.md
 */

import { isFieldLost } from '../data/kept-focus.ts';
import { isTyping, keyFor, letters, nameOf } from '../data/keys.ts';
import { go } from '../data/place.ts';
import { viewsNow } from '../views.ts';
import { folded } from './sidebar.tsx';

const placeMs = 1_500;
/** The keys that repeat while they are held. */
const moving = /^[jk]$/;
/** What browsers report for a key that an input method takes. */
const ofInputMethod = 229;

interface Openers {
  readonly palette: () => void;
  readonly sheet: () => void;
}

/** Listens until the returned function is called. */
export function listenToKeys({ palette, sheet }: Openers): () => void {
  /** Until this time, a letter after G chooses a place. */
  let placeUntil = 0;

  function onKeyDown(event: KeyboardEvent): void {
    if (event.defaultPrevented) return;
    const name = nameOf(event);
    if ((event.ctrlKey || event.metaKey) && !event.altKey && name === 'k') {
      event.preventDefault();
      // What is typed in a dialog would be lost at the place that is chosen. Unseen, it would block the way to sign in.
      if (document.querySelector('#main dialog[open], dialog.out') === null) palette();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    // An open dialog handles its keys itself.
    if (document.querySelector('dialog[open]') !== null) return;
    const isLetter = event.key.length === 1;
    if (isLetter && (!letters.get() || isFieldLost())) return;
    // A held key would answer one question after another, and replay an event many times.
    if (event.repeat && !moving.test(name)) return;
    if (act(event)) event.preventDefault();
  }

  function act(event: KeyboardEvent): boolean {
    const key = nameOf(event);
    const isPlace = event.timeStamp < placeUntil;
    placeUntil = 0;
    if (isPlace) {
      const row = viewsNow().find(({ letter }) => letter !== '' && letter === key);
      if (row !== undefined) go(row.name);
      return row !== undefined;
    }
    const own = keyFor(event);
    if (own !== undefined) {
      own.run();
      return true;
    }
    switch (key) {
      case 'g':
        placeUntil = event.timeStamp + placeMs;
        return true;
      case '/':
        return focusSearch();
      case '?':
        sheet();
        return true;
      case '[':
        folded.set(!folded.get());
        return true;
      case 'j':
        return moveInList('ArrowDown');
      case 'k':
        return moveInList('ArrowUp');
      case 'Escape':
        return close();
      default:
        return false;
    }
  }

  /** Enter and Escape also choose and drop a word of Chinese, say, that is being composed. Safari ends that before the key. */
  function leaveToInputMethod(event: KeyboardEvent): void {
    if (event.isComposing || event.keyCode === ofInputMethod) event.stopPropagation();
  }

  addEventListener('keydown', leaveToInputMethod, { capture: true });
  addEventListener('keydown', onKeyDown);
  return () => {
    removeEventListener('keydown', leaveToInputMethod, { capture: true });
    removeEventListener('keydown', onKeyDown);
  };
}

function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('#main :is(input[type=search], search input[type=text])');
  field?.focus();
  field?.select();
  return field !== null;
}

/** Moves in a virtual list by an arrow key, or in a list of links from the focused or open one. */
function moveInList(key: 'ArrowDown' | 'ArrowUp'): boolean {
  const list = document.querySelector<HTMLElement>('#main :is([role=tree], [role=grid], [role=listbox])');
  if (list !== null) {
    list.focus({ preventScroll: true });
    list.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    return true;
  }
  const links = [...document.querySelectorAll<HTMLElement>('#main .list a[href]')];
  const at = links.findIndex((one) => one === document.activeElement || one.matches('[aria-current=true]'));
  const next = links[at + (key === 'ArrowDown' ? 1 : at < 0 ? links.length : -1)];
  next?.focus();
  return next !== undefined;
}

function close(): boolean {
  const back = document.querySelector<HTMLElement>('#main .back');
  back?.click();
  return back !== null;
}
