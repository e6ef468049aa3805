/**
 * One cron job of one profile: plans the next due time, waits for it, claims it and waits until its run has ended. Calendar,
 * file and journal are actions of the wiring; the chart has only times as numbers. Whatever may change the due time (the
 * file, the clock, the end of a run) leads back to `planning`.
 * @see CRN-1 and CRN-2 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect } from '../base/declare.ts';
import { maxTimerMs } from '../base/timer.ts';

interface CronJobInput {
  readonly profile: string;
  readonly job: string;
}

export interface CronJobContext extends CronJobInput {
  /** The due time that is awaited, claimed or skipped; null if there is none. */
  readonly dueAtMs: number | null;
  /** The oldest due time that the firing replaces, if several were missed. */
  readonly missedSinceMs: number | null;
  /** Due times up to here are handled, whatever the journal's mark says. */
  readonly settledMs: number | null;
  readonly run: string | null;
  /** Why nothing is due, or why the last attempt failed. */
  readonly why: string | null;
  /** Whether a due time was skipped since the last wait: a pause gets only one entry in the history. */
  readonly dropped: boolean;
  /** When the last plan was made, in Unix milliseconds: waits are measured from here. */
  readonly atMs: number;
}

/** What a job does next. */
export type Plan =
  | { readonly kind: 'waits'; readonly dueAtMs: number; readonly why?: string }
  | { readonly kind: 'fires'; readonly dueAtMs: number; readonly missedSinceMs?: number }
  | { readonly kind: 'skips'; readonly dueAtMs: number; readonly missedSinceMs?: number; readonly why: string }
  /** The run of the last firing has not ended. */
  | { readonly kind: 'runs'; readonly run: string }
  | { readonly kind: 'pauses'; readonly why: string; readonly dueAtMs?: number }
  /** The job is never due on its own. */
  | { readonly kind: 'idles'; readonly why: string }
  /** The journal is not readable now. */
  | { readonly kind: 'blind'; readonly why: string };

export type CronJobEvent =
  | { readonly type: 'plan.made'; readonly plan: Plan; readonly atMs: number }
  | { readonly type: 'job.changed'; readonly atMs: number }
  | { readonly type: 'job.remove' }
  /** The clock was set. */
  | { readonly type: 'clock.moved'; readonly atMs: number }
  | { readonly type: 'firing.granted'; readonly run: string }
  /** The due time is handled without a run of this gateway. */
  | { readonly type: 'firing.settled' }
  | { readonly type: 'firing.refused'; readonly why: string }
  | { readonly type: 'run.finished'; readonly run: string };

/** Delay before a due time that the journal refused is offered again: a full disk takes a person to clear. */
export const retryMs = 1_000;
/** How often a current run is checked: this gateway gets no event for a run that another gateway adopted. */
export const lookMs = 30_000;

type PlanMade = Extract<CronJobEvent, { readonly type: 'plan.made' }>;

const adopt = { type: 'adopt', params: ({ event }: { readonly event: PlanMade }) => event } as const;

function leadsTo<const Target extends string>(target: Target, kind: Plan['kind']) {
  return {
    guard: { type: 'planIs', params: ({ event }: { readonly event: PlanMade }) => ({ plan: event.plan, kind }) },
    target,
    actions: adopt,
  } as const;
}

export const cronJobMachine = setup({
  types: { input: {} as CronJobInput, context: {} as CronJobContext, events: {} as CronJobEvent },
  actions: {
    planNext: effect('planNext'),
    fireJob: effect('fireJob'),
    passOver: effect('passOver'),
    reportIdle: effect('reportIdle'),
    lookAtRun: effect('lookAtRun'),
    adopt: assign(({ context }, { plan, atMs }: { plan: Plan; atMs: number }) => ({
      atMs,
      dropped: plan.kind === 'waits' ? false : context.dropped,
      dueAtMs: 'dueAtMs' in plan ? (plan.dueAtMs ?? null) : null,
      missedSinceMs: 'missedSinceMs' in plan ? (plan.missedSinceMs ?? null) : null,
      run: 'run' in plan ? plan.run : null,
      why: 'why' in plan ? (plan.why ?? null) : null,
    })),
    rememberRun: assign(({ context }, { run }: { run: string }) => ({ run, settledMs: context.dueAtMs, why: null })),
    rememberSettled: assign(({ context }) => ({ settledMs: context.dueAtMs })),
    rememberDropped: assign(({ context }) => ({ settledMs: context.dueAtMs, dropped: true })),
    rememberWhy: assign((_, { why }: { why: string }) => ({ why })),
    // Due times during a pause are not caught up, even if the file does not say when the pause ended.
    endPause: assign((_, { atMs }: { atMs: number }) => ({ dropped: false, settledMs: atMs })),
    forgetRun: assign({ run: null }),
  },
  guards: {
    planIs: (_, { plan, kind }: { plan: Plan; kind: Plan['kind'] }) => plan.kind === kind,
    isOwnRun: ({ context }, { run }: { run: string }) => context.run === run,
  },
  delays: {
    untilDue: ({ context }) =>
      context.dueAtMs === null
        ? maxTimerMs
        : Math.min(maxTimerMs, Math.max(0, Math.ceil(context.dueAtMs - context.atMs))),
    retryDelay: retryMs,
    lookInterval: lookMs,
  },
}).createMachine({
  id: 'cronJob',
  context: ({ input }) => ({
    profile: input.profile,
    job: input.job,
    dueAtMs: null,
    missedSinceMs: null,
    settledMs: null,
    run: null,
    why: null,
    dropped: false,
    atMs: 0,
  }),
  initial: 'planning',
  on: { 'job.remove': '.removed' },
  states: {
    planning: {
      description: 'Asks the file, the journal and the calendar what is due next.',
      meta: { rule: 'CRN-1' },
      tags: ['working'],
      entry: 'planNext',
      on: {
        'plan.made': [
          leadsTo('scheduled', 'waits'),
          leadsTo('claimed', 'fires'),
          leadsTo('skipping', 'skips'),
          leadsTo('running', 'runs'),
          leadsTo('paused', 'pauses'),
          leadsTo('idle', 'idles'),
          { target: 'postponed', actions: adopt },
        ],
      },
    },
    scheduled: {
      description: 'Waits for the next due time; a wait too long for one timer is continued by another.',
      meta: { rule: 'CRN-1' },
      tags: ['resting'],
      on: { 'job.changed': 'planning', 'clock.moved': 'planning' },
      after: { untilDue: 'planning' },
    },
    claimed: {
      description: 'The claim of the due time, the event and its run go to disk in one commit.',
      meta: { rule: 'CRN-1' },
      tags: ['working'],
      entry: 'fireJob',
      on: {
        'firing.granted': { target: 'running', actions: { type: 'rememberRun', params: ({ event }) => event } },
        'firing.settled': { target: 'planning', actions: 'rememberSettled' },
        'firing.refused': { target: 'postponed', actions: { type: 'rememberWhy', params: ({ event }) => event } },
      },
    },
    skipping: {
      description: 'A due time that was missed, or that fell into a pause, is written down with its reason.',
      meta: { rule: 'CRN-1' },
      tags: ['working'],
      entry: 'passOver',
      on: {
        'firing.settled': { target: 'planning', actions: 'rememberDropped' },
        'firing.refused': { target: 'postponed', actions: { type: 'rememberWhy', params: ({ event }) => event } },
      },
    },
    postponed: {
      description: 'The journal cannot be written; what is due is asked again.',
      meta: { rule: 'DUR-1' },
      tags: ['resting', 'retrying'],
      after: { retryDelay: 'planning' },
    },
    running: {
      description: 'The run of the last firing is in flight; what comes due meanwhile counts as missed.',
      meta: { rule: 'CRN-1' },
      tags: ['working'],
      on: {
        'run.finished': {
          guard: { type: 'isOwnRun', params: ({ event }) => event },
          target: 'planning',
          actions: 'forgetRun',
        },
        'job.changed': { target: 'planning', actions: 'forgetRun' },
      },
      after: { lookInterval: { target: 'running', reenter: true, actions: 'lookAtRun' } },
    },
    paused: {
      description: 'Paused or disabled: the first due time of the pause is written down as dropped, none is fired.',
      meta: { rule: 'CRN-2' },
      tags: ['resting'],
      on: {
        'job.changed': { target: 'planning', actions: { type: 'endPause', params: ({ event }) => event } },
        'clock.moved': 'planning',
      },
      after: { untilDue: 'planning' },
    },
    idle: {
      description: 'Nothing is ever due by itself; webhooks and people may fire it.',
      meta: { rule: 'CRN-1' },
      tags: ['resting'],
      entry: 'reportIdle',
      on: { 'job.changed': 'planning' },
    },
    removed: {
      description: 'The job is no longer in the file; a run of it continues by itself.',
      meta: { rule: 'CRN-1' },
      tags: ['ended'],
      type: 'final',
    },
  },
});
