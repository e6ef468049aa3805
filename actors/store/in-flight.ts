/**
 * The claim that keeps two runs of one batch key from being in flight at once, across all gateways. The commit that opens
 * a run makes the claim, and the one that ends the run releases it. A journal with a single gateway needs none: the chart
 * of the batch holds its run.
 * @see COA-3 in docs/specification.md
 */

import type { Write } from './journal.ts';

/** Longer than any run waits, because a claim must have an end. */
const claimLifeMs = 30 * 24 * 3_600_000;

const prefix = 'inflight/';
const nameOf = (group: string): string => prefix + group;

/** Whether a claim is of a batch whose run is in progress. */
export const isInFlight = (name: string): boolean => name.startsWith(prefix);

/** Returns the claim for a run of a batch; empty if the journal has a single gateway. */
export function inFlightClaim(
  { isShared }: { readonly isShared: () => boolean },
  group: string,
  run: string,
): readonly Write[] {
  if (!isShared()) return [];
  return [{ kind: 'claim', name: nameOf(group), value: { holder: run }, forMs: claimLifeMs }];
}

/** Adds the releases of the claims of the runs that a commit ends. */
export function withReleases(writes: readonly Write[]): readonly Write[] {
  const releases = writes.flatMap((write): Write[] => {
    if (write.kind !== 'put' || write.collection !== 'runs' || (write.dueAtMs ?? undefined) !== undefined) return [];
    const { group } = write.value;
    return typeof group === 'string' ? [{ kind: 'release', name: nameOf(group), holder: write.key }] : [];
  });
  return releases.length === 0 ? writes : [...writes, ...releases];
}
