/** Reports what became of a record's write to the chart that asked for it, in the words that charts share. */

import type { WriteVerdict } from '../../actors/store/record-writer.ts';

export interface WriteListener {
  send(
    event:
      | { readonly type: 'journal.written' }
      | { readonly type: 'journal.refused'; readonly reason: string }
      | { readonly type: 'work.lost' },
  ): void;
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
