/**
 * Whether this gateway leads those of a shared journal: it does if it took the leader's lock with its present session, and
 * no longer once another gateway could have the lock.
 * @see SCA-1 in docs/specification.md
 */

import type { SessionId } from './journal.ts';
import { type LockPorts, leaderLock, releaseLock, takeLock } from './shared-claims.ts';

interface LeadershipPorts {
  readonly locks: LockPorts;
  /** Whether a session is this gateway's present one, and no other gateway can consider it ended. */
  readonly isAlive: (session: SessionId) => boolean;
  /** How long the connection to the journal has been lost, in milliseconds. */
  readonly lostMs: () => number;
}

const leadsWhileLostMs = 1_000;

export function createLeadership({ locks, isAlive, lostMs }: LeadershipPorts) {
  /** The session with which this gateway became the leader. */
  let leadsAs: SessionId | undefined;
  let holder: string | undefined;
  let isLeaving = false;
  let seeking: Promise<unknown> = Promise.resolve();

  function leads(): boolean {
    // Its deliveries have been released by then, so it must become the leader anew.
    if (lostMs() >= leadsWhileLostMs) leadsAs = undefined;
    return leadsAs !== undefined && isAlive(leadsAs);
  }

  return {
    leads,
    /** Becomes the leader if there is none. Resolves with whether it has just become the leader. */
    async seek(): Promise<boolean> {
      if (isLeaving) return false;
      const seeker = locks.session();
      const taking = takeLock(locks, leaderLock, '');
      seeking = taking.catch(() => {});
      holder = await taking;
      const led = leads();
      leadsAs = holder === undefined || isLeaving ? undefined : seeker;
      return !led && leads();
    },
    /** Stops being the leader until the lock is taken again, because another gateway may have taken it. */
    doubt(): void {
      leadsAs = undefined;
    },
    /** Stops being the leader, and never becomes it again. */
    async give(): Promise<void> {
      isLeaving = true;
      leadsAs = undefined;
      await seeking;
      if (holder !== undefined) await releaseLock(locks, leaderLock, holder);
    },
  };
}
