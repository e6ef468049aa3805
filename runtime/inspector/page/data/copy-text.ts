/** Copies a text for use elsewhere, and announces it; a browser may refuse, as without a click just before. */

import { announce } from './announce.ts';

export async function copyText(text: string, done = 'Copied'): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce(done);
  } catch {
    announce('The browser did not let the page copy.', true);
  }
}
