/**
 * A cron job: the record in `cron/jobs.json`, read leniently so that a hand-written file works, and the rules that a new
 * record must pass.
 * @see CRN-1 and PRF-2 in docs/specification.md
 */

import { cut, defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { noticePlace } from '../config/notice-place.ts';
import type { Route } from '../config/route.ts';
import { canonicalTarget, cureOfTarget } from '../config/targets.ts';
import { readSchedule, type Schedule } from './expression.ts';

type OfRoute = 'enabled' | 'skills' | 'deliver' | 'deliverExtra' | 'onFailure' | 'onFailureExtra';

export interface CronJob extends Pick<Route, OfRoute> {
  readonly id: string;
  readonly name: string;
  readonly prompt: string;
  readonly paused: boolean;
  /** The model of its runs by name; absent: the profile's. */
  readonly model?: string;
  /** As written; absent: the job is fired only by webhooks and by hand. */
  readonly schedule?: string;
  /** An IANA zone; absent: the zone of the machine. */
  readonly timezone?: string;
  /** How late a missed firing may still be caught up; absent: an hour. */
  readonly graceMs?: number;
  readonly createdAtMs?: number;
  /** Earlier due times fell into a pause and are handled. */
  readonly resumedAtMs?: number;
  /** Why it is unclear whether the job may be fired; it is then not fired. */
  readonly flaw?: string;
  /** What in its record is probably not meant; the job is fired anyway. */
  readonly doubt?: string;
}

/** What a firing takes from its job, in the words of its event, whatever fires it. */
export function workOf(job: CronJob) {
  const { id: cronJob, prompt, skills, model, deliver, deliverExtra } = job;
  return { prompt, skills, ...defined({ model }), deliver, deliverExtra, onFailure: noticePlace(job), cronJob };
}

/** When a job is due: never on its own, by its schedule, or never because the schedule is invalid. */
export type Timing =
  | { readonly kind: 'none' }
  | { readonly kind: 'invalid'; readonly problem: string }
  | {
      readonly kind: 'scheduled';
      readonly schedule: Schedule;
      readonly zone: string | undefined;
      /** Fingerprint that detects a changed schedule. */
      readonly print: string;
    };

/** The first due time after a moment; undefined if there is none. The only access to the calendar. */
export type NextDue = (
  schedule: Schedule,
  zone: string | undefined,
  afterMs: number,
  anchorMs: number,
) => number | undefined;

export type JobRest = 'paused' | 'disabled' | 'broken';

interface JobProblem {
  readonly code: string;
  readonly message: string;
}

/** How late a missed firing may be caught up by default. */
export const defaultGraceMs = 3_600_000;
/** A firing within this time is not late: a timer fires after its time, and a busy machine delays it further. */
export const onTimeMs = 60_000;

const maxNameLength = 100;
const maxShownLength = 60;
const maxGraceSeconds = 7 * 86_400;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const controlCharacter = /[\u0000-\u001f\u007f]/;

/** Reads a record of the file; undefined without an id. Ignores what it cannot use. */
export function readJob(record: JsonObject): CronJob | undefined {
  const {
    name,
    prompt,
    skills,
    model,
    deliver,
    schedule,
    deliver_extra: extra,
    on_failure: onFailure,
    on_failure_extra: onFailureExtra,
    grace_seconds: grace,
  } = record;
  const id = typeof record.id === 'number' ? String(record.id) : record.id;
  if (typeof id !== 'string' || id === '') return undefined;
  // OpenClaw writes the zone into the schedule.
  const timezone = record.timezone ?? (isJsonObject(schedule) ? schedule.tz : undefined);
  const flaw = flawOf(record);
  const doubt = doubtOf(record);
  return {
    id,
    name: typeof name === 'string' && name !== '' ? name : id,
    // A job without a prompt may have skills, or use the event's prompt.
    prompt: typeof prompt === 'string' ? prompt : '',
    enabled: record.enabled !== false,
    paused: record.paused === true,
    skills: Array.isArray(skills) ? skills.filter((one): one is string => typeof one === 'string') : [],
    ...(typeof model === 'string' && model.trim() !== '' ? { model: model.trim() } : {}),
    deliver: typeof deliver === 'string' ? deliver : 'log',
    deliverExtra: isJsonObject(extra) ? extra : {},
    ...(typeof onFailure === 'string' ? { onFailure } : {}),
    ...(isJsonObject(onFailureExtra) ? { onFailureExtra } : {}),
    ...(schedule === undefined || schedule === null ? {} : { schedule: formatSchedule(schedule) }),
    ...(typeof timezone === 'string' && timezone !== '' ? { timezone } : {}),
    ...(typeof grace === 'number' && grace >= 0 ? { graceMs: grace * 1_000 } : {}),
    ...timeOf('createdAtMs', record.created_at),
    ...timeOf('resumedAtMs', record.resumed_at),
    ...(flaw === undefined ? {} : { flaw }),
    ...(doubt === undefined ? {} : { doubt }),
  };
}

export function timingOf(job: CronJob, knowsZone: (zone: string) => boolean): Timing {
  if (job.schedule === undefined) return { kind: 'none' };
  const reading = readSchedule(job.schedule);
  if (reading.kind === 'invalid') return reading;
  if (job.timezone !== undefined && !knowsZone(job.timezone)) {
    return { kind: 'invalid', problem: zoneProblem(job.timezone) };
  }
  const { schedule } = reading;
  return { kind: 'scheduled', schedule, zone: job.timezone, print: `${job.schedule.trim()}|${job.timezone ?? ''}` };
}

/** The jobs that a reference may mean: the one with this id, else all with this name. */
export function jobsMeant(jobs: readonly CronJob[], ref: string): readonly CronJob[] {
  const one = jobs.find(({ id }) => id === ref);
  return one === undefined ? jobs.filter(({ name }) => name === ref) : [one];
}

/** Why a job in the file does not fire; undefined if it does. */
export function restOf({ enabled, paused, flaw }: CronJob): JobRest | undefined {
  if (flaw !== undefined) return 'broken';
  if (paused) return 'paused';
  return enabled ? undefined : 'disabled';
}

/** Why a job was not fired, for the log and the history. */
export function restReason({ name, flaw }: CronJob, rest: JobRest): string {
  return `cron job "${name}" is ${rest}${rest === 'broken' ? `: ${flaw ?? ''}` : ''}`;
}

/** The findings about a record to be written; all at once. */
export function checkNewJob(record: JsonObject, knowsZone: (zone: string) => boolean): readonly JobProblem[] {
  const job = readJob(record);
  if (job === undefined) return [{ code: 'cron-id', message: 'a cron job needs an id' }];
  const found: JobProblem[] = [];
  const place = `cron job "${job.name}"`;
  const refuse = (code: string, message: string): void => {
    found.push({ code, message: `${place}: ${message}` });
  };
  if (typeof record.name !== 'string' || record.name.trim() === '') refuse('cron-name', 'the name is empty');
  else if (controlCharacter.test(record.name)) refuse('cron-name', 'the name holds control characters');
  else if (cut(record.name, maxNameLength) !== record.name) {
    refuse('cron-name', `the name is longer than ${maxNameLength} characters`);
  }
  if (job.schedule !== undefined) {
    const reading = readSchedule(job.schedule);
    if (reading.kind === 'invalid') refuse('cron-schedule', reading.problem);
  }
  const zone = record.timezone === '' ? '' : job.timezone;
  if (zone !== undefined && !knowsZone(zone)) refuse('cron-timezone', zoneProblem(zone));
  if (hasNothingToDo(record)) refuse('cron-prompt', nothingToDo);
  if (job.flaw !== undefined) refuse('cron-job-unfit', job.flaw);
  const { model } = record;
  if (model !== undefined && (job.model === undefined || controlCharacter.test(job.model))) {
    refuse('cron-model', 'the model is no name; write it as agent.model.name is written');
  }
  for (const problem of unknownTargets(job)) refuse('deliver-unknown', problem);
  const { grace_seconds: grace } = record;
  if (grace !== undefined && (typeof grace !== 'number' || !(grace >= 0 && grace <= maxGraceSeconds))) {
    refuse('cron-grace', `grace_seconds must be a number from 0 to ${maxGraceSeconds}`);
  }
  return found;
}

/** Switches must be read strictly: `"enabled": "false"` would fire the job. */
function flawOf(record: JsonObject): string | undefined {
  const odd = ['paused', 'enabled'].filter((key) => typeof (record[key] ?? true) !== 'boolean');
  const [first] = odd;
  if (first === undefined) return undefined;
  return `${odd.map((key) => `${key} is ${shownJson(record[key])}`).join(' and ')}; write true or false`;
}

const nothingToDo = 'a scheduled job needs a prompt or a skill, else its runs have nothing to do';

/** A webhook, or a person who fires a job, may bring the text. */
function hasNothingToDo({ schedule, prompt, skills }: JsonObject): boolean {
  const isScheduled = schedule !== undefined && schedule !== null;
  const says = typeof prompt === 'string' && prompt.trim() !== '';
  return isScheduled && !says && !(Array.isArray(skills) && skills.some((one) => typeof one === 'string'));
}

const isText = (value: Json): boolean => typeof value === 'string';
/** The required form of a key, if the record has it. */
const forms: readonly (readonly [key: string, form: string, fits: (value: Json) => boolean])[] = [
  ['name', 'a text', isText],
  ['prompt', 'a text', isText],
  ['skills', 'a list of names', (value) => Array.isArray(value) && value.every(isText)],
  ['model', 'a name', isText],
  ['deliver', 'the name of a target', isText],
  ['deliver_extra', 'an object', isJsonObject],
  ['on_failure', 'the name of a target', isText],
  ['on_failure_extra', 'an object', isJsonObject],
  ['timezone', 'the name of a zone', isText],
  ['grace_seconds', 'a number, 0 or more', (value) => typeof value === 'number' && value >= 0],
  ...['created_at', 'resumed_at'].map(
    (key) => [key, 'a time such as "2026-06-01T08:00:00Z"', (value: Json) => !Number.isNaN(timeIn(value))] as const,
  ),
];

function doubtOf(record: JsonObject): string | undefined {
  const found: string[] = [];
  for (const [key, form, fits] of forms) {
    const value = record[key] ?? null;
    if (value !== null && !fits(value)) found.push(`${key} is ${shownJson(value)} and is passed over; write ${form}`);
  }
  const { deliver, on_failure: onFailure } = record;
  found.push(
    ...unknownTargets({
      deliver: typeof deliver === 'string' ? deliver : 'log',
      ...(typeof onFailure === 'string' ? { onFailure } : {}),
    }),
  );
  if (hasNothingToDo(record)) found.push(nothingToDo);
  return found.length === 0 ? undefined : found.join('; ');
}

function unknownTargets({ deliver, onFailure }: Pick<CronJob, 'deliver' | 'onFailure'>): readonly string[] {
  const problemOf = (name: string | undefined, use: string): string[] =>
    name === undefined || canonicalTarget(name) !== undefined
      ? []
      : [`${use}, which is no target; ${cureOfTarget(name)}`];
  return [
    ...problemOf(deliver, `delivers to "${deliver}"`),
    ...problemOf(onFailure, `notifies "${onFailure}" of failed runs`),
  ];
}

function shownJson(value: Json | undefined): string {
  return cut(JSON.stringify(value) ?? '', maxShownLength);
}

/** Also reads the objects of Hermes Agent's jobs. The finding about any other value shows it as JSON. */
function formatSchedule(schedule: Json): string {
  if (typeof schedule === 'string') return schedule;
  const { kind, expr, minutes } = isJsonObject(schedule) ? schedule : {};
  if (kind === 'cron' && typeof expr === 'string') return expr;
  if (kind === 'interval' && typeof minutes === 'number') return `every ${minutes}m`;
  return JSON.stringify(schedule);
}

function timeOf<Key extends string>(key: Key, written: Json | undefined): { readonly [K in Key]?: number } {
  const atMs = timeIn(written);
  return Number.isNaN(atMs) ? {} : ({ [key]: atMs } as { readonly [K in Key]?: number });
}

function timeIn(written: Json | undefined): number {
  return typeof written === 'string' ? Date.parse(written) : Number.NaN;
}

function zoneProblem(zone: string): string {
  return `"${zone}" is no time zone; write one such as "UTC" or "Europe/Berlin"`;
}
