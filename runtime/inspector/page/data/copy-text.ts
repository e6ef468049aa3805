/** Copies a text for use elsewhere, and says so; a browser may refuse, as without a click just before. */

import { announce } from './announce.ts';

export async function copyText(text: string, done: () => void = () => announce('Copied')): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    announce('The browser did not let the page copy.', true);
    return;
  }
  done();
}
