/**
 * One toast at a time, at the bottom of the page; in a dialog, while one is open, since what is below it takes no click. A
 * dialog that it would cover ends above it.
 */

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { note } from '../data/announce.ts';
import { createCell, useCell } from '../data/cell.ts';
import { withCode } from './basics.tsx';
import { Button } from './button.tsx';
import { StatusMark } from './chip.tsx';

/** How many dialogs are open. Each disables what is in it while the daemon is away; what is below cannot be used anyway. */
export const openDialogs = createCell(0);

/** The toast of a dialog, which counts as open while this is drawn. */
export function DialogToast(): JSX.Element {
  const [depth, setDepth] = useState(-1);
  useEffect(() => {
    const own = openDialogs.get() + 1;
    openDialogs.set(own);
    setDepth(own);
    return () => openDialogs.set(openDialogs.get() - 1);
  }, []);
  return <Toast depth={depth} />;
}

export function Toast({ depth = 0 }: { readonly depth?: number }): JSX.Element {
  const isTop = useCell(openDialogs) === depth;
  const announced = useCell(note);
  const shown = isTop ? announced : undefined;
  const close = (): void => note.set(undefined);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => (shown === undefined ? undefined : makeRoom(box.current)), [shown]);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown === undefined ? null : (
        <div class="toast" ref={box}>
          {shown.bad ? <StatusMark name="failed" /> : null}
          <span class="wrap">{withCode(shown.text)}</span>
          {/* In a dialog it would lead away from what is typed there. */}
          {shown.action === undefined || depth > 0 ? null : (
            <Button
              onClick={() => {
                close();
                shown.action?.run();
              }}
            >
              {shown.action.label}
            </Button>
          )}
          <Button icon="close" class="quiet icon-only" aria-label="Close" onClick={close} />
        </div>
      )}
    </div>
  );
}

/** Between a toast and the dialog above it. */
const gap = 8;

/** Reserves the height of a toast below its dialog as soon as they would overlap, until the returned function is called. */
function makeRoom(toast: HTMLElement | null): (() => void) | undefined {
  const dialog = toast?.closest('dialog');
  if (toast === null || dialog === null || dialog === undefined) return undefined;
  let isReserved = false;
  const look = (): void => {
    const [one, other] = [toast.getBoundingClientRect(), dialog.getBoundingClientRect()];
    isReserved ||=
      one.top < other.bottom + gap && one.bottom > other.top && one.left < other.right && one.right > other.left;
    if (isReserved) dialog.style.setProperty('--toast', `${innerHeight - one.top + gap}px`);
  };
  look();
  const sizes = new ResizeObserver(look);
  for (const one of [toast, dialog]) sizes.observe(one);
  addEventListener('resize', look);
  return () => {
    sizes.disconnect();
    removeEventListener('resize', look);
    dialog.style.removeProperty('--toast');
  };
}
