/**
 * Batch arithmetic: the key that selects an event's batch, the batch after an event joined, and the note about events that
 * the agent does not see.
 * @see COA-1 and COA-2 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { cut, type Json } from '../base/json.ts';
import { compileReading, compileTemplate, formatValue, type TemplateView } from './template.ts';

/** Events of one entity that are collected for one run. */
export interface Batch {
  /** The key of its first event, which identifies the batch and its run. */
  readonly id: string;
  readonly firstAtMs: number;
  readonly count: number;
  readonly latestEventKey: string;
  /** Keys of the newest events before the latest, in order; only if its run gets all events (`mode: batch`). */
  readonly earlierKeys?: readonly string[];
  /** Its text is delivered without a run, because its newest event is `deliver_only`. */
  readonly isDirect?: true;
  /** When it is flushed unless another event comes first. */
  readonly dueAtMs: number;
}

export interface Joining {
  readonly eventKey: string;
  readonly nowMs: number;
  readonly windowMs: number;
  readonly maxWaitMs: number;
  /** Absent: the run gets only the newest event. */
  readonly mode?: 'batch' | undefined;
  readonly isDirect?: true | undefined;
}

/** The most events whose prompts a batch's run gets: the newest. Their keys are written with each joining event. */
const maxBatchEvents = 100;
/** The most UTF-8 bytes of these prompts in total; the newest event's prompt is always included. */
export const maxBatchBytes = 256 * 1024;

/** A longer key is shortened. */
const maxKeyLength = 2_000;
const keptOfLong = 100;

/**
 * Adds an event: it replaces the newest one and restarts the quiet window, up to the cap after the first event. If the clock
 * was set back since the first event, the cap counts from now.
 */
export function joinBatch(
  batch: Batch | undefined,
  { eventKey, nowMs, windowMs, maxWaitMs, mode, isDirect }: Joining,
): Batch {
  const firstAtMs = Math.min(batch?.firstAtMs ?? nowMs, nowMs);
  const joined: Batch = {
    id: batch?.id ?? eventKey,
    firstAtMs,
    count: (batch?.count ?? 0) + 1,
    latestEventKey: eventKey,
    dueAtMs: Math.min(nowMs + windowMs, firstAtMs + maxWaitMs),
    ...(isDirect === undefined ? {} : { isDirect }),
  };
  if (mode === undefined) return joined;
  const earlierKeys = batch === undefined ? [] : [...(batch.earlierKeys ?? []), batch.latestEventKey];
  return { ...joined, earlierKeys: earlierKeys.slice(1 - maxBatchEvents) };
}

/**
 * Compiles a coalescing key: a dotted field, or a template. The compiled key is undefined for an event in which any part is
 * missing, null or empty; lists and objects count by their complete JSON.
 */
export function compileCoalesceKey(key: string): (view: TemplateView) => string | undefined {
  if (!key.includes('{')) {
    const read = compileReading(key);
    return (view) => {
      const found = read(view);
      return isNothing(found) ? undefined : bounded(formatValue(found));
    };
  }
  const template = compileTemplate(key, 'whole');
  const readings = template.tokens.filter((token) => token !== '__raw__').map(compileReading);
  return (view) => {
    for (const read of readings) if (isNothing(read(view))) return undefined;
    return bounded(template.render(view));
  };
}

function isNothing(found: Json | undefined): found is undefined | null | '' {
  return found === undefined || found === null || found === '';
}

/** Keys are kept in contexts and records: a long one is replaced by its beginning and a digest of all of it. */
function bounded(key: string): string {
  if (key.length <= maxKeyLength) return key;
  return `${cut(key, keptOfLong)}… sha256:${createHash('sha256').update(key).digest('hex')}`;
}

/** The prompt of a batch's run: the newest event's, with a note on how many earlier events it replaces. */
export function promptWithNote(prompt: string, count: number): string {
  const earlier = count - 1;
  if (earlier <= 0) return prompt;
  const events = earlier === 1 ? '1 earlier event was' : `${earlier} earlier events were`;
  return `${prompt}\n\n[Note: ${events} superseded by this one.]`;
}

/**
 * The prompt of a run that gets all events of its batch.
 * @param prompts of the events that fit, oldest first
 * @param count of all events of the batch
 */
export function batchPrompt(prompts: readonly string[], count: number): string {
  const leftOut = count - prompts.length;
  if (count === 1) return prompts.join('');
  const parts = prompts.map((prompt, index) => `[Event ${leftOut + index + 1} of ${count}]\n${prompt}`);
  if (leftOut > 0) parts.push(`[Note: ${leftOut} earlier ${leftOut === 1 ? 'event was' : 'events were'} left out.]`);
  return parts.join('\n\n');
}

/** The text of a batch delivered without a run: the texts of the events that fit, oldest first. */
export function batchText(texts: readonly string[], count: number): string {
  const leftOut = count - texts.length;
  if (leftOut === 0) return texts.join('\n\n');
  return [...texts, `(${leftOut} earlier ${leftOut === 1 ? 'event' : 'events'} left out)`].join('\n\n');
}
