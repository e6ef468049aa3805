/** Which specs run: those that every change must pass, or all of them. `spec/run.ts` sets it; a file run by plain node runs all. */

export const isEachTier = process.env.SPEC_TIER === 'each';

/** For the `skip` of a test that only `npm run test:all` runs. */
export const inAllOnly: string | false = isEachTier && 'runs in npm run test:all';
