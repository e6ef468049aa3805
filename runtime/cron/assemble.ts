/**
 * Assembles the cron half: the charts with their effects, the schedule that keeps them, and the view for the commands.
 * Decides nothing.
 * @see CRN-1 in docs/specification.md
 */

import { createFireCronJob } from '../../actors/cron/fire-cron-job.ts';
import { createNextDue, knowsZone } from '../../actors/cron/next-due.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { JobFinding, Opened } from '../../actors/webhook/claim-delivery.ts';
import type { RunPlace } from '../../machines/webhook/work-queue.ts';
import type { SharedPorts } from '../config/shared-ports.ts';
import type { SeenRun } from '../control/contract/runs.ts';
import type { NextId } from '../system/ids.ts';
import { createChartPool, poolUnder } from '../system/pools.ts';
import { wireCronJob } from './cron-jobs.ts';
import { findingOf } from './job-outlook.ts';
import { type CronSchedulePorts, createCronSchedule } from './schedule.ts';
import { createCronView } from './view.ts';

interface CronHalfPorts
  extends Pick<SharedPorts, 'root' | 'home' | 'compiling' | 'nowMs' | 'steadyMs' | 'log'>,
    Required<Pick<CronSchedulePorts, 'every'>> {
  readonly keeper: JournalKeeper;
  /** False while so many runs wait in memory that further ones stay on disk. */
  readonly hasRoom: (run: RunPlace) => boolean;
  /** Spawns the run that a commit opened. */
  readonly open: (opened: Opened) => void;
  readonly nextId: NextId;
  /** Redacts secrets in the rows that people read. */
  readonly redact: <Row extends object>(row: Row) => Row;
  readonly seenRun: SeenRun;
}

export function assembleCron(ports: CronHalfPorts) {
  const { root, home, keeper } = ports;
  const fire = createFireCronJob(ports);
  const pool = () => poolUnder(root(), 'cronJobs');
  const schedule = createCronSchedule({
    ...ports,
    profiles() {
      const { profiles, documents } = home();
      return [...profiles].map(([profile, { paths }]) => ({ profile, document: documents.at(paths.jobs) }));
    },
    pool,
    fire,
  });
  const machine = wireCronJob({
    ...ports,
    fire,
    findJob: schedule.find,
    nextDue: createNextDue(),
    knowsZone,
    isReady: () => keeper.journal() !== undefined && keeper.session() !== undefined,
    began: schedule.began,
    finished: schedule.runFinished,
  });
  return {
    /** The pool of the jobs' charts, which the gateway chart keeps under the system id `cronJobs`. */
    pool: createChartPool(ports, {
      name: 'cronJobs',
      machine,
      onDone: (key) => schedule.ended(key, false),
      onCrashed: (key) => schedule.ended(key, true),
    }),
    schedule,
    view: createCronView({ ...ports, schedule, pool }),
    /** The job that a webhook fires, as it is now. */
    findJob: (profile: string, ref: string): JobFinding => findingOf(schedule.find(profile, ref), ref),
  };
}
