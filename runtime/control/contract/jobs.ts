/** Scheduled jobs and their firings. */

import type { JsonObject } from '../../../machines/base/json.ts';
import type { InProfile } from './choices.ts';

export interface JobChoice extends InProfile {
  /** Its id or its name. */
  readonly job: string;
}

/** A job; or an invalid entry of `jobs.json`, or that file if it cannot be read. */
export interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly profile: string;
  readonly schedule?: string;
  readonly timezone?: string;
  readonly state: string;
  readonly deliver?: string;
  readonly next_due?: string | null;
  readonly since?: string;
  readonly run?: string;
  readonly problem?: string;
  readonly why?: string;
}

/** Another process may have removed the job in the meantime. */
export type ChangedJob = Partial<JobRow> & Pick<JobRow, 'id' | 'profile'>;

export interface JobDetail extends JobRow {
  readonly prompt: string;
  readonly skills: readonly string[];
  readonly model?: string;
  readonly deliver_extra: JsonObject;
  readonly on_failure?: string;
  readonly on_failure_extra?: JsonObject;
  readonly grace_seconds: number;
  readonly created_at?: string;
  readonly next: readonly string[];
  /** Newest first; absent without a daemon. */
  readonly history?: readonly FiringRow[];
}

export interface FiringRow {
  readonly at: string;
  readonly cause: string;
  readonly status: string;
  readonly due_at?: string;
  readonly reason?: string;
  readonly run?: string;
  readonly delivery_id: string;
}
