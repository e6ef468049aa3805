/**
 * The unit of work of an engine: work on the tables, with callbacks for its outcome. An object rather than a promise,
 * because tens of thousands of commits a second would each need three promises, which cost more than their writes.
 */

import type { Fault, Result } from '../../machines/base/fault.ts';

export interface Job {
  /** Does the work, inside a transaction. Runs again if another job of the same transaction threw. */
  run(): void;
  /** The writes of `run` are as durable as the engine makes them. */
  landed(): void;
  /** Nothing was written. */
  refused(reason: Fault): void;
}

/** Runs a job on an engine and resolves with its result once that is durable. Never rejects. */
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

/** Joins several jobs into one, so that an engine puts all of them into one transaction. */
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

/**
 * Notifies a job that it is durable. An error of its callback is rethrown later, so that the other jobs are notified too.
 */
export function tellLanded(job: Job): void {
  try {
    job.landed();
  } catch (thrown) {
    throwLater(thrown);
  }
}

/** Notifies a job that nothing was written. An error of its callback is rethrown later. */
export function tellRefused(job: Job, reason: Fault): void {
  try {
    job.refused(reason);
  } catch (thrown) {
    throwLater(thrown);
  }
}

/** Calls back; an error is rethrown later, outside the caller. */
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
