/**
 * Keeps the focus where it is: the browser takes it from a control that is disabled, as all are while the daemon does not
 * answer, and a button is while its request is under way; and from what is removed or hidden when a person goes to another
 * place.
 * @see INS-2 in docs/specification.md
 */

import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Place } from './hash.ts';
import { isTyping } from './keys.ts';

/** What had the focus when it was disabled. */
let lost: HTMLElement | undefined;
/** The row that got the focus from what was closed. If that was removed, the row is too, once the list is read again. */
let closed: HTMLElement | undefined;

/** Returns whether letters are meant for a field that takes none now; as keys they would act or lead away. */
export function isFieldLost(): boolean {
  return lost?.isConnected === true && isTyping(lost) && document.activeElement === document.body;
}

/**
 * Gives the focus back to a control that is enabled again, and to the content if the row of what was closed is removed,
 * unless something else has it.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    const moved = ({ type, target }: FocusEvent): void => {
      const isLost = type === 'focusout' && target instanceof HTMLElement && target.matches(':disabled');
      lost = isLost ? target : undefined;
      if (type === 'focusin') closed = undefined;
    };
    const changed = new MutationObserver(() => {
      if (document.activeElement !== document.body) return;
      if (lost?.matches(':disabled') === false) lost.focus({ preventScroll: true });
      if (closed?.isConnected === false) document.getElementById('main')?.focus({ preventScroll: true });
    });
    for (const type of ['focusin', 'focusout'] as const) addEventListener(type, moved);
    changed.observe(document.body, { subtree: true, childList: true, attributeFilter: ['disabled'] });
    return () => {
      for (const type of ['focusin', 'focusout'] as const) removeEventListener(type, moved);
      changed.disconnect();
    };
  }, []);
}

/**
 * Gives the focus, if the new place has taken what had it, to the Back button of what was opened, where it replaces its
 * list; to the row of what was closed; else to the content, where a screen reader then reads.
 */
export function useMovedFocus({ view, chosen }: Place): void {
  const from = useRef({ view, chosen });
  // Read before the new place is drawn, in which it is a row like any other.
  const row = document.querySelector<HTMLElement>('#main .list [aria-current=true]');
  useLayoutEffect(() => {
    const { current: last } = from;
    from.current = { view, chosen };
    const at = document.activeElement;
    const isKept = at !== document.body && at?.checkVisibility() === true;
    if (isKept || (last.view === view && last.chosen === chosen)) return;
    const near = chosen === '' ? [row, '#main .list .virtual'] : ['#main .back'];
    for (const one of [...(last.view === view ? near : []), '#main']) {
      const next = typeof one === 'string' ? document.querySelector<HTMLElement>(one) : one;
      next?.focus({ preventScroll: true });
      if (next === null || next !== document.activeElement) continue;
      closed = next === row ? row : undefined;
      return;
    }
  }, [view, chosen]);
}
