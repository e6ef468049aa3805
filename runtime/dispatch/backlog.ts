/**
 * Recovers the runs and deliveries that wait only on disk because memory was full. Checks when enough runs have ended to
 * make a check worthwhile, and every few seconds for late commits, failed reads of the journal, and work that was left
 * while no gateway ran. One check at a time, and none during the recovery of a start.
 * @see DIS-3, DLV-4 and DUR-1 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import { fullQueues, type RunPlace, roomWorthwhile, runQueue } from '../../machines/webhook/work-queue.ts';
import type { Every } from '../system/ticks.ts';
import { createTurns } from '../system/turns.ts';
import { leaveDeliveries } from './leave-waiting.ts';
import {
  endLostRuns,
  type ResumePorts,
  recoverDeliveries,
  recoverGroups,
  recoverRuns,
  resumeWork,
  sliceSize,
} from './recovery.ts';
import { logUnforeseen } from './work-log.ts';

interface BacklogPorts {
  readonly resume: ResumePorts;
  /** False before the gateway runs and while it drains: then no work is begun. */
  readonly isUp: () => boolean;
  readonly every: Every;
  /** The interval of the checks. */
  readonly lookEveryMs: number;
}

const kinds = ['runs', 'deliveries'] as const;
/** Minimum interval between checks that notifications of other gateways, or new runs behind those on disk, cause. */
const newsPauseMs = 100;

export function createBacklog({ resume, isUp, every, lookEveryMs }: BacklogPorts) {
  /** The queues of which runs may have been left on disk since a check found the last of them. */
  let waiting = new Set<string>();
  /** Whether any queue may be one of them. */
  let isFull = false;
  let looking = false;
  let isMissed = false;
  /** The queue of a run that has ended during a check, which may have read that queue before; no other run may end. */
  let ended: string | undefined;
  /**
   * Whether a recovery or a check failed. Only a recovery finds the batches of the start, and the older deliveries of the
   * chats that a new leader takes over.
   */
  let isOwed = false;
  /** The last life of the session at a check; if it has changed, other gateways may have taken work since. */
  let lookedAs: string | undefined;

  /** Why the last check failed. The next one follows within seconds, and a database may be away for hours. */
  let failure: string | undefined;
  const inTurn = createTurns((thrown) => {
    const why = causeOf(thrown);
    if (why !== failure) logUnforeseen(resume.log, 'the work that waits on disk', thrown);
    failure = why;
  });

  async function recover(): Promise<void> {
    isOwed = true;
    noteLeft(await resumeWork(resume));
    isOwed = false;
  }

  function noteLeft(queues: readonly string[]): void {
    for (const queue of queues) waiting.add(queue);
    // A full memory may have left others behind.
    isFull ||= resume.room() <= 0;
  }

  async function takeRuns(signal: AbortSignal): Promise<void> {
    if (resume.keeper.isShared()) {
      waiting.clear();
      isFull = false;
      noteLeft(await recoverRuns(resume, signal));
      return;
    }
    const left = await recoverRuns(resume, signal);
    isFull = resume.room() <= 0;
    if (isFull || waiting.size === 0) {
      noteLeft(left);
      return;
    }
    // Only what came during that is still on disk, except in full queues. What comes now is let in, so that this ends.
    waiting = new Set(left);
    noteLeft(await recoverRuns(resume, signal));
  }

  async function look(): Promise<void> {
    if (!isUp()) return;
    if (isOwed) await recover();
    const signal = resume.signal();
    await takeRuns(signal);
    if (isUp()) await recoverDeliveries(resume, signal);
    if (isUp()) await recoverGroups(resume, signal);
    const { keeper } = resume;
    if (keeper.isShared() && !keeper.leads()) await leaveDeliveries(resume);
    const life = keeper.life();
    if (life !== undefined && life === lookedAs) return;
    // The work of the last session has been taken by now, by this gateway or by another. Without a session, others may
    // take it at any moment.
    if (lookedAs !== undefined) await endLostRuns(resume);
    lookedAs = life ?? lookedAs;
  }

  function isWorthwhile(queue: string): boolean {
    if (!isFull && !waiting.has(queue)) return false;
    const enough = Math.min(sliceSize, Math.ceil(resume.bound() / 4), roomWorthwhile(resume.inMemory('runs')));
    return resume.room(queue) >= enough;
  }

  function lookOnce(): void {
    if (looking || !isUp()) return;
    looking = true;
    isMissed = false;
    ended = undefined;
    void inTurn(() =>
      look()
        .then(() => {
          failure = undefined;
        })
        .catch((thrown: unknown) => {
          isOwed = true;
          throw thrown;
        })
        .finally(() => {
          looking = false;
          if (isMissed || (ended !== undefined && isWorthwhile(ended))) lookOnce();
        }),
    );
  }

  const stopLooking = every(lookOnce, lookEveryMs);
  let heardAtMs = Number.NEGATIVE_INFINITY;
  let news: NodeJS.Timeout | undefined;
  function lookSoon(): void {
    const waitMs = Math.max(0, heardAtMs + newsPauseMs - performance.now());
    news ??= setTimeout(() => {
      news = undefined;
      heardAtMs = performance.now();
      // To step over much work of a full queue takes the database a while, so only the clock makes it do that.
      const isSlow = resume.keeper.isShared() && kinds.some((name) => fullQueues(resume.inMemory(name)).length > 0);
      if (isSlow) return;
      // A notification during a check may be about a part that is already checked.
      isMissed = looking;
      lookOnce();
    }, waitMs).unref();
  }
  const stopHearing = resume.keeper.heard((what) => {
    if (typeof what !== 'object' && what !== 'lost') lookSoon();
  });

  return {
    /**
     * Whether one more run may be in memory; if not, it stays on disk and is found by a later check. Where older runs of its
     * queue may wait in the gateway's own journal, it has none, so that it does not take the room of those.
     */
    hasRoom(run: RunPlace): boolean {
      const queue = runQueue(run);
      const fits = resume.room(queue) > 0;
      // On a shared journal others run the older ones, and reading every run from the database would halve the pace.
      if (fits && (resume.keeper.isShared() || !waiting.has(queue))) return true;
      noteLeft([queue]);
      if (fits) lookSoon();
      return false;
    },
    /** Whether runs, of a profile where one is given, have been left on disk; true also where only a full memory suggests it. */
    isLeft(profile?: string): boolean {
      // One that takes no runs, because its own are held, is full at all times.
      const full = isFull && resume.bound() > 0;
      if (full || profile === undefined) return full || waiting.size > 0;
      const prefix = runQueue({ profile, route: '' });
      return [...waiting].some((queue) => queue.startsWith(prefix));
    },
    /** Reports that a run has left memory. */
    runEnded(run: RunPlace): void {
      const queue = runQueue(run);
      if (!isWorthwhile(queue)) return;
      if (looking) ended = queue;
      lookOnce();
    },
    /**
     * Recovers everything in the journal, after the check in progress. Never rejects; after a failure the next check
     * repeats it.
     */
    resume: (): Promise<void> => inTurn(recover),
    stop(): void {
      stopLooking();
      stopHearing();
      clearTimeout(news);
    },
  };
}
