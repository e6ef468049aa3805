/** The records of work: what reads and writes them, and how a chart gets the outcome of a write. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { RecordWriter, WriteVerdict } from '../../actors/store/record-writer.ts';
import { causeOf } from '../../machines/base/fault.ts';
import type { Wards } from '../system/wards.ts';

export interface RecordPorts {
  readonly keeper: JournalKeeper;
  readonly writer: RecordWriter;
  /** The charts of the records. */
  readonly wards: () => Wards;
  readonly nowMs: () => number;
}

export interface WriteListener {
  send(
    event:
      | { readonly type: 'journal.written'; readonly isLeft?: true }
      | { readonly type: 'journal.refused'; readonly reason: string }
      | { readonly type: 'work.lost' },
  ): void;
}

/** The verdict for a write whose records could not be read. */
export function unread(thrown: unknown): WriteVerdict {
  return { kind: 'refused', reason: causeOf(thrown) };
}

const readAgainMs = 1_000;

/** Resolves with the value as soon as the journal can be read. Never rejects. */
export async function readAgain<Value>(read: () => Promise<Value>, pauseMs = readAgainMs): Promise<Value> {
  for (;;) {
    try {
      return await read();
    } catch {
      await sleep(pauseMs, undefined, { ref: false });
    }
  }
}

export function tellWritten(listener: WriteListener, verdict: WriteVerdict): void {
  switch (verdict.kind) {
    case 'written':
      listener.send({ type: 'journal.written' });
      return;
    case 'lost':
      listener.send({ type: 'work.lost' });
      return;
    case 'refused':
      listener.send({ type: 'journal.refused', reason: verdict.reason });
  }
}
