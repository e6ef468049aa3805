/**
 * Gathers jobs into transactions: while one transaction is on its way to the disk, the jobs that arrive wait and share
 * the next one, and with it its fsync. A job that throws is refused alone; the others of its group run again without
 * it. After a transaction that could not land nothing is tried until `resume`. Knows nothing of LMDB or of records.
 * @see DUR-1 in docs/specification.md
 */

import { causeOf, type Fault, fault, type Result } from '../../machines/base/fault.ts';
import { type Job, promised, tellLanded, tellRefused } from './job.ts';

export interface GroupCommitPorts {
  /**
   * Runs the body in one transaction. Resolves once that would survive a power cut; rejects where it did not land or
   * the body threw. Nothing of a rejected transaction stands.
   */
  readonly transact: (body: () => void) => Promise<void>;
  /** How many bytes the jobs have written so far, those of earlier groups too: only differences count. */
  readonly writtenBytes: () => number;
  /** Names what kept a transaction from landing. */
  readonly explain: (thrown: unknown) => Fault;
}

export interface GroupCommit {
  /** Takes a job; it is told once what it wrote has landed, or why that did not. */
  submit(job: Job): void;
  /** Resolves once what the job wrote has landed, with what the job returned. Never rejects. */
  enqueue<Value>(job: () => Value): Promise<Result<Value>>;
  /** Refuses every job, those that wait too, with this fault. */
  stop(reason: Fault): void;
  /** Takes jobs again. */
  resume(): void;
  /** What stops it; undefined while it takes jobs. */
  stopped(): Fault | undefined;
  /** Resolves when no job waits or is under way. */
  settled(): Promise<void>;
}

/** Jobs in one transaction: they run on the loop, about 10 µs each, so a group holds it up for a few milliseconds. */
const groupJobs = 400;
/** What a group writes before it is closed, by the job that reaches it too: so much is copied in two milliseconds. */
const groupBytes = 4 * 1024 * 1024;

export function createGroupCommit({ transact, writtenBytes, explain }: GroupCommitPorts): GroupCommit {
  let waiting: Job[] = [];
  let underWay = false;
  let reason: Fault | undefined;
  let idle: (() => void)[] = [];

  function submit(job: Job): void {
    if (reason !== undefined) {
      job.refused(reason);
      return;
    }
    waiting.push(job);
    if (!underWay) void drain();
  }

  async function drain(): Promise<void> {
    underWay = true;
    while (waiting.length > 0) await commitGroup();
    underWay = false;
    for (const told of idle) told();
    idle = [];
  }

  async function commitGroup(): Promise<void> {
    let group: Job[] = [];
    let thrower: { readonly job: Job; readonly thrown: unknown } | undefined;
    try {
      await transact(() => {
        // The group is gathered only here, when the transaction begins: who came while it was awaited is in it.
        group = waiting;
        waiting = [];
        const enoughBytes = writtenBytes() + groupBytes;
        let ran = 0;
        for (const job of group) {
          if (ran === groupJobs || (ran > 0 && writtenBytes() >= enoughBytes)) break;
          try {
            job.run();
          } catch (thrown) {
            thrower = { job, thrown };
            throw thrown;
          }
          ran += 1;
        }
        waiting = group.splice(ran);
      });
    } catch (thrown) {
      if (thrower === undefined || !isOwn(thrower.thrown)) {
        stop(explain(thrown), group);
      } else {
        const { job: culprit } = thrower;
        waiting = [...group.filter((job) => job !== culprit), ...waiting];
        const cause = causeOf(thrower.thrown);
        tellRefused(culprit, fault('internal-error', `journal: a write failed in the gateway itself: ${cause}`, cause));
      }
      return;
    }
    for (const job of group) tellLanded(job);
    // The engine keeps the body, and with it the group, for as long as it remembers the transaction.
    group = [];
  }

  function stop(why: Fault, group: readonly Job[] = []): void {
    reason = why;
    const refused = [...group, ...waiting];
    waiting = [];
    for (const job of refused) tellRefused(job, why);
  }

  return {
    submit,
    enqueue: (job) => promised(submit, job),
    stop: (why) => stop(why),
    resume() {
      reason = undefined;
    },
    stopped: () => reason,
    settled: () => (underWay ? new Promise((resolve) => idle.push(resolve)) : Promise.resolve()),
  };
}

/** An error of the gateway's own, rather than one that the engine or the operating system reports with a code. */
function isOwn(thrown: unknown): boolean {
  return !(typeof thrown === 'object' && thrown !== null && 'code' in thrown && typeof thrown.code === 'number');
}
