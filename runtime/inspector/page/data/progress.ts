/** Shows the progress of retried deliveries in the toast: how many are left, then how many arrived. */

import type { BulkProgress } from '../../../control/contract.ts';
import { announce } from './announce.ts';
import { go } from './place.ts';
import { call } from './rpc.ts';

const pollMs = 500;
const mostPolls = 120;

/** Shows the progress until each delivery has an outcome or waits for a later attempt, at most a minute. */
export function follow(ids: readonly string[], skipped = 0): void {
  announce(`Retrying ${ids.length}…${skippedWords(skipped)}`);
  void poll(ids, skipped, mostPolls);
}

async function poll(ids: readonly string[], skipped: number, left: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, pollMs));
  let progress: BulkProgress;
  try {
    progress = await call('deliveries.progress', { ids });
  } catch {
    // The daemon cannot be reached. The page shows that, and the list has the outcome later.
    return;
  }
  const isOver = progress.waiting === 0 || left === 0;
  const isBad = progress.failed > 0;
  if (isOver) announce(`${progressWords(progress)}.${skippedWords(skipped)}`, isBad, isBad ? show : undefined);
  else {
    announce(`Retrying ${ids.length}… ${progressWords(progress)}`);
    await poll(ids, skipped, left - 1);
  }
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

function skippedWords(skipped: number): string {
  return skipped === 0 ? '' : ` ${skipped.toLocaleString('en')} could not be retried.`;
}
