/**
 * The cron jobs of a profile as `cron/jobs.json` holds them, read again when the file changes.
 * @see CRN-2 and SUB-1 in docs/specification.md
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { stampOf } from '../files.ts';

export interface CronJob {
  readonly id: string;
  readonly name: string;
  readonly prompt: string;
  readonly enabled: boolean;
  readonly paused: boolean;
  readonly skills: readonly string[];
  readonly deliver: string;
  readonly deliverExtra: JsonObject;
}

export interface JobsStore {
  /** Finds a job by id, else by name. */
  find(ref: string): CronJob | undefined;
}

export function createJobsStore({ folder }: { readonly folder: string }): JobsStore {
  const path = join(folder, 'jobs.json');
  let seen: string | undefined;
  let jobs: readonly CronJob[] = [];
  return {
    find(ref) {
      const stamp = stampOf(path);
      if (stamp !== seen) {
        seen = stamp;
        jobs = stamp === undefined ? [] : (readJobs(path) ?? jobs);
      }
      return jobs.find(({ id }) => id === ref) ?? jobs.find(({ name }) => name === ref);
    },
  };
}

/** A list of jobs, or an object with one; undefined where the file cannot be read, and the last good jobs stand. */
function readJobs(path: string): readonly CronJob[] | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    const listed = isJsonObject(value) ? value.jobs : value;
    return Array.isArray(listed) ? (listed as readonly Json[]).filter(isJsonObject).flatMap(jobOf) : undefined;
  } catch {
    return undefined;
  }
}

/** A job without an id is passed over. Without a prompt it may still have skills, and the event brings its own. */
function jobOf(record: JsonObject): CronJob[] {
  const { name, prompt, skills, deliver, deliver_extra: extra } = record;
  const id = typeof record.id === 'number' ? String(record.id) : record.id;
  if (typeof id !== 'string' || id === '') return [];
  return [
    {
      id,
      name: typeof name === 'string' ? name : id,
      prompt: typeof prompt === 'string' ? prompt : '',
      enabled: record.enabled !== false,
      paused: record.paused === true,
      skills: Array.isArray(skills) ? skills.filter((one): one is string => typeof one === 'string') : [],
      deliver: typeof deliver === 'string' ? deliver : 'log',
      deliverExtra: isJsonObject(extra) ? extra : {},
    },
  ];
}
