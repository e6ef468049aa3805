/**
 * What an engine runs: a piece of work on the tables, with a callback for its outcome. An object rather than a promise,
 * because a request's commit is one of tens of thousands a second and three promises each would cost it more than its
 * writes do.
 */

import type { Fault, Result } from '../../machines/base/fault.ts';

export interface Job {
  /** Does the work, inside a transaction. Runs again where another job of the same transaction threw. */
  run(): void;
  /** What `run` wrote is as durable as the engine makes it. */
  landed(): void;
  /** Nothing of it was written. */
  refused(reason: Fault): void;
}

/** Runs a job on an engine and resolves with what it returned, once that is durable. Never rejects. */
export function promised<Value>(submit: (job: Job) => void, work: () => Value): Promise<Result<Value>> {
  return new Promise((resolve) => {
    let value: Value;
    submit({
      run() {
        value = work();
      },
      landed: () => resolve({ ok: true, value }),
      refused: (reason) => resolve({ ok: false, fault: reason }),
    });
  });
}

/** One job of several: an engine puts all of them into one transaction. */
export function joined(jobs: readonly Job[]): Job {
  return {
    run() {
      for (const job of jobs) job.run();
    },
    landed() {
      for (const job of jobs) tellLanded(job);
    },
    refused(reason) {
      for (const job of jobs) tellRefused(job, reason);
    },
  };
}

/** Tells a job that it has landed. Whoever hears of it may fail; it has landed all the same, and the others hear of it too. */
export function tellLanded(job: Job): void {
  try {
    job.landed();
  } catch (thrown) {
    throwLater(thrown);
  }
}

/** Tells a job that nothing of it was written; the others hear of theirs whatever it makes of that. */
export function tellRefused(job: Job, reason: Fault): void {
  try {
    job.refused(reason);
  } catch (thrown) {
    throwLater(thrown);
  }
}

/** Calls back; what it makes of that is not the caller's. */
export function tellUncaught(callback: () => void): void {
  try {
    callback();
  } catch (thrown) {
    throwLater(thrown);
  }
}

function throwLater(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}
