/** Words for a reader of screens, and for everybody as a short note at the foot of the page. */

import { createCell } from './cell.ts';

export interface Note {
  readonly text: string;
  readonly bad: boolean;
}

const shownMs = 6_000;

export const note = createCell<Note | undefined>(undefined);

export function announce(text: string, bad = false): void {
  const told: Note = { text, bad };
  note.set(told);
  setTimeout(() => {
    if (note.get() === told) note.set(undefined);
  }, shownMs);
}
