/**
 * fast-check for the specs. `npm test` checks the same cases of every property each time; `npm run test:all` draws a seed,
 * which the runner prints, and checks more of them.
 */

import fc from 'fast-check';
import { isEachTier } from './tier.ts';

const seed = process.env.SPEC_SEED;
fc.configureGlobal({
  ...fc.readConfigureGlobal(),
  // Otherwise a list of at most two hundred steps would have ten at most.
  defaultSizeToMaxWhenMaxSpecified: true,
  ...(seed === undefined ? {} : { seed: Number(seed), numRuns: runs(100) }),
});

/** How many cases to check of a property that deserves so many; in `npm test`, which repeats the same ones, at most `max`. */
export function runs(wanted: number, max = 50): number {
  return isEachTier ? Math.min(wanted, max) : wanted;
}

export { fc };
