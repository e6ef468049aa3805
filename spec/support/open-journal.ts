/** Opens a durable journal, or fails the spec. */

import type { Journal } from '../../actors/store/journal.ts';
import { openLmdbJournal } from '../../actors/store/lmdb-journal.ts';
import type { Result } from '../../machines/base/fault.ts';

export async function openJournal(directory: string, nowMs = Date.now): Promise<Journal> {
  return got(await openLmdbJournal({ directory, nowMs }));
}

/** The value of what succeeded; throws the message of a fault. */
export function got<Value>(result: Result<Value>): Value {
  if (!result.ok) throw new Error(result.fault.message);
  return result.value;
}
