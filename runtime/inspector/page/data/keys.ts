/**
 * The keys of the page; those of a view apply while it is drawn. Single letters do nothing in fields, and can be turned
 * off. Each key has a button that does the same.
 * @see INS-2 in docs/specification.md
 */

import { useLayoutEffect, useRef } from 'preact/hooks';
import { createCell } from './cell.ts';
import { readStored, store } from './stored.ts';

export interface ViewKey {
  /** As in `KeyboardEvent.key`, letters in lower case: `j`, `Enter`, `Backspace`. */
  readonly key: string;
  readonly shift?: boolean;
  /** What it does, for the sheet of keys. */
  readonly label: string;
  /** Whether it is for what has the focus, if several parts of a view have the same key; absent: always. */
  readonly applies?: () => boolean;
  readonly run: () => void;
}

const storedAt = 'agent.letters';

/** The keys of what is drawn, the innermost last. */
export const drawnKeys = createCell<readonly { readonly title: string; readonly keys: readonly ViewKey[] }[]>([]);

/** Whether single letters do anything. */
export const letters = createCell(readStored(storedAt) !== 'off');

export function turnLetters(on: boolean): void {
  letters.set(on);
  store(storedAt, on ? 'on' : 'off');
}

/** Registers the keys while the component is drawn; `title` is their heading in the sheet of keys. */
export function useKeys(title: string, keys: readonly ViewKey[]): void {
  const now = useRef(keys);
  now.current = keys;
  const names = keys.map(({ key, shift, label }) => `${shift === true ? 'Shift ' : ''}${key} ${label}`).join('\n');
  // Before it is painted: who sees a view may press its keys at once.
  useLayoutEffect(() => {
    const mine = {
      title,
      keys: now.current.map((one, at) => ({
        ...one,
        applies: () => now.current[at]?.applies?.() ?? true,
        run: () => now.current[at]?.run(),
      })),
    };
    drawnKeys.set([...drawnKeys.get(), mine]);
    return () => drawnKeys.set(drawnKeys.get().filter((one) => one !== mine));
  }, [title, names]);
}

const letterKey = /^Key([A-Z])$/;
/** Not a sign such as €, nor a letter that a Latin keyboard writes beside others: ı and ğ of Turkish, é of French. */
const otherScript = /^[^\p{Script=Common}\p{Script=Latin}]$/u;

/** Returns a key's name, letters in lower case; the Latin letter of a key that writes one of Cyrillic, Greek or Hebrew, say. */
export function nameOf({ key, code }: KeyboardEvent): string {
  if (key.length !== 1) return key;
  const latin = otherScript.test(key) ? letterKey.exec(code)?.[1] : undefined;
  return (latin ?? key).toLowerCase();
}

/** Returns the key of what is drawn that matches an event; the innermost wins. */
export function keyFor(event: KeyboardEvent): ViewKey | undefined {
  const name = nameOf(event);
  for (const { keys } of drawnKeys.get().toReversed()) {
    const found = keys.find(
      (one) => one.key === name && (one.shift ?? false) === event.shiftKey && one.applies?.() !== false,
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns whether the focused element takes letters itself. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input:not([type=checkbox], [type=radio]), textarea, select'))
  );
}
