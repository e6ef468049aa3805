/** Opens a durable journal or fails the spec. */

import type { Journal } from '../../actors/store/journal.ts';
import { openLmdbJournal } from '../../actors/store/lmdb-journal.ts';

export async function openJournal(directory: string, nowMs = Date.now): Promise<Journal> {
  const opened = await openLmdbJournal({ directory, nowMs });
  if (!opened.ok) throw new Error(opened.fault.message);
  return opened.value;
}
