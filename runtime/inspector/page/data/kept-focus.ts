/**
 * Keeps the focus where it is: the browser takes it from a control that is disabled, as all are while the daemon does not
 * answer, and a button is while its request is under way.
 * @see INS-2 in docs/specification.md
 */

import { useEffect } from 'preact/hooks';
import { isTyping } from './keys.ts';

/** What had the focus when it was disabled. */
let lost: HTMLElement | undefined;

/** Returns whether letters are meant for a field that takes none now; as keys they would act or lead away. */
export function isFieldLost(): boolean {
  return lost?.isConnected === true && isTyping(lost) && document.activeElement === document.body;
}

/** Gives the focus back to a control that is enabled again, unless something else has it. */
export function useKeptFocus(): void {
  useEffect(() => {
    const moved = ({ type, target }: FocusEvent): void => {
      const isLost = type === 'focusout' && target instanceof HTMLElement && target.matches(':disabled');
      lost = isLost ? target : undefined;
    };
    const enabled = new MutationObserver(() => {
      if (document.activeElement === document.body && lost?.matches(':disabled') === false)
        lost.focus({ preventScroll: true });
    });
    for (const type of ['focusin', 'focusout'] as const) addEventListener(type, moved);
    enabled.observe(document.body, { subtree: true, attributeFilter: ['disabled'] });
    return () => {
      for (const type of ['focusin', 'focusout'] as const) removeEventListener(type, moved);
      enabled.disconnect();
    };
  }, []);
}
