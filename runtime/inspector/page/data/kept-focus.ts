/**
 * Keeps the focus over an outage: while the daemon does not answer, the controls are disabled, and the browser takes the focus
 * from the one that has it.
 * @see INS-2 in docs/specification.md
 */

import { useLayoutEffect, useRef } from 'preact/hooks';
import { isTyping } from './keys.ts';

/** What had the focus when the controls were disabled. */
let lost: HTMLElement | undefined;

/** Returns whether letters are meant for a field that takes none now; as keys they would act or lead away. */
export function isFieldLost(): boolean {
  return lost?.isConnected === true && isTyping(lost) && document.activeElement === document.body;
}

export function useKeptFocus(isGone: boolean): void {
  const wasGone = useRef(isGone);
  if (isGone && !wasGone.current) {
    // Before anything is drawn: what is disabled has lost the focus by the time of an effect.
    const { activeElement: at } = document;
    lost = at instanceof HTMLElement ? at : undefined;
  }
  wasGone.current = isGone;
  useLayoutEffect(() => {
    if (isGone) return;
    if (document.activeElement === document.body) lost?.focus({ preventScroll: true });
    lost = undefined;
  }, [isGone]);
}
