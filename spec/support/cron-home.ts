/** A home with cron jobs, the command line's words about them, and a daemon whose clock can be set. */

import { readFileSync, renameSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { makeHome, type TestHome } from './home.ts';
import { cliJson } from './webhook-home.ts';

export type JobView = JsonObject & { readonly state: string; readonly history: readonly JsonObject[] };

/**
 * A job of the first of June 2026, made that morning: however slowly a daemon starts, nine o'clock is due, or was missed
 * and is made up for.
 */
export const digest = {
  id: 'j',
  name: 'digest',
  prompt: 'Sum up.',
  schedule: '0 9 * * *',
  timezone: 'UTC',
  created_at: '2026-06-01T00:00:00Z',
};

const preload = new URL('./shifted-clock.js', import.meta.url).href;

/** Moves the wall clock of a home's daemons, in one step: one that reads half of the file would see another clock. */
export function shiftClock(home: TestHome, ms: number): void {
  home.write('clock.new', String(ms));
  renameSync(`${home.path}/clock.new`, `${home.path}/clock.txt`);
}

/** The environment of a daemon whose clock can be set. */
export const shifted = ({ path }: TestHome) => ({
  NODE_OPTIONS: `--import ${preload}`,
  SPEC_CLOCK_FILE: `${path}/clock.txt`,
});

export interface CronHome extends TestHome {
  /** Writes the file of jobs, as another process would. */
  jobs(records: readonly JsonObject[], profile?: string): void;
  show(job: string, ...words: string[]): Promise<JobView>;
  /** Resolves with the job once it is as wanted. */
  shown(job: string, fits: (job: JobView) => boolean): Promise<JobView>;
  /** Sets the wall clock of this home's daemon, living or to come. */
  setClock(atMs: number): void;
  /** Starts a daemon by that clock. */
  start(): Promise<Daemon>;
}

export function makeCronHome(t: Test, files: Readonly<Record<string, string>>): CronHome {
  const home = makeHome(t, { 'clock.txt': '0', ...files });
  const show = async (job: string, ...words: string[]): Promise<JobView> =>
    (await cliJson(home.path, 'cron', 'show', job, ...words)) as JobView;
  return {
    ...home,
    jobs: (records, profile) =>
      home.write(`${profile === undefined ? '' : `profiles/${profile}/`}cron/jobs.json`, JSON.stringify(records)),
    show,
    async shown(job, fits) {
      for (;;) {
        const found = await show(job);
        if (fits(found)) return found;
        await wait(20);
      }
    },
    setClock: (atMs) => shiftClock(home, atMs - Date.now()),
    start: () => startDaemon(t, home.path, shifted(home)),
  };
}

/** Resolves when a file of the home holds the text. */
export async function fileHolds(home: TestHome, name: string, text: string): Promise<void> {
  for (;;) {
    try {
      if (readFileSync(`${home.path}/${name}`, 'utf8').includes(text)) return;
    } catch {
      // It is not there yet.
    }
    await wait(10);
  }
}
