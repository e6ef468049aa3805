/**
 * Reads the text of `cron/jobs.json` and changes one record in it: the form of the file, unknown keys and other records
 * stay as they are. Knows no lock.
 * @see CRN-1 and HOME-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { type CronJob, readJob } from './job.ts';

/** What a file that is not there yet holds. */
export const noJobs = '{ "jobs": [] }';

export type JobsRead =
  | { readonly kind: 'read'; readonly jobs: readonly CronJob[] }
  /** No list of jobs, nor an object with one. */
  | { readonly kind: 'corrupt' };

export function readJobs(text: string): JobsRead {
  const found = parse(text);
  if (found === undefined) return { kind: 'corrupt' };
  return {
    kind: 'read',
    jobs: found.records.filter(isJsonObject).flatMap((record) => {
      const job = readJob(record);
      return job === undefined ? [] : [job];
    }),
  };
}

/** The text with a record put at the end, or in the place of the one with its id. Undefined for a corrupt text. */
export function putJob(text: string, record: JsonObject): string | undefined {
  return edited(text, (records) => {
    const at = records.findIndex((one) => idOf(one) === record.id);
    return at < 0 ? [...records, record] : records.with(at, record);
  });
}

/** The text with keys of a job's record changed; a key that is undefined is taken out. */
export function changeJob(
  text: string,
  id: string,
  changes: Readonly<Record<string, Json | undefined>>,
): string | undefined {
  return edited(text, (records) =>
    records.map((record) => {
      if (idOf(record) !== id || !isJsonObject(record)) return record;
      const merged = Object.entries({ ...record, ...changes }).filter(([, value]) => value !== undefined);
      return Object.fromEntries(merged) as JsonObject;
    }),
  );
}

export function removeJob(text: string, id: string): string | undefined {
  return edited(text, (records) => records.filter((record) => idOf(record) !== id));
}

function edited(text: string, change: (records: readonly Json[]) => readonly Json[]): string | undefined {
  const found = parse(text);
  if (found === undefined) return undefined;
  const records = change(found.records);
  const value = found.around === undefined ? records : { ...found.around, jobs: records };
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The records, and the object around them where there is one. */
function parse(
  text: string,
): { readonly records: readonly Json[]; readonly around: JsonObject | undefined } | undefined {
  try {
    const value = JSON.parse(text) as Json;
    if (Array.isArray(value)) return { records: value as readonly Json[], around: undefined };
    if (!isJsonObject(value) || !Array.isArray(value.jobs)) return undefined;
    return { records: value.jobs as readonly Json[], around: value };
  } catch {
    return undefined;
  }
}

/** As `readJob` reads it: a number is an id too. */
function idOf(record: Json): string | undefined {
  return isJsonObject(record) ? readJob(record)?.id : undefined;
}
