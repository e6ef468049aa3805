/** Copies a text for use elsewhere, and says so; a browser may refuse, as without a click just before. */

import { useState } from 'preact/hooks';
import { announce } from './announce.ts';

const saidMs = 1_500;

export async function copyText(text: string, done: () => void = () => announce('Copied')): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    announce('The browser did not let the page copy.', true);
    return;
  }
  done();
}

/** Returns the word of a button that copies a text, and what it does: it says for a moment that it has copied. */
export function useCopy(text: string): readonly [word: string, copy: () => void] {
  const [copied, setCopied] = useState(false);
  const copy = (): void =>
    void copyText(text, () => {
      setCopied(true);
      setTimeout(() => setCopied(false), saidMs);
    });
  return [copied ? 'Copied' : 'Copy', copy];
}
