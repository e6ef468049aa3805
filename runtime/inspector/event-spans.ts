/**
 * Builds the timeline of an event: request, batch, run, model, tool calls and deliveries, each divided into parts of work
 * and of waiting. Pure.
 * @see INS-4 in docs/specification.md
 */

import { defined } from '../../machines/base/json.ts';
import { placeWords } from '../../machines/config/targets.ts';
import { firedJob, isOver, type RunRecord } from '../../machines/webhook/record.ts';
import type { Span, SpanPart, Tone } from '../control/contract/event-wire.ts';
import { answeredAtMs, attemptsOf, toneOfDelivery } from './event-attempts.ts';
import { callSpans, modelSpan, questionSpans } from './event-calls.ts';
import { outcomeOf } from './request-outcomes.ts';
import { counted, groupKeyOf, type KnownDelivery, ownDeliveries, type TimelineSources } from './timeline-sources.ts';

/** @param joined arrival times of the batch's events, oldest first */
export function spansOf(sources: TimelineSources, joined: readonly number[]): readonly Span[] {
  const { run } = sources;
  return [
    requestSpan(sources),
    ...batchSpan(sources, joined),
    ...(run === undefined || run.record.startedAtMs === undefined ? [] : runSpans(run.key, run.record, sources)),
    ...sources.deliveries.map(deliverySpan),
  ];
}

/** Returns when the run got its response or failed; undefined while it is running. */
function runEnd({ response, endedAtMs }: RunRecord, sources: TimelineSources): number | undefined {
  const handedOver = ownDeliveries(sources).map(({ record }) => record.queuedAtMs);
  return response === undefined || handedOver.length === 0 ? endedAtMs : Math.min(...handedOver);
}

function requestSpan(sources: TimelineSources): Span {
  const { key, event, stateOf } = sources;
  const [delivery] = ownDeliveries(sources);
  const outcome = outcomeOf(event);
  const isDirect = event.status === 'delivering';
  const start = event.receivedAtMs;
  const waitsUntil = isDirect && delivery !== undefined ? answeredAtMs(delivery.record) : undefined;
  const isOpen = stateOf(`requests/${key}`) !== undefined || (isDirect && waitsUntil === undefined);
  const checkedMs = event.told?.checkMs ?? event.told?.bodyMs ?? 0;
  const end = isOpen ? undefined : Math.max(start + checkedMs, waitsUntil ?? 0);
  const isFiring = firedJob(event) !== undefined;
  const isRefused = event.status === 'refused' || outcome === 'deliveryFailed';
  const isEnded = outcome !== undefined || (isFiring && event.status === 'ignored');
  return defined({
    id: `requests/${key}`,
    kind: 'request',
    name: isFiring ? 'Firing' : event.replayOf === undefined ? 'Request' : 'Replay',
    tone: isRefused ? 'failed' : isOpen ? 'working' : isEnded ? 'ended' : 'resting',
    start,
    end,
    parts: [defined({ start, end, how: isRefused ? 'failed' : 'work' })],
  });
}

function batchSpan(sources: TimelineSources, joined: readonly number[]): Span[] {
  const { event, run, group } = sources;
  const groupKey = groupKeyOf(sources);
  if (groupKey === undefined) return [];
  const burst = group?.record.burst;
  const start = burst?.firstAtMs ?? joined[0] ?? event.receivedAtMs;
  const end = run?.record.queuedAtMs ?? (burst === undefined ? Math.max(start, ...joined) : undefined);
  return [
    defined({
      id: `batch/${group?.key ?? groupKey}`,
      kind: 'batch',
      name: 'Batch',
      note: `${counted(Math.max(burst?.count ?? 0, joined.length, 1), 'event')} joined`,
      tone: end === undefined ? 'working' : 'resting',
      start,
      end,
      parts: [defined({ start, end: end ?? burst?.dueAtMs, how: 'window' })],
      ticks: joined.filter((at) => at > start),
    }),
  ];
}

function runSpans(key: string, run: RunRecord, sources: TimelineSources): Span[] {
  const id = `runs/${key}`;
  const { startedAtMs: start = run.queuedAtMs, status, response, attempt } = run;
  const end = runEnd(run, sources);
  const failed = end !== undefined && response === undefined;
  const waits = sources.questions.length > 0;
  const toneOfEnd = !failed ? 'resting' : status === 'cancelled' ? 'ended' : 'failed';
  const tone = end !== undefined ? toneOfEnd : waits ? 'needsUser' : 'working';
  return [
    defined({
      id,
      kind: 'run',
      name: 'Run',
      note: attempt > 1 ? `attempt ${attempt}` : undefined,
      tone,
      start,
      end,
      parts: [defined({ start, end, how: tone === 'failed' ? 'failed' : 'work' })],
    }),
    ...modelSpan(sources, id),
    ...callSpans(sources, id),
    ...questionSpans(sources, id),
  ];
}

function deliverySpan({ key, record, pause }: KnownDelivery): Span {
  const attempts = attemptsOf(record);
  const over = isOver(record);
  const start = attempts[0]?.at ?? record.queuedAtMs;
  const parts: SpanPart[] = [];
  for (const [index, { at, ms, tone }] of attempts.entries()) {
    const before = parts.at(-1)?.end;
    // A person queued it again: until then nothing was pending.
    const wasOver = before !== undefined && (record.sinceMs ?? 0) > before && (record.sinceMs ?? 0) <= at;
    if (before !== undefined && !wasOver) parts.push({ start: before, end: at, how: 'pause' });
    const isLast = index === attempts.length - 1;
    const end = ms !== undefined ? at + ms : isLast && !over ? undefined : at;
    parts.push(defined({ start: at, end, how: isFault(tone) ? 'failed' : 'work' }));
  }
  const last = parts.at(-1)?.end;
  const next = Math.max(record.dueAtMs ?? 0, pause?.untilMs ?? 0);
  if (!over && record.status !== 'sending' && next > 0) parts.push({ start: last ?? start, end: next, how: 'pause' });
  const end = over ? (isFault(attempts.at(-1)?.tone) ? last : (record.endedAtMs ?? last)) : undefined;
  return defined({
    id: `deliveries/${key}`,
    kind: 'delivery',
    name: record.failedRun === undefined ? placeWords(record) : `Failure notice to ${placeWords(record)}`,
    note: attempts.length > 1 ? `${record.attempts ?? attempts.length} attempts` : undefined,
    tone: toneOfDelivery(record),
    start,
    end,
    parts,
    texts: [{ title: 'Text', text: record.text }],
  });
}

function isFault(tone: Tone | undefined): boolean {
  return tone === 'failed' || tone === 'unconfirmed';
}
