/**
 * The claim that keeps two runs of one coalescing group from being in flight at once, whichever gateways they are at. The
 * commit that opens a run makes the claim and the one that ends the run releases it. A journal that one gateway alone
 * uses needs none: the group's chart knows its run.
 * @see COA-3 in docs/specification.md
 */

import type { Write } from './journal.ts';

/** Longer than any run waits; a claim has to end at some time. */
const claimLifeMs = 30 * 24 * 3_600_000;

const nameOf = (group: string): string => `inflight/${group}`;

/** Returns the claim for a run of a group; nothing where the journal is one gateway's own. */
export function inFlightClaim(
  { isShared }: { readonly isShared: () => boolean },
  group: string,
  run: string,
): readonly Write[] {
  if (!isShared()) return [];
  return [{ kind: 'claim', name: nameOf(group), value: { holder: run }, forMs: claimLifeMs }];
}

/** Adds what releases the claims of the runs that a commit ends. */
export function withReleases(writes: readonly Write[]): readonly Write[] {
  const releases = writes.flatMap((write): Write[] => {
    if (write.kind !== 'put' || write.collection !== 'runs' || (write.dueAtMs ?? undefined) !== undefined) return [];
    const { group } = write.value;
    return typeof group === 'string' ? [{ kind: 'release', name: nameOf(group), holder: write.key }] : [];
  });
  return releases.length === 0 ? writes : [...writes, ...releases];
}
