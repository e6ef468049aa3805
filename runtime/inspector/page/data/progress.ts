/** Shows the progress of retried deliveries in the toast: how many are left, then how many arrived. */

import type { Bulk, BulkProgress } from '../../../control/contract/deliveries.ts';
import { announce, type Note, note } from './announce.ts';
import { deliveriesWords } from './failures.ts';
import { go } from './place.ts';
import { call } from './rpc.ts';

const pollMs = 500;
const maxPolls = 120;

/** Shows what was not retried and why, and the progress of the others until each has an outcome, at most a minute. */
export function follow({ done, skipped }: Bulk): void {
  const [first] = skipped;
  if (done.length > 0) {
    const shown = announce(`Retrying ${done.length.toLocaleString('en')}…${skippedWords(skipped, 'retried')}`);
    void poll({ ids: done, skipped, left: maxPolls, shown });
  } else if (first === undefined) announce('Nothing is left to retry.');
  else announce(skipped.length === 1 ? `Not retried: ${first.why}` : skippedWords(skipped, 'retried').trim(), true);
}

interface Polling {
  readonly ids: readonly string[];
  readonly skipped: Bulk['skipped'];
  readonly left: number;
  /** The toast with the progress so far. */
  readonly shown: Note;
}

async function poll({ ids, skipped, left, shown }: Polling): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, pollMs));
  let progress: BulkProgress;
  try {
    progress = await call('deliveries.progress', { ids });
  } catch {
    // The daemon cannot be reached. The page shows that, and the list has the outcome later.
    return;
  }
  const isOver = progress.waiting === 0 || left === 0;
  const isBad = progress.failed > 0 || skipped.length > 0;
  if (!isOver) {
    const words = `Retrying ${ids.length.toLocaleString('en')}… ${progressWords(progress)}`;
    // A person has closed it, or another toast has taken its place.
    const isShown = note.get() === shown;
    await poll({ ids, skipped, left: left - 1, shown: isShown ? announce(words) : shown });
  } else if (isBad || note.get()?.bad !== true)
    announce(`${progressWords(progress)}.${skippedWords(skipped, 'retried')}`, isBad, isBad ? show : undefined);
}

const show = { label: 'Show', run: (): void => go('failures') };

/** "4 delivered, 2 failed". */
function progressWords({ delivered, failed, retrying, waiting }: BulkProgress): string {
  const parts = [
    [delivered, 'delivered'],
    [failed, 'failed'],
    [retrying, 'retried later'],
    [waiting, 'waiting'],
  ] as const;
  const words = parts.flatMap(([count, word]) => (count === 0 ? [] : [`${count.toLocaleString('en')} ${word}`]));
  return words.join(', ');
}

/** How many were left as they are, with the reason of the first: " 3 deliveries could not be retried: …". */
export function skippedWords(skipped: Bulk['skipped'], verb: string): string {
  const [first] = skipped;
  return first === undefined ? '' : ` ${deliveriesWords(skipped.length)} could not be ${verb}: ${first.why}`;
}
