/** Toasts: one at a time, announced to screen readers too. Good news disappears by itself; an error stays until closed. */

import { createCell } from './cell.ts';

export interface Note {
  readonly text: string;
  readonly bad: boolean;
  /** The likely next action: "Show", "Undo". */
  readonly action?: { readonly label: string; readonly run: () => void };
}

const shownMs = 6_000;

export const note = createCell<Note | undefined>(undefined);

/** Returns the note, which is that of `note` for as long as it is shown. */
export function announce(text: string, bad = false, action?: Note['action']): Note {
  const made: Note = { text, bad, ...(action === undefined ? {} : { action }) };
  note.set(made);
  if (bad) return made;
  setTimeout(() => {
    if (note.get() === made) note.set(undefined);
  }, shownMs);
  return made;
}
