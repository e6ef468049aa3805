/**
 * Lays out the timeline of an event: the place of each part on one time axis, the ruler, and the long wait that can be
 * shortened. Independent of the page.
 * @see INS-4 in docs/specification.md
 */

import type { Span, SpanPart } from '../../../control/contract/event-wire.ts';
import { formatTook } from './format.ts';

export interface Axis {
  readonly from: number;
  readonly to: number;
  /** A wait that is drawn shorter than it was. */
  readonly cut?: { readonly start: number; readonly end: number };
  readonly ticks: readonly { readonly at: number; readonly words: string }[];
}

interface Laid {
  /** In percent of the track. */
  readonly left: number;
  readonly width: number;
}

/** A wait that fills more of the time than this can be shortened. */
const longWait = 0.7;
/** Its shortened length, relative to the remaining time. */
const cutLength = 0.12;
const tickCount = 5;
const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 432_000].map(
    (seconds) => seconds * 1_000,
  ),
];

/** @param nowMs the end of what is under way */
export function axisOf(spans: readonly Span[], nowMs: number, hidesWait: boolean): Axis {
  const { from, end } = rangeOf(spans, nowMs);
  const wait = hidesWait ? longestWait(spans, nowMs) : undefined;
  if (wait !== undefined) {
    return { from, to: end, cut: { start: wait.start, end: wait.end ?? nowMs }, ticks: [{ at: 0, words: '0' }] };
  }
  const step = stepFor((end - from) / tickCount);
  const ticks = Array.from({ length: tickCount }, (_, at) => ({
    at: (at * 100) / tickCount,
    words: at === 0 ? '0' : formatTook(at * step),
  }));
  return { from, to: from + step * tickCount, ticks };
}

/** Returns the wait that fills more than 70 % of the time; undefined if there is none. */
export function longestWait(spans: readonly Span[], nowMs: number): SpanPart | undefined {
  const { from, end } = rangeOf(spans, nowMs);
  const lengthOf = ({ start, end: stop = nowMs }: SpanPart): number => Math.min(stop, end) - start;
  const waits = spans
    .flatMap(({ parts }) => parts)
    .filter(({ how }) => how === 'person' || how === 'pause' || how === 'window')
    .sort((one, other) => lengthOf(other) - lengthOf(one));
  const [longest] = waits;
  return longest !== undefined && lengthOf(longest) > longWait * (end - from) ? longest : undefined;
}

export function lay({ start, end }: { readonly start: number; readonly end: number }, axis: Axis): Laid {
  const left = placeOf(start, axis);
  return { left, width: Math.max(0, placeOf(end, axis) - left) };
}

/** The duration of a span in milliseconds. A call's excludes its wait for a person, unless it is still waiting. */
export function tookOf({ kind, parts, start, end }: Span, nowMs: number): number {
  const isWaiting = end === undefined && parts.every(({ how }) => how === 'person');
  if (kind !== 'call' || isWaiting) return (end ?? nowMs) - start;
  return parts.reduce((sum, part) => (part.how === 'person' ? sum : sum + (part.end ?? nowMs) - part.start), 0);
}

/** The duration of a span, and of a call that a person answered, the wait too. `shown` is the longer one of both. */
export function tookWords(span: Span, nowMs: number): { readonly shown: string; readonly read: string } {
  const took = tookOf(span, nowMs);
  const waited = span.parts.reduce(
    (sum, part) => (part.how === 'person' && part.end !== undefined ? sum + part.end - part.start : sum),
    0,
  );
  const ran = formatTook(took);
  if (span.kind !== 'call' || span.end === undefined || waited === 0) return { shown: ran, read: ran };
  const read = `waited ${formatTook(waited)} for approval`;
  return {
    shown: waited > took ? `waited ${formatTook(waited)}` : ran,
    read: took === 0 ? read : `${read}, ran ${ran}`,
  };
}

function rangeOf(spans: readonly Span[], nowMs: number): { readonly from: number; readonly end: number } {
  const from = Math.min(...spans.map(({ start }) => start));
  const ends = spans.flatMap(({ end, parts }) => [end ?? nowMs, ...parts.map((part) => part.end ?? nowMs)]);
  return { from, end: Math.max(from + 1, ...ends) };
}

function placeOf(at: number, { from, to, cut }: Axis): number {
  if (cut === undefined) return (100 * (at - from)) / (to - from);
  const rest = Math.max(1, to - from - (cut.end - cut.start));
  const length = rest * cutLength;
  const inside = Math.max(0, Math.min(at, cut.end) - cut.start) / Math.max(1, cut.end - cut.start);
  const before = Math.min(at, cut.start) - from;
  const after = Math.max(0, at - cut.end);
  return (100 * (before + inside * length + after)) / (rest + length);
}

function stepFor(least: number): number {
  return steps.find((step) => step >= least) ?? Math.ceil(least / 432_000_000) * 432_000_000;
}
