/**
 * Reads the rendered texts of a batch's events, as many of the newest as fit. Knows no run and no delivery.
 * @see COA-2 in docs/specification.md
 */

import { setImmediate as turn } from 'node:timers/promises';
import { maxBatchBytes } from '../../machines/webhook/coalesce.ts';
import type { EventRecord } from '../../machines/webhook/record.ts';

/**
 * Resolves with the texts, oldest first. Reads one event in each turn of the event loop, because each may be as large as a
 * body. An event that the history has no more ends it.
 * @param keys of the events, oldest first
 */
export async function textsOfBatch(
  keys: readonly string[],
  read: (key: string) => Promise<EventRecord | undefined>,
): Promise<readonly string[]> {
  const texts: string[] = [];
  let left = maxBatchBytes;
  for (const key of keys.toReversed()) {
    const text = (await read(key))?.prompt;
    if (text === undefined) break;
    left -= Buffer.byteLength(text);
    if (left < 0 && texts.length > 0) break;
    texts.unshift(text);
    await turn();
  }
  return texts;
}
