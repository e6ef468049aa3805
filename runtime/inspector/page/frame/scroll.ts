/**
 * Restores the scroll position of each place: of a list by its view, of what is opened by its own address. Tries again for
 * a moment, for content that is drawn later.
 * @see INS-2 in docs/specification.md
 */

import { useEffect } from 'preact/hooks';
import type { Place } from '../data/hash.ts';

const scrollers = '.body, .virtual, .rows, .scrolls, .list, .pane';
const triesMs = [0, 80, 300, 900];

const tops = new Map<string, number>();
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
  useEffect(() => {
    here = chosen === '' ? view : `${view}/${chosen}`;
    const wanted = new Map(tops);
    const timers = triesMs.map((ms) =>
      setTimeout(() => {
        for (const one of document.querySelectorAll(`#main :is(${scrollers})`)) {
          const top = wanted.get(keyOf(one)) ?? 0;
          if (top > 0 && one.scrollTop === 0) one.scrollTop = top;
        }
      }, ms),
    );
    return () => {
      for (const timer of timers) clearTimeout(timer);
    };
  }, [view, chosen]);
}
