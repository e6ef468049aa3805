/**
 * fast-check for the specs. `npm test` checks the same cases of every property each time; `npm run test:all` draws a seed,
 * which the runner prints, and checks more of them.
 */

import fc from 'fast-check';
import { isEachTier } from './tier.ts';

/** In `npm test`, where the cases are the same each time. */
const mostEachTime = 50;
const seed = process.env.SPEC_SEED;
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed), numRuns: runs(100) });

/** How many cases to check of a property that deserves so many: at most fifty of them in `npm test`. */
export function runs(wanted: number): number {
  return isEachTier ? Math.min(wanted, mostEachTime) : wanted;
}

export { fc };
