/**
 * Locks of a journal that several gateways use: one of them has a name for as long as its session lives. A lock is a claim
 * whose value names its holder and the session; that of a session that has ended is taken over.
 * @see SCA-1 in docs/specification.md
 */

import type { CommitVerdict, Journal, SessionId, Write } from './journal.ts';

/** Longer than any session lives; a claim has to end at some time. */
const lockLifeMs = 10 * 366 * 24 * 3_600_000;
const prefix = 'lock/';

export const leaderLock = 'leader';

export interface LockPorts {
  readonly commit: (writes: readonly Write[]) => Promise<CommitVerdict>;
  /** Whether another session lives, as far as this gateway knows. */
  readonly isElsewhere: (session: SessionId) => boolean;
  readonly journal: () => Journal | undefined;
  readonly session: () => SessionId | undefined;
}

/** The name of the claim that a lock is. */
export const lockName = (lock: string): string => prefix + lock;

/** Whether the name of a claim is that of a lock: who waits for it hears of its release. */
export const isLock = (name: string): boolean => name.startsWith(prefix);

/**
 * Resolves with what names the holder if that has the lock now, and with undefined otherwise. Rejects where the journal cannot
 * be read.
 * @param user tells the locks of one session apart
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
  // What this gateway knows of the others may be of some seconds ago.
  const living = await journal.living();
  if (!living.ok || living.value.some(({ id }) => id === theirs)) return undefined;
  const taken = await ports.commit([{ kind: 'release', name, holder: String(standing.holder) }, claim]);
  return taken.kind === 'committed' ? holder : undefined;
}

/** Resolves with whether it is given back; false where the journal cannot be written. */
export async function releaseLock(
  { commit }: Pick<LockPorts, 'commit'>,
  lock: string,
  holder: string,
): Promise<boolean> {
  const verdict = await commit([{ kind: 'release', name: lockName(lock), holder }]);
  return verdict.kind === 'committed';
}
