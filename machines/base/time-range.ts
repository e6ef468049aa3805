/**
 * The time ranges over which the history is counted, and their division into at most 60 buckets of a round width.
 * @see INS-4 in docs/specification.md
 */

import { timeMs } from './since.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

export const rangeSpans = { '15m': 15 * minuteMs, '1h': hourMs, '24h': dayMs, '7d': 7 * dayMs } as const;
export type NamedRange = keyof typeof rangeSpans;
const maxBuckets = 60;
/** Counts up to now are stored in cells of this length, so bucket widths of open ranges are multiples of it. */
export const cellMs = 15 * secondMs;

const widths: readonly number[] = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * secondMs),
  ...[1, 2, 5, 10, 15, 24, 30].map((count) => count * minuteMs),
  ...[60, 120, 168, 360, 720].map((count) => count * minuteMs),
];

export interface Buckets {
  /** Start of the first bucket; a fixed range may begin within it. */
  readonly fromMs: number;
  /** End of the last bucket. */
  readonly toMs: number;
  readonly widthMs: number;
}

/** In Unix milliseconds. Without an end: up to now. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs?: number;
}

/** Parses a range: `15m`, `1h`, `24h`, `7d`, or `<time>..` and `<time>..<time>` in ISO 8601; undefined if it is invalid. */
export function readRange(text: string, nowMs: number): TimeRange | undefined {
  if (Object.hasOwn(rangeSpans, text)) {
    const spanMs = rangeSpans[text as NamedRange];
    const widthMs = spanMs / maxBuckets;
    return { fromMs: (Math.floor(nowMs / widthMs) + 1) * widthMs - spanMs };
  }
  const [from = '', to, ...rest] = text.split('..');
  const fromMs = timeMs(from);
  if (to === undefined || rest.length > 0 || Number.isNaN(fromMs)) return undefined;
  if (to === '') return { fromMs: Math.floor(fromMs / cellMs) * cellMs };
  const toMs = timeMs(to);
  return toMs > fromMs ? { fromMs, toMs } : undefined;
}

/** Divides a range. The last bucket of an open range contains the present. */
export function bucketsOf({ fromMs, toMs }: TimeRange, nowMs: number): Buckets {
  const isOpen = toMs === undefined;
  const endMs = Math.max(toMs ?? nowMs + 1, fromMs + 1);
  const edges = (widthMs: number): Buckets => ({
    fromMs: Math.floor(fromMs / widthMs) * widthMs,
    toMs: Math.ceil(endMs / widthMs) * widthMs,
    widthMs,
  });
  const fits = (widthMs: number): boolean => {
    const { fromMs: first, toMs: last } = edges(widthMs);
    return last - first <= maxBuckets * widthMs && (!isOpen || widthMs % cellMs === 0);
  };
  const known = widths.find(fits);
  if (known !== undefined) return edges(known);
  const days = Math.ceil((endMs - fromMs) / (maxBuckets - 1) / dayMs);
  return edges(days * dayMs);
}
