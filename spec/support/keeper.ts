/** An open journal in memory behind a keeper, as the rooms above it see one. */

import type { Test } from 'tap';
import { createKeeper, type JournalKeeper } from '../../actors/store/keeper.ts';
import { openMemoryJournal } from '../../actors/store/memory-journal.ts';
import { done } from '../../machines/base/fault.ts';

export async function openKeeper(t: Test, nowMs: () => number = () => 1_000): Promise<JournalKeeper> {
  const open = () => Promise.resolve(done(openMemoryJournal()));
  const keeper = createKeeper({ open, owner: 'spec', sessionTtlMs: 60_000, nowMs, refused: () => {} });
  await keeper.open();
  t.teardown(() => keeper.close());
  return keeper;
}
