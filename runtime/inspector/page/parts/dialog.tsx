/** Modal dialogs of the browser's own kind: focus stays in them, Escape closes, what had the focus gets it back. */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** At the right edge, over the whole height. */
  readonly sheet?: boolean;
  /** While a request is under way; the dialog cannot be closed then. */
  readonly busy?: boolean;
}

export function Dialog({ title, onClose, children, sheet = false, busy = false }: DialogProps): JSX.Element {
  const id = useId();
  const box = useModal();
  return (
    <dialog
      ref={box}
      class={sheet ? 'sheet' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (!busy) onClose();
      }}
    >
      <header>
        <h2 id={id} class="grow">
          {title}
        </h2>
        <button type="button" class="btn quiet icon-only" disabled={busy} onClick={onClose} aria-label="Close">
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

/** A question before what cannot be undone: what, how many, what remains possible. Cancel has the focus. */
export function Confirm({
  title,
  children,
  yes,
  busy,
  danger = true,
  onYes,
  onClose,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Verb and object: "Drop 6 deliveries". */
  readonly yes: string;
  /** While it is done: "Dropping…"; nothing can be pressed then. */
  readonly busy?: string | undefined;
  readonly danger?: boolean;
  readonly onYes: () => void;
  readonly onClose: () => void;
}): JSX.Element {
  const id = useId();
  const box = useModal();
  return (
    <dialog
      ref={box}
      class="dialog"
      role="alertdialog"
      aria-labelledby={id}
      aria-describedby={`${id}-why`}
      onCancel={(event) => {
        event.preventDefault();
        if (busy === undefined) onClose();
      }}
    >
      <h2 id={id}>{title}</h2>
      <div id={`${id}-why`} class="stack">
        {children}
      </div>
      <div class="btns">
        <button type="button" class="btn" data-first disabled={busy !== undefined} onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          class={`btn ${danger ? 'danger' : 'primary'}`}
          disabled={busy !== undefined}
          onClick={onYes}
        >
          {busy ?? yes}
        </button>
      </div>
    </dialog>
  );
}

function useModal() {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    // What loses nothing, or the first field: not the button that closes.
    const first = box.current?.querySelector<HTMLElement>('[data-first]');
    (first ?? box.current?.querySelector<HTMLElement>('input, textarea, a.btn'))?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
      // What opened a dialog can go with what the dialog removed, and only after this.
      setTimeout(() => {
        if (document.activeElement === document.body) document.getElementById('main')?.focus();
      });
    };
  }, []);
  return box;
}
