/**
 * Claims by which the gateways of a shared journal exclude each other. A lock is a claim whose value has the holder and its
 * session: one gateway has it as long as its session lives, and the lock of an ended session can be taken by another. The
 * claim of a run keeps two runs of one batch key from being in flight at once: the commit that opens a run makes it, and the
 * one that ends the run releases it. A journal with a single gateway needs none: the chart of the batch holds its run.
 * @see SCA-1 and COA-3 in docs/specification.md
 */

import type { CommitVerdict, Journal, SessionId, Write } from './journal.ts';

/** Longer than any session lives, because a claim must have an end. */
const lockLifeMs = 10 * 366 * 24 * 3_600_000;
const lockPrefix = 'lock/';

export const leaderLock = 'leader';

export interface LockPorts {
  readonly commit: (writes: readonly Write[]) => Promise<CommitVerdict>;
  /** Whether another session is live, as far as this gateway has read. */
  readonly isElsewhere: (session: SessionId) => boolean;
  readonly journal: () => Journal | undefined;
  readonly session: () => SessionId | undefined;
}

export const lockName = (lock: string): string => lockPrefix + lock;

/** Whether a claim is a lock, whose release waiting gateways are notified of. */
export const isLock = (name: string): boolean => name.startsWith(lockPrefix);

/**
 * Resolves with the name of the holder if it has the lock now, else with undefined. Rejects if the journal cannot be
 * read.
 * @param user distinguishes the locks of one session
 */
export async function takeLock(ports: LockPorts, lock: string, user: string): Promise<string | undefined> {
  const session = ports.session();
  const journal = ports.journal();
  if (session === undefined || journal === undefined) return undefined;
  const name = lockName(lock);
  const holder = `${session} ${user}`;
  const value = { holder, session };
  const claim = { kind: 'claim', name, value, forMs: lockLifeMs } as const;
  const standing = await journal.claimed(name);
  if (standing === undefined) return (await ports.commit([claim])).kind === 'committed' ? holder : undefined;
  if (standing.holder === holder) return holder;
  const theirs = String(standing.session);
  if (theirs === session || ports.isElsewhere(theirs)) return undefined;
  // This gateway's list of sessions may be some seconds old.
  const living = await journal.living();
  if (!living.ok || living.value.some(({ id }) => id === theirs)) return undefined;
  const taken = await ports.commit([{ kind: 'release', name, holder: String(standing.holder) }, claim]);
  return taken.kind === 'committed' ? holder : undefined;
}

/** Resolves with whether it was released; false if the journal cannot be written. */
export async function releaseLock(
  { commit }: Pick<LockPorts, 'commit'>,
  lock: string,
  holder: string,
): Promise<boolean> {
  const verdict = await commit([{ kind: 'release', name: lockName(lock), holder }]);
  return verdict.kind === 'committed';
}

/** Longer than any run waits, because a claim must have an end. */
const runLifeMs = 30 * 24 * 3_600_000;

const inFlightPrefix = 'inflight/';
const nameOf = (group: string): string => inFlightPrefix + group;

/** Whether a claim is of a batch whose run is in progress. */
export const isInFlight = (name: string): boolean => name.startsWith(inFlightPrefix);

/** Returns the claim for a run of a batch; empty if the journal has a single gateway. */
export function inFlightClaim(
  { isShared }: { readonly isShared: () => boolean },
  group: string,
  run: string,
): readonly Write[] {
  if (!isShared()) return [];
  return [{ kind: 'claim', name: nameOf(group), value: { holder: run }, forMs: runLifeMs }];
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
