/**
 * Gathers the text of a run from the rendered texts of its events: of a batch as many of the newest as fit. Knows no skill
 * and no runner.
 * @see COA-2 in docs/specification.md
 */

import { setImmediate as turn } from 'node:timers/promises';
import { batchPrompt, batchText, maxBatchBytes, promptWithNote } from '../../machines/webhook/coalesce.ts';
import type { EventRecord, RunRecord } from '../../machines/webhook/record.ts';

type ReadEvent = (key: string) => Promise<EventRecord | undefined>;

/**
 * Resolves with the prompt of a run without its skill; of one that delivers its texts without an agent, with these.
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
 * Resolves with the texts, oldest first. Reads one event in each turn of the event loop, because each may be as large as a
 * body. An event that the history has no more ends it.
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
