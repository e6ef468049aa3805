/**
 * Builds the text of a run from the rendered texts of its events. Of a batch, as many of the newest as fit.
 * @see COA-2 in docs/specification.md
 */

import { setImmediate as turn } from 'node:timers/promises';
import { batchPrompt, batchText, maxBatchBytes, promptWithNote } from '../../machines/webhook/coalesce.ts';
import type { EventRecord, RunRecord } from '../../machines/webhook/record.ts';

type ReadEvent = (key: string) => Promise<EventRecord | undefined>;

/**
 * Resolves with the prompt of a run, without its skill; for a direct delivery, with the texts themselves.
 * @param prompt of its event, the newest of a batch
 */
export async function textOfRun(
  { eventKey, earlierKeys, superseded = 0, isDirect }: RunRecord,
  prompt: string,
  read: ReadEvent,
): Promise<string> {
  if (earlierKeys === undefined) return isDirect ? prompt : promptWithNote(prompt, superseded + 1);
  const texts = await textsOfBatch([...earlierKeys, eventKey], read);
  return (isDirect ? batchText : batchPrompt)(texts, superseded + earlierKeys.length + 1);
}

/**
 * Resolves with the texts, oldest first. Reads one event per turn of the event loop, because each may be as large as a
 * body. Stops at an event that the history no longer has.
 * @param keys of the events, oldest first
 */
async function textsOfBatch(keys: readonly string[], read: ReadEvent): Promise<readonly string[]> {
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
