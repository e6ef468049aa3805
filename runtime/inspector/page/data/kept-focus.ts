/**
 * Keeps the focus over an outage: while the daemon does not answer, the controls are disabled, and the browser takes the focus
 * from the one that has it.
 * @see INS-2 in docs/specification.md
 */

import { useLayoutEffect } from 'preact/hooks';
import { isTyping } from './keys.ts';

/** What had the focus when the controls were disabled. */
let lost: HTMLElement | undefined;

/** Returns whether letters are meant for a field that takes none now; as keys they would act or lead away. */
export function isFieldLost(): boolean {
  return lost?.isConnected === true && isTyping(lost) && document.activeElement === document.body;
}

export function useKeptFocus(isGone: boolean): void {
  useLayoutEffect(() => {
    const { activeElement: at } = document;
    if (isGone) {
      lost = at instanceof HTMLElement ? at : undefined;
      return;
    }
    if (at === document.body) lost?.focus({ preventScroll: true });
    lost = undefined;
  }, [isGone]);
}
