/** Provides the effects of the cron job chart: its plan, its firing, and the record of a due time that is not fired. */

import type { DueTime, Entry, NoteVerdict } from '../../actors/cron/fire-cron-job.ts';
import type { Logger } from '../../actors/ports.ts';
import type { Opened } from '../../actors/webhook/claim-delivery.ts';
import { causeOf } from '../../machines/base/fault.ts';
import {
  type CronJobContext,
  type CronJobEvent,
  cronJobMachine,
  type Plan,
} from '../../machines/cron/cron-job.machine.ts';
import { type CronJob, restOf, restReason, timingOf } from '../../machines/cron/job.ts';
import { logUnforeseen } from '../dispatch/work-log.ts';
import type { NextId } from '../system/ids.ts';
import { type PlanPorts, planOf } from './plan.ts';

interface CronJobPorts extends PlanPorts {
  /** Starts a run that is on disk. */
  readonly open: (opened: Opened) => void;
  readonly began: (context: CronJobContext, run: string) => void;
  /** Reports that a run has ended at another gateway; its chart is informed. */
  readonly finished: (run: string) => void;
  readonly nextId: NextId;
  readonly nowMs: () => number;
  readonly log: Logger;
}

interface Listener {
  send(event: CronJobEvent): void;
}

export function wireCronJob(ports: CronJobPorts) {
  return cronJobMachine.provide({
    actions: {
      planNext: ({ context, self }) => {
        const atMs = ports.nowMs();
        planOf(context, atMs, ports)
          .catch((thrown: unknown): Plan => ({ kind: 'blind', why: causeOf(thrown) }))
          .then((plan) => {
            if (plan.kind === 'runs') ports.began(context, plan.run);
            self.send({ type: 'plan.made', plan, atMs });
          });
      },
      fireJob: ({ context, self }) => fireJob(context, self, ports),
      passOver: ({ context, self }) => {
        const job = ports.findJob(context.profile, context.job);
        if (job === undefined) self.send({ type: 'firing.settled' });
        else passOver(context, job, context.why ?? '', self, ports);
      },
      reportIdle: ({ context }) => {
        const { why } = context;
        const job = ports.findJob(context.profile, context.job);
        if (why === null || job?.schedule === undefined) return;
        ports.log.log('error', `cron job "${job.name}" is never due: ${why}`, fieldsOf(context));
        // Once per schedule: after a restart the history already has it.
        ports.fire
          .note(entryOf(context, job, ports), `never due: ${why}`, `${job.schedule}|${job.timezone ?? ''}`)
          .catch((thrown: unknown) => logUnforeseen(ports.log, `cronJobs/${context.job}`, thrown));
      },
      lookAtRun: ({ context }) => {
        const { profile, job, run } = context;
        if (run === null || !ports.isReady()) return;
        ports.fire
          .mark(profile, job)
          .then(ports.fire.inFlight)
          .then((inFlight) => {
            if (inFlight !== run) ports.finished(run);
          })
          .catch((thrown: unknown) => logUnforeseen(ports.log, `cronJobs/${job}`, thrown));
      },
    },
  });
}

/** Reads the record again: a job that was paused after the plan was made is not fired. */
function fireJob(context: CronJobContext, self: Listener, ports: CronJobPorts): void {
  const job = ports.findJob(context.profile, context.job);
  const timing = job && timingOf(job, ports.knowsZone);
  if (job === undefined || timing?.kind !== 'scheduled') {
    self.send({ type: 'firing.settled' });
    return;
  }
  const rest = restOf(job);
  if (rest !== undefined) {
    passOver(context, job, restReason(job, rest), self, ports);
    return;
  }
  const entry = entryOf(context, job, ports);
  ports.fire
    .due(entry, dueOf(context), timing.print)
    .then((verdict) => {
      if (verdict.kind !== 'granted') {
        report(self, verdict);
        return;
      }
      ports.log.log('info', 'cron job fired', { ...fieldsOf(context), run: verdict.run });
      ports.began(context, verdict.run);
      self.send({ type: 'firing.granted', run: verdict.run });
      ports.open(verdict.opened);
    })
    .catch((thrown: unknown) => unforeseen(context, thrown, self, ports));
}

function passOver(context: CronJobContext, job: CronJob, reason: string, self: Listener, ports: CronJobPorts): void {
  const timing = timingOf(job, ports.knowsZone);
  const print = timing.kind === 'scheduled' ? timing.print : '';
  ports.log.log('warn', `cron job not fired: ${reason}`, fieldsOf(context));
  ports.fire
    .pass(entryOf(context, job, ports), dueOf(context), print, reason)
    .then((verdict) => report(self, verdict))
    .catch((thrown: unknown) => unforeseen(context, thrown, self, ports));
}

/** The chart plans again from the journal, which shows whether the firing was committed. */
function unforeseen(context: CronJobContext, thrown: unknown, self: Listener, { log }: CronJobPorts): void {
  logUnforeseen(log, `cronJobs/${context.job}`, thrown);
  self.send({ type: 'firing.refused', why: causeOf(thrown) });
}

function report(self: Listener, verdict: NoteVerdict): void {
  if (verdict.kind === 'refused') self.send({ type: 'firing.refused', why: verdict.reason });
  else self.send({ type: 'firing.settled' });
}

function entryOf({ profile }: CronJobContext, job: CronJob, { nextId, nowMs }: CronJobPorts): Entry {
  const atMs = nowMs();
  return { key: nextId(atMs), nowMs: atMs, profile, job };
}

function dueOf({ dueAtMs, missedSinceMs, atMs }: CronJobContext): DueTime {
  return { dueAtMs: dueAtMs ?? atMs, ...(missedSinceMs === null ? {} : { missedSinceMs }) };
}

function fieldsOf({ profile, job, dueAtMs }: CronJobContext): Record<string, unknown> {
  return { cron_job: job, profile, due_at: dueAtMs === null ? undefined : new Date(dueAtMs).toISOString() };
}
