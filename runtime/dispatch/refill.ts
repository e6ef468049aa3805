/**
 * Takes up the runs and deliveries that wait on disk alone, because so many wait in memory. Looks when enough runs have
 * ended to make a look worth its while, and every few seconds whatever happened: a commit that landed late, a journal that
 * could not be read, work that was left while no gateway stood. One look
 * at a time, and none beside the recovery of a start. Knows nothing of what it takes up.
 * @see DIS-3, DLV-4 and DUR-1 in docs/specification.md
 */

import type { Every } from '../system/ticks.ts';
import { createTurns } from '../system/turns.ts';
import { leaveDeliveries } from './leave-waiting.ts';
import {
  letGoOfLost,
  type ResumePorts,
  refillDeliveries,
  refillGroups,
  refillRuns,
  resumeWork,
  sliceSize,
} from './recovery.ts';
import { tellUnforeseen } from './work-log.ts';

export interface RefillPorts {
  readonly resume: ResumePorts;
  /** False before the gateway runs and while it drains: nothing is begun then. */
  readonly isUp: () => boolean;
  readonly every: Every;
  /** How long it waits between its looks. */
  readonly lookEveryMs: number;
}

export interface Refill {
  /** Whether one more run may wait in memory; one that may not waits on disk, and is looked for. */
  hasRoom(): boolean;
  /** A run is gone from memory. */
  runEnded(): void;
  /**
   * Takes up everything that the journal remembers, after the look under way. Never rejects; where it fails, the next look
   * begins it again.
   */
  resume(): Promise<void>;
  stop(): void;
}

/** However much other gateways do, the looks that their news lead to are so far apart. */
const newsPauseMs = 100;

export function createRefill({ resume, isUp, every, lookEveryMs }: RefillPorts): Refill {
  /** Whether runs have been left on disk since a look found the last of them. */
  let runsWait = false;
  let looking = false;
  let isMissed = false;
  /** Whether a recovery fell over something; nothing else looks for the bursts of its start. */
  let isOwed = false;
  /** Since the last look, others may have taken work if this has changed. */
  let lookedAs: string | undefined;

  // After a failed look the next one comes in a few seconds.
  const inTurn = createTurns((thrown) => tellUnforeseen(resume.log, 'the work that waits on disk', thrown));

  async function recover(): Promise<void> {
    isOwed = true;
    await resumeWork(resume);
    isOwed = false;
  }

  async function look(): Promise<void> {
    if (!isUp()) return;
    if (isOwed) await recover();
    const signal = resume.signal();
    runsWait = false;
    await refillRuns(resume, signal);
    // What filled the room may have left others behind.
    runsWait ||= resume.room() <= 0;
    if (isUp()) await refillDeliveries(resume, signal);
    if (isUp()) await refillGroups(resume, signal);
    const { keeper } = resume;
    if (keeper.isShared() && !keeper.leads()) await leaveDeliveries(resume);
    const life = keeper.life();
    if (life === lookedAs) return;
    // What the last one held is taken by now, by this gateway or by another.
    if (lookedAs !== undefined) await letGoOfLost(resume);
    lookedAs = life;
  }

  function lookOnce(): void {
    if (looking || !isUp()) return;
    looking = true;
    isMissed = false;
    void inTurn(() =>
      look().finally(() => {
        looking = false;
        if (isMissed) lookOnce();
      }),
    );
  }

  const stopLooking = every(lookOnce, lookEveryMs);
  let heardAtMs = Number.NEGATIVE_INFINITY;
  let news: NodeJS.Timeout | undefined;
  const stopHearing = resume.keeper.heard((what) => {
    if (typeof what === 'object' || what === 'lost') return;
    const waitMs = Math.max(0, heardAtMs + newsPauseMs - performance.now());
    news ??= setTimeout(() => {
      news = undefined;
      heardAtMs = performance.now();
      // News that comes while it looks may be of what it has passed.
      isMissed = looking;
      lookOnce();
    }, waitMs).unref();
  });

  return {
    hasRoom() {
      if (resume.room() > 0) return true;
      runsWait = true;
      return false;
    },
    runEnded() {
      if (runsWait && resume.room() >= Math.min(sliceSize, Math.ceil(resume.bound() / 2))) lookOnce();
    },
    resume: () => inTurn(recover),
    stop() {
      stopLooking();
      stopHearing();
      clearTimeout(news);
    },
  };
}
