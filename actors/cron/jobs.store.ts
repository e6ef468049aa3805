/**
 * The cron jobs of a profile in `cron/jobs.json`: a list of records, or an object with a list under `jobs`. Read again
 * when the file changes. While the file is corrupt, the last good jobs apply and it is not overwritten.
 * @see CRN-1, CRN-2 and SUB-1 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import { noJobs, readJobs, type StrayRecord } from '../../machines/cron/edit-jobs.ts';
import type { CronJob } from '../../machines/cron/job.ts';
import { type Document, unchangedWord } from '../documents.ts';

type JobsUpdate =
  | { readonly kind: 'updated' }
  /** The caller's change returned undefined; nothing was written. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failed'; readonly code: 'cron-jobs-corrupt' | 'cron-jobs-unwritable'; readonly problem: string };

interface StoredJobs {
  /** In the order of the file; the same list while it is unchanged. */
  readonly jobs: readonly CronJob[];
  /** The records of the file that are not valid jobs. */
  readonly strays: readonly StrayRecord[];
  /** Why the current file cannot be used; the rest is then that of the last good one. */
  readonly problem?: string;
}

export interface JobsStore {
  /** The jobs in force, read again if the file has changed. */
  read(): StoredJobs;
  /** Changes the file under its lock. `change` gets the current text and jobs, and returns undefined to write nothing. */
  update(change: (text: string, jobs: readonly CronJob[]) => string | undefined): Promise<JobsUpdate>;
}

const none: StoredJobs = { jobs: [], strays: [] };

export function createJobsStore({ document }: { readonly document: Document }): JobsStore {
  const { place, readCure } = document;
  const corrupt = `${place}: is no list of jobs; correct it or move it away: the last good jobs apply until then, and nothing overwrites it`;
  /** Undefined where there was no file, null if it must be looked at again in any case. */
  let seen: string | undefined | null;
  let stored = none;

  function reread(): StoredJobs {
    try {
      const read = readJobs(document.text());
      return read.kind === 'read' ? { jobs: read.jobs, strays: read.strays } : { ...stored, problem: corrupt };
    } catch (thrown) {
      // Permissions can be fixed without a new stamp, and then there may be no file, so the next call looks again.
      seen = null;
      return { ...stored, problem: `${place}: cannot be read; ${readCure} (${causeOf(thrown)})` };
    }
  }

  return {
    read() {
      const stamp = document.stamp();
      if (stamp !== seen) {
        seen = stamp;
        stored = stamp === undefined ? none : reread();
      }
      return stored;
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
        return { kind: 'failed', code: 'cron-jobs-unwritable', problem: unchangedWord(document, thrown) };
      }
      return verdict;
    },
  };
}
