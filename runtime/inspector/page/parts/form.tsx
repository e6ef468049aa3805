/** Forms, which the page itself sends. */

import type { ComponentChildren, JSX } from 'preact';
import { Cancel } from './dialog.tsx';

interface FormProps {
  readonly class: string;
  readonly onSubmit: () => unknown;
  readonly children: ComponentChildren;
}

export function Form({ class: look, onSubmit, children }: FormProps): JSX.Element {
  return (
    <form
      class={look}
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    >
      {children}
    </form>
  );
}

/** A form that fills a sheet: its content scrolls above its buttons. */
export function SheetForm({
  hint,
  busy,
  buttons,
  onSubmit,
  children,
}: Omit<FormProps, 'class'> & {
  /** Beside the buttons: what they do not do. */
  readonly hint?: string;
  /** Whether the sheet cannot be closed now. */
  readonly busy: boolean;
  /** After Cancel. */
  readonly buttons: ComponentChildren;
}): JSX.Element {
  return (
    <Form class="sheetform" onSubmit={onSubmit}>
      <div class="in">{children}</div>
      <footer>
        <span class="hint grow">{hint}</span>
        <Cancel class="tall" disabled={busy} />
        {buttons}
      </footer>
    </Form>
  );
}
