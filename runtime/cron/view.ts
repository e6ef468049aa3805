/**
 * Answers the commands about running jobs, as plain JSON: their state and the outcome of their firings. Also fires a job
 * on request.
 * @see CRN-1 and DUR-2 in docs/specification.md
 */

import type { CronEventRecord } from '../../actors/cron/fire-cron-job.ts';
import type { JobsStore } from '../../actors/cron/jobs.store.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { defined } from '../../machines/base/json.ts';
import type { ChartPool } from '../../machines/base/pool.ts';
import type { cronJobMachine } from '../../machines/cron/cron-job.machine.ts';
import { eventSummary } from '../../machines/webhook/record.ts';
import type { FiringRow } from '../control/contract/jobs.ts';
import type { SeenRun } from '../control/contract/runs.ts';
import { eventsOfJobs } from '../dispatch/history.ts';
import { newestFirst } from '../dispatch/newest-first.ts';
import { type CronSchedule, clockJob, cronKey, type HandVerdict } from './schedule.ts';

export interface JobStanding {
  /** The state of its chart. */
  readonly state: string;
  readonly sinceMs: number;
  readonly dueAtMs?: number;
  readonly run?: string;
  readonly why?: string;
}

export interface CronView {
  /** Undefined for a job without a chart. */
  standing(profile: string, job: string): JobStanding | undefined;
  /** The outcomes of a job's firings, newest first. */
  history(profile: string, job: string, limit: number): Promise<readonly FiringRow[]>;
  run(profile: string, ref: string, how: { readonly context?: string; readonly force: boolean }): Promise<HandVerdict>;
  /** The store of a profile's jobs; undefined if the profile is not served. */
  store(profile: string): JobsStore | undefined;
  redact<Row extends object>(row: Row): Row;
  /** Checks the files now, because one has changed. */
  look(): void;
}

interface CronViewPorts {
  readonly schedule: CronSchedule;
  readonly pool: () => ChartPool<typeof cronJobMachine> | undefined;
  readonly keeper: JournalKeeper;
  readonly redact: <Row extends object>(row: Row) => Row;
  readonly seenRun: SeenRun;
}

export function createCronView({ schedule, pool, keeper, redact, seenRun }: CronViewPorts): CronView {
  return {
    standing(profile, job) {
      const seen = pool()?.get(cronKey(profile, job))?.getSnapshot();
      if (seen === undefined) return undefined;
      const { value, since, context } = seen;
      return {
        state: value,
        sinceMs: since,
        ...(context.dueAtMs === null ? {} : { dueAtMs: context.dueAtMs }),
        ...(context.run === null ? {} : { run: context.run }),
        ...(context.why === null ? {} : { why: context.why }),
      };
    },
    history: (profile, job, limit) =>
      newestFirst(keeper.journal(), eventsOfJobs([job, clockJob.id], limit), async ({ value }) => {
        const event = value as CronEventRecord;
        const isOfJob = event.cronJob === job && event.profile === profile;
        return isOfJob || event.cronJob === clockJob.id ? rowOf(event, keeper, seenRun) : undefined;
      }),
    run: schedule.run,
    store: schedule.store,
    redact,
    look: schedule.look,
  };
}

async function rowOf(event: CronEventRecord, keeper: JournalKeeper, seenRun: SeenRun): Promise<FiringRow> {
  const { work } = event;
  const run = work === undefined ? undefined : await keeper.journal()?.get('runs', work);
  const row = eventSummary(event, run && seenRun(run.key, run.value, run.heldBy));
  return {
    at: row.received_at,
    cause: causes[event.event] ?? 'webhook',
    status: row.status,
    ...(event.dueAtMs === undefined ? {} : { due_at: new Date(event.dueAtMs).toISOString() }),
    ...defined({ reason: row.reason, run: event.work }),
    delivery_id: row.delivery_id,
  };
}

const causes: Readonly<Record<string, string>> = {
  'cron.due': 'schedule',
  'cron.manual': 'manual',
  'cron.note': 'note',
};
