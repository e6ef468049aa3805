/** Native modal dialogs: focus stays inside, Escape closes, and the focus returns to where it was. */

import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useCell } from '../data/cell.ts';
import { connection, useIsGone } from '../data/connection.ts';
import { holdPlace } from '../data/place.ts';
import { Button, type ButtonProps } from './button.tsx';
import { Banner } from './panel.tsx';
import { DialogToast } from './toast.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** At the right edge, at full height. */
  readonly sheet?: boolean;
  /** While a request is under way; the dialog cannot be closed then. */
  readonly busy?: boolean;
  /** Escape, Close, Cancel, the browser's Back and its own closing ask before typed text is discarded. */
  readonly keepsText?: boolean;
  /** Whether what is in it is done without the daemon. */
  readonly isLocal?: boolean;
}

/** Closes the dialog around it, after a question where typed text would be lost. */
const Closing = createContext<() => void>(() => {});

export function Cancel(props: Omit<ButtonProps, 'onClick'>): JSX.Element {
  return (
    <Button {...props} onClick={useContext(Closing)}>
      Cancel
    </Button>
  );
}

export function Dialog(props: DialogProps): JSX.Element {
  const { title, onClose, children, sheet = false, busy = false, keepsText = false, isLocal = false } = props;
  const id = useId();
  const modal = useModal(close);
  useNoEscape(busy);
  const isGone = useIsGone();
  const typed = useRef(new Map<EventTarget, { readonly start: string; readonly now: string }>());
  const [isAsking, setAsking] = useState(false);
  const last = useRef<HTMLElement | undefined>(undefined);
  // A button that was disabled meanwhile has lost the focus, in which a screen reader reads on; after a fast answer it still
  // has it, but the field that was refused needs it.
  useEffect(() => {
    const { activeElement: at } = document;
    const isAtButton = at === last.current && at instanceof HTMLButtonElement;
    if (busy || (at !== document.body && !isAtButton)) return;
    (modal.ref.current?.querySelector<HTMLElement>('[aria-invalid=true]') ?? last.current)?.focus();
  }, [busy]);
  /** Whether the question is about leaving the place. */
  const isLeaving = useRef(false);
  const isTyped = (): boolean => keepsText && [...typed.current.values()].some(({ start, now }) => start !== now);
  const ask = (leaves: boolean): void => {
    isLeaving.current = leaves;
    setAsking(true);
  };
  function close(): void {
    if (busy) return;
    if (isTyped()) ask(false);
    else onClose();
  }
  const isHeld = useRef<() => boolean>(isTyped);
  isHeld.current = () => {
    const holds = isTyped();
    // Without a session the question would come above the way to sign in.
    if (holds && connection.get() !== 'refused') ask(true);
    return holds;
  };
  // Ends with the dialog: an effect ends only after the next paint, and would still hold a page that is left right after it.
  useLayoutEffect(() => holdPlace(() => isHeld.current()), []);
  useLayoutEffect(() => {
    // The browser asks in its own words.
    const stay = (event: BeforeUnloadEvent): void => {
      if (isTyped()) event.preventDefault();
    };
    addEventListener('beforeunload', stay);
    return () => removeEventListener('beforeunload', stay);
  }, [keepsText]);
  const discard = (): void => {
    typed.current.clear();
    onClose();
    if (isLeaving.current) history.back();
  };
  const watch = ({ target }: Event): void => {
    if (target instanceof HTMLElement) last.current = target;
    if (!(target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement)) return;
    const { value: now } = target;
    typed.current.set(target, { start: typed.current.get(target)?.start ?? now, now });
  };
  return (
    <dialog
      {...modal}
      class={sheet ? 'sheet' : 'dialog'}
      aria-labelledby={id}
      onFocusIn={watch}
      onInput={watch}
      onKeyDown={(event) => {
        // A browser lets a page refuse its own closing by Escape only once.
        if (event.key !== 'Escape' || isAsking) return;
        event.preventDefault();
        close();
      }}
    >
      <header>
        <h2 id={id} class="grow">
          {title}
        </h2>
        <Button icon="close" class="quiet icon-only" disabled={busy} onClick={close} aria-label="Close" />
      </header>
      {isLocal ? null : <Offline />}
      <fieldset class="acts" disabled={isGone && !isLocal} role="none">
        <Closing.Provider value={close}>{children}</Closing.Provider>
      </fieldset>
      {isAsking ? (
        <Confirm
          title="Discard the changes?"
          yes="Discard the changes"
          isLocal
          onYes={discard}
          onClose={() => setAsking(false)}
        >
          What you typed is lost{busy ? ', and what was asked for may still be done' : ''}.
        </Confirm>
      ) : null}
      <DialogToast />
    </dialog>
  );
}

/** A confirmation before an irreversible action: what, how many, what remains possible. Cancel has the focus. */
export function Confirm({
  title,
  children,
  yes,
  busy,
  danger = true,
  isLocal = false,
  onYes,
  onClose,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Verb and object: "Drop 6 deliveries". */
  readonly yes: string;
  /** The text while it is done: "Dropping…"; the buttons are then disabled. */
  readonly busy?: string | undefined;
  readonly danger?: boolean;
  /** Whether it is done without the daemon. */
  readonly isLocal?: boolean;
  readonly onYes: () => void;
  readonly onClose: () => void;
}): JSX.Element {
  const id = useId();
  const modal = useModal(() => {
    if (busy === undefined) onClose();
  });
  useNoEscape(busy !== undefined);
  const isGone = useIsGone();
  return (
    <dialog {...modal} class="dialog" role="alertdialog" aria-labelledby={id} aria-describedby={`${id}-why`}>
      <h2 id={id}>{title}</h2>
      <Offline />
      <fieldset class="acts" disabled={isGone} role="none">
        <div id={`${id}-why`} class="stack">
          {children}
        </div>
      </fieldset>
      <div class="btns">
        <Button data-first disabled={busy !== undefined} onClick={onClose}>
          Cancel
        </Button>
        <Button
          class={danger ? 'danger' : 'primary'}
          disabled={busy !== undefined || (isGone && !isLocal)}
          onClick={onYes}
        >
          {busy ?? yes}
        </Button>
      </div>
      <DialogToast />
    </dialog>
  );
}

/** A dialog covers the banner of the page. */
function Offline(): JSX.Element | null {
  const isGone = useIsGone();
  if (useCell(connection) === 'full') {
    return (
      <Banner mark="waiting" alert>
        <b>Too many pages of this gateway are open,</b> so nothing can be changed here.
      </Banner>
    );
  }
  return isGone ? (
    <Banner mark="failed" alert>
      <b>Offline.</b> The daemon does not answer. What you typed stays.
    </Banner>
  ) : null;
}

/** While a dialog cannot be closed. Its button with the focus is disabled then, so that the key goes to the page. */
function useNoEscape(isBusy: boolean): void {
  useLayoutEffect(() => {
    if (!isBusy) return undefined;
    const refuse = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') event.preventDefault();
    };
    addEventListener('keydown', refuse, { capture: true });
    return () => removeEventListener('keydown', refuse, { capture: true });
  }, [isBusy]);
}

/** Opens a dialog, and returns its properties: `close` is called where the browser would close it. */
export function useModal(close: () => void) {
  const box = useRef<HTMLDialogElement>(null);
  // Before the next paint: a key that is pressed until then would be for the page below.
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    // A harmless button or the first field, not the button that closes.
    ['[data-first]', 'input, textarea, a.btn', 'select', '.seg [aria-pressed=true]']
      .map((one) => box.current?.querySelector<HTMLElement>(one))
      .find((one) => one !== null)
      ?.focus();
    return () => {
      // What is below takes no focus until the dialog is removed, and the new place may have given it to something else.
      queueMicrotask(() => {
        if (document.activeElement === document.body && before instanceof HTMLElement) before.focus();
      });
      // The element that opened the dialog may have been removed.
      setTimeout(() => {
        if (document.activeElement === document.body) document.getElementById('main')?.focus();
      });
    };
  }, []);
  return {
    ref: box,
    onCancel(event: Event): void {
      event.preventDefault();
      close();
    },
    onClose(): void {
      // The browser closes it by itself for a second Escape.
      box.current?.showModal();
      close();
    },
  };
}
