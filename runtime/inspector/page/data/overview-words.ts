/**
 * Texts of the overview: durations, rates, the axis of a range, states. Independent of the page.
 * @see INS-4 in docs/specification.md
 */

import type { MarkName } from '../parts/chip.tsx';
import { counted } from './format.ts';
import type { Overview, Range } from './overview.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

export const ranges: readonly (readonly [Range, string])[] = [
  ['15m', '15 min'],
  ['1h', '1 h'],
  ['24h', '24 h'],
  ['7d', '7 d'],
];

const spans: Readonly<Record<Range, readonly [ms: number, words: string]>> = {
  '15m': [15 * minuteMs, 'last 15 minutes'],
  '1h': [hourMs, 'last hour'],
  '24h': [dayMs, 'last 24 hours'],
  '7d': [7 * dayMs, 'last 7 days'],
};

export function rangeWords(range: Range): string {
  return spans[range][1];
}

/** Returns the range in the address, by default an hour. */
export function rangeIn(text: string | undefined): Range {
  return ranges.find(([name]) => name === text)?.[0] ?? '1h';
}

/** With one decimal below a hundred. */
function tenths(value: number): string {
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en');
}

/** Events per minute over the range. */
export function rateWords({ total }: Overview['events'], range: Range): string {
  const rate = total / (spans[range][0] / minuteMs);
  return rate > 0 && rate < 0.1 ? '< 0.1' : tenths(rate);
}

/** "87 %", "4.2 %", "0 %". */
export function shareWords(part: number, all: number): string {
  if (all === 0 || part === 0) return '0 %';
  const percent = (part / all) * 100;
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** The start of a bucket on the axis: the time of day, over seven days with the date. */
export function tickWords(at: string, range: Range): string {
  const date = new Date(at);
  const clock = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  if (range !== '7d') return clock;
  return `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${clock}`;
}

/** `14:29` today, otherwise `21 Nov 14:29`. */
export function timeWords(at: string, nowMs: number): string {
  const date = new Date(at);
  const clock = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  if (date.toDateString() === new Date(nowMs).toDateString()) return clock;
  return `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${clock}`;
}

type RouteRow = Overview['routes']['rows'][number];
type ServerRow = Overview['servers']['rows'][number];
type TargetRow = Overview['targets']['rows'][number];

const marks: Readonly<Record<RouteRow['health'], MarkName>> = {
  failing: 'failed',
  waiting: 'waiting',
  retrying: 'retrying',
  healthy: 'healthy',
  quiet: 'queued',
  off: 'disabled',
};

export function markOf({ health }: { readonly health: RouteRow['health'] }): MarkName {
  return marks[health];
}

const routeStates: Readonly<Record<RouteRow['health'], string>> = {
  failing: 'Failing',
  waiting: 'Waiting',
  retrying: 'Retrying',
  healthy: 'Healthy',
  quiet: 'No events',
  off: 'Disabled',
};

export function routeState({ health }: RouteRow): string {
  return routeStates[health];
}

const serverStates: Readonly<Record<string, string>> = {
  starting: 'Connecting',
  connecting: 'Connecting',
  recycling: 'Connecting',
  connected: 'Connected',
  lazy: 'Lazy',
  needsLogin: 'Needs login',
  backingOff: 'Retrying',
  parked: 'Failing',
  failed: 'Failing',
  disabled: 'Disabled',
  stopped: 'Stopped',
};

export function serverState({ state, tools }: ServerRow): string {
  const words = serverStates[state] ?? state;
  return words === 'Connected' || words === 'Lazy' ? `${words}, ${counted(tools, 'tool')}` : words;
}

export function targetState({ state, account, open }: TargetRow): string {
  if (state === 'failed') return 'Does not accept the connection';
  // Not “failed”: a delivery without a confirmation may have arrived.
  if (open > 0) return counted(open, 'open failure');
  if (state === 'disabled') return 'Disabled';
  if (state === 'verifying' || state === 'reverifying' || state === 'choosing') return 'Connecting';
  return account === undefined ? 'Ready' : `Ready as ${account}`;
}
