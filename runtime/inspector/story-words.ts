/** Formats numbers, spans and times as the stories of deliveries say them. */

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

/** Where the response to an event goes, or its text: `slack and mattermost`. */
export function targetsOf(event: EventRecord): string {
  return placesOf(event)
    .map(({ target }) => target)
    .join(' and ');
}
