/**
 * Texts of the overview: durations, rates, the axis of a range, states. Independent of the page.
 * @see INS-4 in docs/specification.md
 */

import { rangeSpans } from '../../../../machines/base/time-range.ts';
import type { MarkName } from '../parts/chip.tsx';
import { clockOf, counted } from './format.ts';
import type { Overview, Range } from './overview.ts';

const minuteMs = 60_000;

export const ranges: readonly (readonly [Range, string])[] = [
  ['15m', '15 min'],
  ['1h', '1 h'],
  ['24h', '24 h'],
  ['7d', '7 d'],
];

const spanWords: Readonly<Record<Range, string>> = {
  '15m': 'last 15 minutes',
  '1h': 'last hour',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
};

export function rangeWords(range: Range): string {
  return spanWords[range];
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
  const rate = total / (rangeSpans[range] / minuteMs);
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
  return clockOf(at, range === '7d');
}

/** `14:29` today, otherwise `21 Nov 14:29`. */
export function timeWords(at: string, nowMs: number): string {
  return clockOf(at, new Date(at).toDateString() !== new Date(nowMs).toDateString());
}

type RouteRow = Overview['routes']['rows'][number];
type TargetRow = Overview['targets']['rows'][number];

const healths: Readonly<Record<RouteRow['health'], readonly [mark: MarkName, ofRoute: string]>> = {
  failing: ['failed', 'Failing'],
  waiting: ['waiting', 'Held'],
  retrying: ['retrying', 'Retrying'],
  healthy: ['healthy', 'Healthy'],
  quiet: ['queued', 'No events'],
  off: ['disabled', 'Disabled'],
};

export function markOf({ health }: Pick<RouteRow, 'health'>): MarkName {
  return healths[health][0];
}

export function routeState({ health }: RouteRow): string {
  return healths[health][1];
}

export function targetState({ state, account, open }: TargetRow): string {
  if (state === 'failed') return 'Not connected';
  // Not “failed”: a delivery without a confirmation may have arrived.
  if (open > 0) return counted(open, 'open failure');
  if (state === 'disabled') return 'Disabled';
  if (state === 'verifying' || state === 'reverifying' || state === 'choosing') return 'Connecting';
  return account === undefined ? 'Ready' : `Ready as ${account}`;
}
