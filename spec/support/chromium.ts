/** Where the browser of the specs and benchmarks is. */

import { existsSync } from 'node:fs';
import { isEachTier } from './tier.ts';

/** The same engine without the windows, profiles and pages of a browser's own, which take half of the processor's time. */
const shell = '/usr/bin/chromium-headless-shell';
const complete = '/usr/bin/chromium';
/** `npm run test:all` takes the complete browser. On a machine without any the specs say so and are skipped. */
export const chromiumPath = [
  process.env.CHROMIUM_PATH ?? '',
  ...(isEachTier ? [shell, complete] : [complete, shell]),
].find((path) => path !== '' && existsSync(path));
export const noChromium = 'no Chromium here: install it, or name it in CHROMIUM_PATH';
