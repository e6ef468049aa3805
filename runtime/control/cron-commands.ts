/**
 * The commands of the cron jobs. All except `cron.run` need only the home: they change and read `cron/jobs.json`. A
 * running daemon adds the jobs' states and the outcomes of their firings.
 * @see CRN-1 and CLI-3 in docs/specification.md
 */

import { randomBytes } from 'node:crypto';
import type { LoadedHome } from '../../actors/config/load-config.ts';
import { createJobsStore, type JobsStore } from '../../actors/cron/jobs.store.ts';
import { createNextDue, hostZone, knowsZone } from '../../actors/cron/next-due.ts';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { type ProfileName, profileOption } from '../../machines/base/names.ts';
import { shellWord } from '../../machines/base/shell-word.ts';
import { iso } from '../../machines/base/since.ts';
import { changeJob, putJob, recordOf, removeJob } from '../../machines/cron/edit-jobs.ts';
import {
  type CronJob,
  checkNewJob,
  defaultGraceMs,
  type JobRest,
  jobsMeant,
  restOf,
  timingOf,
} from '../../machines/cron/job.ts';
import { outlookOf } from '../cron/job-outlook.ts';
import { nextTimes, noSchedule } from '../cron/plan.ts';
import type { JobStanding } from '../cron/view.ts';
import { type CommandHost, type Commands, daemonOf, optionalText, textOf } from './command.ts';
import type { ChangedJob, JobDetail, JobRow } from './contract/jobs.ts';
import { Refusal, refuse } from './contract/refusal.ts';
import type { Result } from './contract.ts';
import { homeOf, notServed, profileOf, unknownJob } from './home-view.ts';

interface Found {
  readonly profile: ProfileName;
  readonly store: JobsStore;
  readonly job: CronJob;
}

const nextDue = createNextDue();
const idBytes = 6;
const shownTimes = 5;
const defaultRows = 10;
const maxRows = 1_000;

export const cronCommands = {
  'cron.list': listJobs,
  'cron.show': showJob,
  'cron.add': addJob,
  'cron.edit': editJob,
  'cron.pause': (host, params) => setPaused(host, params, true),
  'cron.resume': (host, params) => setPaused(host, params, false),
  'cron.remove': dropJob,
  'cron.run': runJob,
} satisfies Partial<Commands>;

function listJobs(host: CommandHost, params: JsonObject): Result<'cron.list'> {
  const home = homeOf(host);
  const only = params.profile === undefined ? undefined : served(home, profileOf(params.profile));
  const rows: JobRow[] = [];
  for (const { name: profile } of home.profiles.values()) {
    if (only !== undefined && profile !== only) continue;
    const { jobs, strays, problem } = storeOf(home, profile, host).read();
    for (const job of jobs) rows.push(rowOf(job, profile, host));
    for (const stray of strays) rows.push({ ...stray, profile, state: 'broken' });
    if (problem !== undefined) rows.push({ id: '', name: 'jobs.json', profile, state: 'broken', problem });
  }
  return rows.map((row) => shown(host, row));
}

async function showJob(host: CommandHost, params: JsonObject): Promise<JobDetail> {
  const { profile, job } = findJob(host, params);
  const view = host.daemon?.cron;
  const asked = typeof params.limit === 'number' ? params.limit : defaultRows;
  const limit = Math.min(maxRows, Math.max(1, asked));
  const timing = timingOf(job, knowsZone);
  const times = restOf(job) === undefined ? nextTimes(job, timing, Date.now(), { nextDue, count: shownTimes }) : [];
  return shown(host, {
    ...rowOf(job, profile, host),
    prompt: job.prompt,
    skills: job.skills,
    ...(job.model === undefined ? {} : { model: job.model }),
    deliver_extra: job.deliverExtra,
    ...(job.onFailure === undefined ? {} : { on_failure: job.onFailure }),
    ...(job.onFailureExtra === undefined ? {} : { on_failure_extra: job.onFailureExtra }),
    grace_seconds: (job.graceMs ?? defaultGraceMs) / 1_000,
    ...(job.createdAtMs === undefined ? {} : { created_at: iso(job.createdAtMs) }),
    next: times.map(iso),
    // Only the daemon reads the journal.
    ...(view === undefined ? {} : { history: await view.history(profile, job.id, limit) }),
  });
}

/** Checks the record before it is written; all findings are reported at once. */
async function addJob(host: CommandHost, params: JsonObject): Promise<ChangedJob> {
  const home = homeOf(host);
  const profile = served(home, profileOf(params.profile));
  const given = isJsonObject(params.record) ? params.record : {};
  const name = textOf(params, 'name');
  const record: JsonObject = {
    ...given,
    id: randomBytes(idBytes).toString('hex'),
    name,
    ...(typeof given.schedule === 'string' && given.timezone === undefined ? { timezone: ownZone(name) } : {}),
    // In whole seconds: intervals are counted from here.
    created_at: iso(Math.floor(Date.now() / 1_000) * 1_000),
  };
  const unfit = refusalOf(record);
  if (unfit !== undefined) throw unfit;
  const store = storeOf(home, profile, host);
  let whole = record;
  let refusal: Refusal | undefined;
  const updated = await store.update((text, jobs) => {
    const [standing, ...others] = jobs.filter(({ id, name }) => name === record.name || id === record.name);
    if (standing !== undefined && params.force !== true) {
      refusal = new Refusal(
        'cron-job-exists',
        `a cron job "${String(record.name)}" exists already in profile "${profile}"; remove it first or pass --force`,
      );
      return undefined;
    }
    if (standing !== undefined && others.length > 0) {
      const ids = [standing, ...others].map(({ id }) => id);
      refusal = ambiguousJob(String(record.name), profile, ids);
      return undefined;
    }
    // Routes may name a job by its id, so a replaced job keeps it.
    whole = standing === undefined ? record : { ...record, id: standing.id };
    return putJob(text, whole);
  });
  if (refusal !== undefined) throw refusal;
  if (updated.kind === 'failed') return refuse(updated.code, updated.problem);
  return answer(host, profile, store, String(whole.id));
}

/** The zone of this machine is stored, so that every gateway and every later start uses the same times. */
function ownZone(name: string): string {
  const zone = hostZone();
  if (zone !== undefined) return zone;
  const rule = process.env.TZ ?? '';
  const why = rule === '' ? 'the system names no time zone' : `TZ is "${rule}", which names no time zone`;
  const what = `${why}; give --timezone, such as "UTC" or "Europe/Berlin"`;
  throw Refusal.carrying('cron-timezone', `cron job "${name}": ${what}`);
}

function refusalOf(record: JsonObject): Refusal | undefined {
  const [first, ...others] = checkNewJob(record, knowsZone);
  return first && Refusal.carrying(first.code, [first, ...others].map(({ message }) => message).join('\n'));
}

/** The keys that an edit changes; routes refer to a job by its id and its name. */
const editable: ReadonlySet<string> = new Set([
  ...['schedule', 'timezone', 'prompt', 'skills', 'model', 'grace_seconds'],
  ...['deliver', 'deliver_extra', 'on_failure', 'on_failure_extra'],
]);

/** Shown in place of a secret; an edit of what was shown would replace the secret by it. */
const mask = '[redacted]';

/** Checks the record that results before it is written. Null removes a key; a zone becomes that of this machine. */
async function editJob(host: CommandHost, params: JsonObject): Promise<ChangedJob> {
  const { profile, store, job } = findJob(host, params);
  const given = isJsonObject(params.record) ? params.record : {};
  const odd = Object.keys(given).find((key) => !editable.has(key));
  if (odd !== undefined) return refuse('cron-job-unfit', `cron job "${job.name}": an edit does not change "${odd}"`);
  const { schedule, prompt } = given;
  if (typeof prompt === 'string' && prompt.includes(mask) && !job.prompt.includes(mask))
    return refuse(
      'cron-job-unfit',
      `cron job "${job.name}": the prompt has "${mask}" in place of a secret; write the secret there`,
    );
  const timezone = given.timezone === null ? ownZone(job.name) : given.timezone;
  const zone = typeof schedule === 'string' ? (timezone ?? job.timezone ?? ownZone(job.name)) : undefined;
  let refusal: Refusal | undefined;
  await change(store, (text, jobs) => {
    const record = recordOf(text, job.id);
    // Another edit may have changed it meanwhile.
    const { timezone: standing } = jobs.find(({ id }) => id === job.id) ?? job;
    const changes: JsonObject = {
      ...given,
      ...(timezone === undefined ? {} : { timezone }),
      ...(zone === undefined ? {} : { timezone: timezone ?? standing ?? zone }),
      // Due times before the change are not caught up.
      ...(schedule === undefined && timezone === undefined ? {} : { resumed_at: iso(Date.now()) }),
    };
    // A name of another form is passed over, and no edit changes it.
    const kept = Object.entries({ ...record, ...changes, name: job.name }).filter(([, value]) => value !== null);
    refusal = record === undefined ? unknownJob(job.name, profile) : refusalOf(Object.fromEntries(kept));
    const named = Object.entries(changes).map(([key, value]) => [key, value ?? undefined] as const);
    return refusal === undefined ? changeJob(text, job.id, Object.fromEntries(named)) : undefined;
  });
  if (refusal !== undefined) throw refusal;
  return answer(host, profile, store, job.id);
}

/** A resumed job stores the time: due times during the pause are not caught up. */
async function setPaused(host: CommandHost, params: JsonObject, paused: boolean): Promise<ChangedJob> {
  const { profile, store, job } = findJob(host, params);
  const changes: Record<string, Json | undefined> = paused
    ? { paused: true }
    : { paused: undefined, enabled: undefined, resumed_at: iso(Date.now()) };
  const rests = restOf(job);
  if (paused ? rests !== 'paused' : rests !== undefined) {
    await change(store, (text) => changeJob(text, job.id, changes));
  }
  return answer(host, profile, store, job.id);
}

async function dropJob(host: CommandHost, params: JsonObject): Promise<Result<'cron.remove'>> {
  const { profile, store, job } = findJob(host, params);
  await change(store, (text) => removeJob(text, job.id));
  host.daemon?.cron.look();
  return { removed: job.name, id: job.id, profile };
}

async function runJob(host: CommandHost, params: JsonObject): Promise<Result<'cron.run'>> {
  const view = daemonOf(host).cron;
  const ref = textOf(params, 'job');
  const profile = served(homeOf(host), profileOf(params.profile));
  const context = optionalText(params, 'context');
  const verdict = await view.run(profile, ref, {
    force: params.force === true,
    ...(context === undefined ? {} : { context }),
  });
  switch (verdict.kind) {
    case 'granted':
      return { run: verdict.run, profile };
    case 'unknown':
      throw unknownJob(ref, profile);
    case 'ambiguous':
      throw ambiguousJob(ref, profile, verdict.ids);
    case 'dropped':
      return refuse(
        codeOfRest[verdict.rest],
        `cron job "${ref}" is ${verdict.rest} and was not fired; \`agent cron resume ${shellWord(ref)}${profileOption(profile)}\` resumes it, --force fires it all the same`,
      );
    case 'taken':
      return refuse('cron-job-taken', `cron job "${ref}" was fired by another gateway at the same moment`);
    case 'refused':
      return refuse('journal-unavailable', `cron job "${ref}" was not fired: ${verdict.reason}`);
  }
}

const codeOfRest = {
  paused: 'cron-job-paused',
  disabled: 'cron-job-disabled',
  broken: 'cron-job-broken',
} as const satisfies Record<JobRest, string>;

async function change(store: JobsStore, edit: Parameters<JobsStore['update']>[0]): Promise<void> {
  const updated = await store.update(edit);
  if (updated.kind === 'failed') return refuse(updated.code, updated.problem);
}

/** The job after a change, of which the daemon is notified. */
function answer(host: CommandHost, profile: ProfileName, store: JobsStore, id: string): ChangedJob {
  const view = host.daemon?.cron;
  view?.look();
  const [job] = jobsMeant(store.read().jobs, id);
  return job === undefined ? { id, profile } : shown(host, rowOf(job, profile, host));
}

/** The daemon redacts its answers; without one, people read their own file. */
function shown<Row extends object>({ daemon }: CommandHost, row: Row): Row {
  return daemon === undefined ? row : daemon.cron.redact(row);
}

/** In a daemon the chart has the job's state; without one it follows from the record. */
function rowOf(job: CronJob, profile: ProfileName, host: CommandHost): JobRow {
  const view = host.daemon?.cron;
  const { timing, dueAtMs: first, never, problem } = outlookOf(job, homeOf(host).profiles.get(profile));
  const rest = restOf(job);
  const standing = view?.standing(profile, job.id);
  const state = rest ?? (never === undefined ? undefined : 'broken') ?? stateOf(standing, timing.kind);
  // That of a run in progress is past, and that of a job that is planned anew may be of its earlier schedule.
  const planned = ['running', 'planning'].includes(standing?.state ?? '') ? undefined : standing?.dueAtMs;
  const due = rest === undefined ? (planned ?? first) : undefined;
  // While it is planned anew, the reason is the earlier one.
  const why = standing?.state === 'planning' ? undefined : standing?.why;
  return {
    id: job.id,
    name: job.name,
    profile,
    schedule: job.schedule ?? '',
    timezone: timing.kind === 'scheduled' ? (timing.zone ?? hostZone() ?? '') : (job.timezone ?? ''),
    state,
    deliver: job.deliver,
    next_due: due === undefined ? null : iso(due),
    ...(standing === undefined ? {} : { since: iso(standing.sinceMs) }),
    ...(standing?.run === undefined ? {} : { run: standing.run }),
    ...(problem === undefined ? {} : { problem }),
    ...(why === undefined || why === problem || why === rest || why === noSchedule ? {} : { why }),
  };
}

/** `planning` lasts milliseconds, so it is not shown. */
function stateOf(standing: JobStanding | undefined, timing: string): string {
  if (standing === undefined || standing.state === 'planning') return timing === 'none' ? 'idle' : 'scheduled';
  return standing.state;
}

function findJob(host: CommandHost, params: JsonObject): Found {
  const ref = textOf(params, 'job');
  const home = homeOf(host);
  const profile = served(home, profileOf(params.profile));
  const store = storeOf(home, profile, host);
  const { jobs, problem } = store.read();
  const meant = jobsMeant(jobs, ref);
  const [job] = meant;
  if (meant.length > 1) {
    throw ambiguousJob(
      ref,
      profile,
      meant.map(({ id }) => id),
    );
  }
  if (job !== undefined) return { profile, store, job };
  throw problem === undefined ? unknownJob(ref, profile) : new Refusal('cron-jobs-corrupt', problem);
}

/** The daemon's store, which keeps the last valid jobs of a corrupt file; without a daemon, the file is read here. */
function storeOf({ profiles, main, documents }: LoadedHome, profile: ProfileName, { daemon }: CommandHost): JobsStore {
  const { paths } = profiles.get(profile) ?? main;
  return daemon?.cron.store(profile) ?? createJobsStore({ document: documents.at(paths.jobs) });
}

function served(home: LoadedHome, profile: ProfileName): ProfileName {
  if (home.profiles.has(profile)) return profile;
  throw notServed(profile);
}

function ambiguousJob(ref: string, profile: string, ids: readonly string[]): Refusal {
  return new Refusal(
    'cron-job-ambiguous',
    `${ids.length} cron jobs are named "${ref}" in profile "${profile}"; name one by its id: ${ids.join(', ')}`,
  );
}
