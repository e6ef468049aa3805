/** One toast at a time, at the bottom of the page. Also in each dialog: what is below an open dialog takes no click. */

import type { JSX } from 'preact';
import { note } from '../data/announce.ts';
import { useCell } from '../data/cell.ts';
import { withCode } from './basics.tsx';
import { StatusMark } from './chip.tsx';
import { Icon } from './icons.tsx';

export function Toast(): JSX.Element {
  const shown = useCell(note);
  const close = (): void => note.set(undefined);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown === undefined ? null : (
        <div class="toast">
          {shown.bad ? <StatusMark name="failed" /> : null}
          <span class="wrap">{withCode(shown.text)}</span>
          {shown.action === undefined ? null : (
            <button
              type="button"
              class="btn"
              onClick={() => {
                close();
                shown.action?.run();
              }}
            >
              {shown.action.label}
            </button>
          )}
          <button type="button" class="btn quiet icon-only" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        </div>
      )}
    </div>
  );
}
