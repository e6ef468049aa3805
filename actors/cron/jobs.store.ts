/**
 * The cron jobs of a profile in `cron/jobs.json`: a list of records, or an object with a list under `jobs`. Read again
 * when the file changes. While the file is corrupt, the last good jobs apply and it is not overwritten.
 * @see CRN-1, CRN-2 and SUB-1 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import { noJobs, readJobs, type StrayRecord } from '../../machines/cron/edit-jobs.ts';
import type { CronJob } from '../../machines/cron/job.ts';
import type { Document } from '../documents.ts';

export type JobsUpdate =
  | { readonly kind: 'updated' }
  /** The caller's change returned undefined; nothing was written. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failed'; readonly code: 'cron-jobs-corrupt' | 'cron-jobs-unwritable'; readonly problem: string };

export interface JobsStore {
  /** Finds a job by id, else the first by name. */
  find(ref: string): CronJob | undefined;
  /** The jobs that a reference may mean: the one with this id, else all with this name. */
  meant(ref: string): readonly CronJob[];
  /** The records of the file that are not valid jobs. */
  strays(): readonly StrayRecord[];
  /** The jobs in the order of the file; the same list while it is unchanged. */
  all(): readonly CronJob[];
  /** Why the current file cannot be used; the jobs are then those of the last good one. */
  problem(): string | undefined;
  /** Changes the file under its lock. `change` gets the current text and jobs, and returns undefined to write nothing. */
  update(change: (text: string, jobs: readonly CronJob[]) => string | undefined): Promise<JobsUpdate>;
}

export function createJobsStore({ document }: { readonly document: Document }): JobsStore {
  const { place, readCure, writeCure } = document;
  const corrupt = `${place}: is no list of jobs; correct it or move it away: the last good jobs apply until then, and nothing overwrites it`;
  let seen: string | undefined;
  let jobs: readonly CronJob[] = [];
  let strays: readonly StrayRecord[] = [];
  let problem: string | undefined;

  function reread(): void {
    const stamp = document.stamp();
    if (stamp === seen) return;
    seen = stamp;
    problem = undefined;
    if (stamp === undefined) {
      jobs = [];
      strays = [];
      return;
    }
    try {
      const read = readJobs(document.text());
      if (read.kind === 'read') ({ jobs, strays } = read);
      else problem = corrupt;
    } catch (thrown) {
      // Permissions can be fixed without a new stamp, so the next call reads again.
      seen = undefined;
      problem = `${place}: cannot be read; ${readCure} (${causeOf(thrown)})`;
    }
  }

  return {
    find(ref) {
      reread();
      return jobs.find(({ id }) => id === ref) ?? jobs.find(({ name }) => name === ref);
    },
    meant(ref) {
      reread();
      const one = jobs.find(({ id }) => id === ref);
      return one === undefined ? jobs.filter(({ name }) => name === ref) : [one];
    },
    strays() {
      reread();
      return strays;
    },
    all() {
      reread();
      return jobs;
    },
    problem() {
      reread();
      return problem;
    },
    async update(change) {
      let verdict: JobsUpdate = { kind: 'unchanged' };
      try {
        await document.update((text = noJobs) => {
          const read = readJobs(text);
          if (read.kind === 'corrupt') {
            verdict = { kind: 'failed', code: 'cron-jobs-corrupt', problem: corrupt };
            return undefined;
          }
          const next = change(text, read.jobs);
          verdict = { kind: next === undefined ? 'unchanged' : 'updated' };
          return next;
        });
      } catch (thrown) {
        const cause = causeOf(thrown);
        return {
          kind: 'failed',
          code: 'cron-jobs-unwritable',
          problem: `${place}: cannot be changed: ${cause}; ${writeCure}`,
        };
      }
      return verdict;
    },
  };
}
