/**
 * The arithmetic of bursts: the key that tells whose burst an event joins, the burst after it joined, and the note that
 * tells the agent what it does not see. Knows no timer and no store.
 * @see COA-1 and COA-2 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { cut } from '../base/json.ts';
import { compileReading, compileTemplate, spellValue, type TemplateView } from './template.ts';

/** Events of one entity that gather into one run. */
export interface Burst {
  /** The key of its first event: the burst's identity, and its run's key. */
  readonly id: string;
  readonly firstAtMs: number;
  readonly count: number;
  readonly latestEventKey: string;
  /** Keys of the newest events before that, in order. Only if its run gets all events (`mode: batch`). */
  readonly earlierKeys?: readonly string[];
  /** Its text is delivered without a run, as its newest event asks. */
  readonly isDirect?: true;
  /** When it is settled unless another event comes first. */
  readonly dueAtMs: number;
}

export interface Joining {
  readonly eventKey: string;
  readonly nowMs: number;
  readonly windowMs: number;
  readonly maxWaitMs: number;
  /** Absent: the run gets the newest event alone. */
  readonly mode?: 'batch' | undefined;
  readonly isDirect?: true | undefined;
}

/** Events whose prompts a run of a batch gets: the newest ones. Their keys are written with each event that joins. */
export const maxBatchEvents = 100;
/** Bytes in UTF-8 of these prompts together; the newest event's prompt is there whatever its size. */
export const maxBatchBytes = 256 * 1024;

/** The longest key that stands as it is. */
const longestKey = 2_000;
const keptOfLong = 100;

/**
 * Adds an event: it replaces the newest one and restarts the quiet window, up to the cap from the first event. A clock that
 * was set back since that counts the cap from now: the first event has not yet been.
 */
export function joinBurst(
  burst: Burst | undefined,
  { eventKey, nowMs, windowMs, maxWaitMs, mode, isDirect }: Joining,
): Burst {
  const firstAtMs = Math.min(burst?.firstAtMs ?? nowMs, nowMs);
  const joined: Burst = {
    id: burst?.id ?? eventKey,
    firstAtMs,
    count: (burst?.count ?? 0) + 1,
    latestEventKey: eventKey,
    dueAtMs: Math.min(nowMs + windowMs, firstAtMs + maxWaitMs),
    ...(isDirect === undefined ? {} : { isDirect }),
  };
  if (mode === undefined) return joined;
  const earlierKeys = burst === undefined ? [] : [...(burst.earlierKeys ?? []), burst.latestEventKey];
  return { ...joined, earlierKeys: earlierKeys.slice(1 - maxBatchEvents) };
}

/**
 * Compiles a coalescing key: a bare dotted field, or a template. The compiled key is undefined for an event in which any
 * of its parts is missing, null or empty; lists and objects count by their whole JSON.
 */
export function compileCoalesceKey(key: string): (view: TemplateView) => string | undefined {
  if (!key.includes('{')) {
    const read = compileReading(key);
    return (view) => {
      const found = read(view);
      return found === undefined || found === null || found === '' ? undefined : bounded(spellValue(found));
    };
  }
  const template = compileTemplate(key, 'whole');
  const readings = template.tokens.filter((token) => token !== '__raw__').map(compileReading);
  return (view) => {
    for (const read of readings) {
      const found = read(view);
      if (found === undefined || found === null) return undefined;
    }
    return bounded(template.render(view)) || undefined;
  };
}

/** Keys lie in contexts and records: a long one stands there with its beginning and the digest of all of it. */
function bounded(key: string): string {
  if (key.length <= longestKey) return key;
  return `${cut(key, keptOfLong)}… sha256:${createHash('sha256').update(key).digest('hex')}`;
}

/** The prompt of a burst's run: the newest event's, with a note of how many earlier events it stands for. */
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

/** The text of a batch that is delivered without a run: the texts of the events that fit, oldest first. */
export function batchText(texts: readonly string[], count: number): string {
  const leftOut = count - texts.length;
  if (leftOut === 0) return texts.join('\n\n');
  return [...texts, `(${leftOut} earlier ${leftOut === 1 ? 'event' : 'events'} left out)`].join('\n\n');
}
