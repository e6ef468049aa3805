/**
 * Checks the cron jobs of each profile: a file that cannot be used, records that are no jobs, and jobs that are never due
 * or whose responses do not arrive.
 * @see CRN-1 and CLI-2 in docs/specification.md
 */

import { createJobsStore } from '../../actors/cron/jobs.store.ts';
import { shellWord } from '../../machines/base/shell-word.ts';
import { restOf } from '../../machines/cron/job.ts';
import { outlookOf } from '../cron/job-outlook.ts';
import { type Examined, type Finding, placeIn } from './finding.ts';

const correct = 'correct what it says in that file';

export function checkCron({ home, paths }: Examined): readonly Finding[] {
  // Shared documents are not read here; the check of the configuration reports that.
  if (home.documents.isShared) return [];
  return [...home.profiles.values()].flatMap((profile) => {
    const file = placeIn(paths.home, profile.paths.jobs);
    const store = createJobsStore({ document: home.documents.at(profile.paths.jobs) });
    const found = (place: string, what: string, cure: string): Finding => ({
      level: 'warning',
      code: 'cron-finding',
      place,
      what,
      cure,
    });
    const fault = store.problem();
    const option = profile.name === 'default' ? '' : ` --profile ${profile.name}`;
    return [
      ...(fault === undefined ? [] : [found(file, fault.replace(`${profile.paths.jobs}: `, ''), correct)]),
      ...store.strays().map(({ problem }) => found(file, problem, correct)),
      ...store.all().flatMap((job) => {
        const rest = restOf(job);
        if (rest === 'paused' || rest === 'disabled') return [];
        const { problem } = outlookOf(job, profile);
        const remove = `agent cron remove ${shellWord(job.id)}${option}`;
        return problem === undefined ? [] : [found(`${file}: ${job.name}`, problem, `${correct}, or ${remove}`)];
      }),
    ];
  });
}
