/**
 * Gathers jobs into transactions: jobs that arrive while a transaction is being written share the next one and its fsync.
 * A job that throws is refused alone; the other jobs of its group run again without it. After a transaction that could
 * not be written, nothing is tried until `resume`.
 * @see DUR-1 in docs/specification.md
 */

import { causeOf, type Fault, fault, type Result } from '../../machines/base/fault.ts';
import { type Job, notifyLanded, notifyRefused, promised } from './tables.ts';

interface GroupCommitPorts {
  /**
   * Runs the body in one transaction. Resolves once it would survive a power cut; rejects if it was not written or the
   * body threw. A rejected transaction has no effect.
   */
  readonly transact: (body: () => void) => Promise<void>;
  /** Bytes that the jobs have written so far, including earlier groups: only differences count. */
  readonly writtenBytes: () => number;
  /** Returns the fault for the error of a transaction. */
  readonly explain: (thrown: unknown) => Fault;
}

interface GroupCommit {
  /** Adds a job. It is notified once its writes are durable, or with the reason if they are not. */
  submit(job: Job): void;
  /** Resolves with the job's result once its writes are durable. Never rejects. */
  enqueue<Value>(job: () => Value): Promise<Result<Value>>;
  /** Refuses all jobs with this fault, including those that wait. */
  stop(reason: Fault): void;
  resume(): void;
  /** The fault that stops it; undefined while it accepts jobs. */
  stopped(): Fault | undefined;
  /** Resolves when no job is waiting or running. */
  settled(): Promise<void>;
}

/** Jobs per transaction. They run on the event loop, about 10 µs each, so a group blocks it for a few milliseconds. */
const groupJobs = 400;
/** A group is closed after the job that reaches this size; copying it takes two milliseconds. */
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
    for (const resolve of idle) resolve();
    idle = [];
  }

  async function commitGroup(): Promise<void> {
    let group: Job[] = [];
    let thrower: { readonly job: Job; readonly thrown: unknown } | undefined;
    try {
      await transact(() => {
        // The group is formed when the transaction begins, so it includes jobs that arrived while it was awaited.
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
        notifyRefused(
          culprit,
          fault('internal-error', `journal: a write failed in the gateway itself: ${cause}`, cause),
        );
      }
      return;
    }
    for (const job of group) notifyLanded(job);
    // The engine keeps the body, and with it the group, as long as it keeps the transaction.
    group = [];
  }

  function stop(why: Fault, group: readonly Job[] = []): void {
    reason = why;
    const refused = [...group, ...waiting];
    waiting = [];
    for (const job of refused) notifyRefused(job, why);
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

/** An error of the gateway itself, as opposed to one with a numeric code from the engine or the operating system. */
function isOwn(thrown: unknown): boolean {
  return !(typeof thrown === 'object' && thrown !== null && 'code' in thrown && typeof thrown.code === 'number');
}
