/** Formats numbers, spans and times for timelines. */

import type { EventRecord } from '../../machines/webhook/record.ts';
import { placesOf } from '../../machines/webhook/responses.ts';

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export function seconds(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

export function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** Returns the targets of an event's response or text: `slack and mattermost`. */
export function targetsOf(event: EventRecord): string {
  return placesOf(event)
    .map(({ target }) => target)
    .join(' and ');
}
