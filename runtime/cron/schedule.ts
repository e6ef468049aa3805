/**
 * Keeps the charts in line with the files of jobs: spawns a chart for a new job, notifies it of a change, ends it with
 * the job. Once a second it checks the stamp of each file and whether the clock was set. The charts' own timers fire the
 * jobs, so this interval delays no firing.
 * @see CRN-1, CRN-2 and PRF-2 in docs/specification.md
 */

import type { FireCronJob, FiringVerdict } from '../../actors/cron/fire-cron-job.ts';
import { createJobsStore, type JobsStore } from '../../actors/cron/jobs.store.ts';
import { type Document, unread } from '../../actors/documents.ts';
import type { Logger } from '../../actors/ports.ts';
import type { Opened } from '../../actors/webhook/claim-delivery.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { ChartPool, ChartRef } from '../../machines/base/pool.ts';
import type { CronJobContext, cronJobMachine } from '../../machines/cron/cron-job.machine.ts';
import { type CronJob, type JobRest, jobsMeant, restOf, restReason } from '../../machines/cron/job.ts';
import type { NextId } from '../system/ids.ts';
import type { Every } from '../system/ticks.ts';

export interface CronSchedulePorts {
  /** The served profiles with the document of their jobs. */
  readonly profiles: () => readonly { readonly profile: string; readonly document: Document }[];
  /** Undefined while the pool does not run. */
  readonly pool: () => ChartPool<typeof cronJobMachine> | undefined;
  readonly fire: FireCronJob;
  readonly open: (opened: Opened) => void;
  readonly nextId: NextId;
  readonly nowMs: () => number;
  /** Milliseconds that only rise, to detect that the clock was set. */
  readonly steadyMs?: () => number;
  readonly every: Every;
  readonly log: Logger;
}

export type HandVerdict =
  | FiringVerdict
  | { readonly kind: 'unknown' }
  /** Several jobs have the name. */
  | { readonly kind: 'ambiguous'; readonly ids: readonly string[] }
  /** Paused, disabled or broken, and not forced. */
  | { readonly kind: 'dropped'; readonly rest: JobRest };

export interface CronSchedule {
  /** Begins or continues; the journal is open, or has failed to open. */
  start(): void;
  /** Ends every chart; runs in progress continue. */
  stop(): void;
  /** Checks the files and the clock now. */
  look(): void;
  find(profile: string, ref: string): CronJob | undefined;
  /** The store of a profile's jobs; undefined if the profile is not served. */
  store(profile: string): JobsStore | undefined;
  /** Fires a job for a person. */
  run(profile: string, ref: string, how: { readonly context?: string; readonly force: boolean }): Promise<HandVerdict>;
  /** Records that the chart of a job waits for this run. */
  began(context: CronJobContext, run: string): void;
  /** Reports the end of a run, whether it is of a job or not. */
  runFinished(run: string): void;
  /** Reports that the chart of a key has ended or crashed. */
  ended(key: string, crashed: boolean): void;
}

const lookMs = 1_000;
/** A time server makes smaller corrections all day. */
const leastJumpMs = 2_000;
/** Delay before a crashed chart is spawned again, because its cause is likely still there. */
const respawnMs = 60_000;

export function createCronSchedule(ports: CronSchedulePorts): CronSchedule {
  const { pool, fire, nowMs, every, log } = ports;
  const steadyMs = ports.steadyMs ?? (() => performance.now());
  const stores = new Map<string, JobsStore>();
  /** For each running chart, the job that it last received, as JSON. */
  const received = new Map<string, string>();
  const crashed = new Map<string, number>();
  const inFlight = new Map<string, string>();
  const complained = new Map<string, string>();
  /** For each file, the list whose doubts were logged. */
  const doubted = new Map<string, readonly CronJob[]>();
  let stopLooking: (() => void) | undefined;
  let skewMs = 0;

  const storeOf = (place: string, document: Document): JobsStore =>
    getOrMake(stores, place, () => createJobsStore({ document }));

  /** The jobs of a profile in force. Logs each finding about their file once. */
  function jobsIn(profile: string, document: Document): readonly CronJob[] {
    const { place } = document;
    const { jobs, strays, problem } = storeOf(place, document).read();
    if (problem === undefined) complained.delete(place);
    else if (complained.get(place) !== problem) {
      complained.set(place, problem);
      log.log(document.stamp() === unread ? 'info' : 'error', problem, { profile });
    }
    if (doubted.get(place) === jobs) return jobs;
    doubted.set(place, jobs);
    for (const { problem: why } of strays) log.log('error', `cron: ${why}`, { profile });
    for (const { id, name, flaw, doubt } of jobs) {
      if (flaw !== undefined) log.log('error', `cron job "${name}" is not fired: ${flaw}`, { cron_job: id, profile });
      if (doubt !== undefined) log.log('warn', `cron job "${name}": ${doubt}`, { cron_job: id, profile });
    }
    return jobs;
  }

  function documentOf(profile: string): Document | undefined {
    return ports.profiles().find((one) => one.profile === profile)?.document;
  }

  function meantBy(profile: string, ref: string): readonly CronJob[] {
    const document = documentOf(profile);
    return document === undefined ? [] : jobsMeant(jobsIn(profile, document), ref);
  }

  function reconcile(living: ChartPool<typeof cronJobMachine>): void {
    const standing = new Set<string>();
    for (const { profile, document } of ports.profiles()) {
      for (const job of jobsIn(profile, document)) {
        const key = cronKey(profile, job.id);
        standing.add(key);
        keep(living, key, job, profile);
      }
    }
    for (const key of received.keys()) {
      if (standing.has(key)) continue;
      received.delete(key);
      living.get(key)?.send({ type: 'job.remove' });
    }
  }

  function keep(living: ChartPool<typeof cronJobMachine>, key: string, job: CronJob, profile: string): void {
    const text = JSON.stringify(job);
    const before = received.get(key);
    if (before === text) {
      if (living.get(key) === undefined) respawn(living, key, job, profile);
      return;
    }
    const chart = living.get(key);
    // The plan that is being made does not know of the change; the next look repeats it.
    if (isPlanning(chart)) return;
    received.set(key, text);
    crashed.delete(key);
    if (chart === undefined) living.spawn(key, { profile, job: job.id });
    else chart.send({ type: 'job.changed', atMs: nowMs() });
  }

  function respawn(living: ChartPool<typeof cronJobMachine>, key: string, job: CronJob, profile: string): void {
    const atMs = crashed.get(key);
    if (atMs !== undefined && steadyMs() - atMs < respawnMs) return;
    crashed.delete(key);
    living.spawn(key, { profile, job: job.id });
  }

  /** After the clock was set every wait is wrong, so each chart plans again. */
  function watchClock(living: ChartPool<typeof cronJobMachine>): void {
    const atMs = nowMs();
    const skew = atMs - steadyMs();
    const jumpMs = Math.round(skew - skewMs);
    skewMs = skew;
    if (Math.abs(jumpMs) < leastJumpMs || living.size === 0) return;
    const reason =
      jumpMs > 0
        ? `the clock moved forward by ${jumpMs / 1_000} s; due times in between count as missed`
        : `the clock moved back by ${-jumpMs / 1_000} s; due times that come again are not fired again`;
    log.log('warn', `cron: ${reason}`);
    const key = ports.nextId(atMs);
    void fire.note({ key, nowMs: atMs, profile: 'default', job: clockJob }, reason, key);
    for (const [key, chart] of living) {
      // A plan that is being made goes by the clock as it was, so it is made again at the next look.
      if (isPlanning(chart)) received.set(key, '');
      chart.send({ type: 'clock.moved', atMs });
    }
  }

  function look(): void {
    const living = pool();
    if (stopLooking === undefined || living === undefined) return;
    reconcile(living);
    watchClock(living);
  }

  return {
    start() {
      if (stopLooking === undefined) {
        skewMs = nowMs() - steadyMs();
        stopLooking = every(look, lookMs);
      }
      look();
    },
    stop() {
      stopLooking?.();
      stopLooking = undefined;
      pool()?.clear();
      received.clear();
      crashed.clear();
      inFlight.clear();
    },
    look,
    find: (profile, ref) => meantBy(profile, ref)[0],
    store(profile) {
      const document = documentOf(profile);
      return document && storeOf(document.place, document);
    },
    async run(profile, ref, { context, force }) {
      const meant = meantBy(profile, ref);
      const [job] = meant;
      if (job === undefined) return { kind: 'unknown' };
      if (meant.length > 1) return { kind: 'ambiguous', ids: meant.map(({ id }) => id) };
      const atMs = nowMs();
      const entry = { key: ports.nextId(atMs), nowMs: atMs, profile, job };
      const rest = restOf(job);
      if (rest !== undefined && !force) {
        const reason = restReason(job, rest);
        log.log('warn', `cron job not fired: ${reason}`, { cron_job: job.id, profile });
        await fire.note(entry, reason, entry.key);
        return { kind: 'dropped', rest };
      }
      const verdict = await fire.byHand(entry, context);
      if (verdict.kind === 'granted') ports.open(verdict.opened);
      return verdict;
    },
    began: ({ profile, job }, run) => {
      inFlight.set(run, cronKey(profile, job));
    },
    runFinished(run) {
      const key = inFlight.get(run);
      if (key === undefined) return;
      inFlight.delete(run);
      pool()?.get(key)?.send({ type: 'run.finished', run });
    },
    ended(key, hasCrashed) {
      if (hasCrashed) crashed.set(key, steadyMs());
    },
  };
}

function isPlanning(chart: ChartRef<typeof cronJobMachine> | undefined): boolean {
  return chart?.getSnapshot().value === 'planning';
}

/** The key of a job's chart in the pool; a profile's name contains no slash. */
export function cronKey(profile: string, job: string): string {
  return `${profile}/${job}`;
}

/** The job of history entries that concern all jobs. */
export const clockJob: CronJob = {
  id: '*',
  name: 'clock',
  prompt: '',
  enabled: true,
  paused: false,
  skills: [],
  deliver: 'log',
  deliverExtra: {},
};
