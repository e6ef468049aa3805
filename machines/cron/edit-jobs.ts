/**
 * Parses the text of `cron/jobs.json` and changes one record in it: the file's form, unknown keys and other records stay as
 * they are. The caller holds the lock.
 * @see CRN-1 and HOME-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { isTooDeep, readJson } from '../base/read-json.ts';
import { type CronJob, readJob } from './job.ts';

/** The content of a file that does not exist yet. */
export const noJobs = '{ "jobs": [] }';

type JobsRead =
  | { readonly kind: 'read'; readonly jobs: readonly CronJob[]; readonly strays: readonly StrayRecord[] }
  /** Neither a list of jobs nor an object with one. */
  | { readonly kind: 'corrupt' };

/** A record that is not a job. */
export interface StrayRecord {
  readonly id: string;
  readonly name: string;
  readonly problem: string;
}

export function readJobs(text: string): JobsRead {
  const found = parse(text);
  if (found === undefined) return { kind: 'corrupt' };
  const jobs = new Map<string, CronJob>();
  const strays: StrayRecord[] = [];
  for (const [index, record] of found.records.entries()) {
    const job = isJsonObject(record) ? readJob(record) : undefined;
    const place = `record ${index + 1} of jobs.json`;
    if (job === undefined) {
      const name = isJsonObject(record) && typeof record.name === 'string' ? record.name : 'jobs.json';
      const what = isJsonObject(record)
        ? 'has no id; give it one of its own'
        : 'is no object; correct it or take it out';
      strays.push({ id: '', name, problem: `${place} ${what}` });
    } else if (jobs.has(job.id)) {
      const { id, name } = job;
      const problem = `${place} has the id "${id}" of a job before it and is never fired; give it an id of its own`;
      strays.push({ id, name, problem });
    } else {
      jobs.set(job.id, job);
    }
  }
  return { kind: 'read', jobs: withNamesakes([...jobs.values()]), strays };
}

/** Marks jobs that share a name: all are fired, and only their ids distinguish them. */
function withNamesakes(jobs: readonly CronJob[]): readonly CronJob[] {
  const ids = new Map<string, string[]>();
  for (const { id, name } of jobs) ids.set(name, [...(ids.get(name) ?? []), id]);
  return jobs.map((job) => {
    const others = (ids.get(job.name) ?? []).filter((id) => id !== job.id);
    if (others.length === 0) return job;
    const shared = `job ${others.join(', ')} has this name too; name the job by its id, or rename one`;
    return { ...job, doubt: job.doubt === undefined ? shared : `${job.doubt}; ${shared}` };
  });
}

/** The text with a record appended, or replacing the one with its id. Undefined for a corrupt text. */
export function putJob(text: string, record: JsonObject): string | undefined {
  return edited(text, (records) => {
    const at = records.findIndex((one) => idOf(one) === record.id);
    return at < 0 ? [...records, record] : records.with(at, record);
  });
}

/** The text with keys of a job's record changed; undefined keys are removed. */
export function changeJob(
  text: string,
  id: string,
  changes: Readonly<Record<string, Json | undefined>>,
): string | undefined {
  return edited(text, (records) => {
    const at = records.findIndex((one) => idOf(one) === id);
    const record = records[at];
    if (!isJsonObject(record)) return records;
    const merged = Object.entries({ ...record, ...changes }).filter(([, value]) => value !== undefined);
    return records.with(at, Object.fromEntries(merged) as JsonObject);
  });
}

/** The record of a job; undefined if there is none. */
export function recordOf(text: string, id: string): JsonObject | undefined {
  return parse(text)?.records.find((one): one is JsonObject => idOf(one) === id);
}

/** Removes the first record with an id, which is the job. */
export function removeJob(text: string, id: string): string | undefined {
  return edited(text, (records) => {
    const at = records.findIndex((one) => idOf(one) === id);
    return records.filter((_, index) => index !== at);
  });
}

function edited(text: string, change: (records: readonly Json[]) => readonly Json[]): string | undefined {
  const found = parse(text);
  if (found === undefined) return undefined;
  const records = change(found.records);
  const value = found.around === undefined ? records : { ...found.around, jobs: records };
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The records, and the object around them if there is one. */
function parse(
  text: string,
): { readonly records: readonly Json[]; readonly around: JsonObject | undefined } | undefined {
  if (isTooDeep(text)) return undefined;
  // Some editors on Windows write a byte order mark first.
  const value = readJson(text.replace(/^\uFEFF/, ''));
  if (Array.isArray(value)) return { records: value as readonly Json[], around: undefined };
  if (!isJsonObject(value) || !Array.isArray(value.jobs)) return undefined;
  return { records: value.jobs as readonly Json[], around: value };
}

/** The id as `readJob` reads it: a number is an id too. */
function idOf(record: Json): string | undefined {
  return isJsonObject(record) ? readJob(record)?.id : undefined;
}
