/**
 * Restores the scroll position of each place: of a list by its view, of what is opened by its own address; the row of what
 * is opened is brought into sight. Tries again for a moment, for content that is drawn later.
 * @see INS-2 in docs/specification.md
 */

import { useEffect, useLayoutEffect } from 'preact/hooks';
import type { Place } from '../data/hash.ts';

const scrollers = '.body, .virtual, .rows, .scrolls, .list, .pane';
const triesMs = [0, 80, 300, 900];

const tops = new Map<string, number>();
/** What was opened last in each view. */
const lastOpened = new Map<string, string>();
let here = '';

function keyOf(one: Element): string {
  const kind = one.matches('.body, .pane') ? here : here.split('/')[0];
  return `${kind} ${one.className.split(' ')[0]}`;
}

function keep({ target }: Event): void {
  if (target instanceof Element && target.matches(scrollers)) tops.set(keyOf(target), target.scrollTop);
}

export function useKeptScroll({ view, chosen }: Place): void {
  useEffect(() => {
    addEventListener('scroll', keep, { capture: true, passive: true });
    return () => removeEventListener('scroll', keep, { capture: true });
  }, []);
  useLayoutEffect(() => {
    const before = here;
    here = chosen === '' ? view : `${view}/${chosen}`;
    const wanted = new Map(tops);
    /** How far each got at the last try. */
    const reached = new Map<Element, number>();
    const isNew = chosen !== '' && lastOpened.get(view) !== openedAt(here);
    lastOpened.set(view, openedAt(here));
    /** The lists whose opened row has been brought into sight. */
    const shown = new Set<Element>();
    const scroll = (one: Element, top: number): void => {
      one.scrollTop = top;
      reached.set(one, one.scrollTop);
    };
    // The pane is the same element, scrolled as what was opened before.
    if (openedAt(before) !== openedAt(here))
      for (const pane of document.querySelectorAll('#main .pane')) scroll(pane, wanted.get(keyOf(pane)) ?? 0);
    const timers = triesMs.map((ms) =>
      setTimeout(() => {
        for (const one of document.querySelectorAll(`#main :is(${scrollers})`)) {
          const top = wanted.get(keyOf(one)) ?? 0;
          if (top > one.scrollTop && one.scrollTop === (reached.get(one) ?? 0)) scroll(one, top);
          // What a link opens may be far down in its list.
          const row = one.querySelector('.li[aria-current="true"]');
          if (!isNew || row === null || shown.has(one) || one.scrollTop < top) continue;
          shown.add(one);
          row.scrollIntoView({ block: 'nearest' });
        }
      }, ms),
    );
    return () => {
      for (const timer of timers) clearTimeout(timer);
    };
  }, [view, chosen]);
}

/** Returns what is opened at a place; a server is the same with each of its tabs. */
function openedAt(place: string): string {
  return place.startsWith('servers/') ? place.split('/').slice(0, 3).join('/') : place;
}
