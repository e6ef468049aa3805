/**
 * Ends a run for a person: tells its chart and waits until that has its outcome on disk. A run that has answered already
 * is not called back: its response is on its way.
 * @see DIS-3 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import type { JournalKeeper } from '../actors/store/keeper.ts';
import type { WardHandle } from '../machines/base/ward.ts';
import type { RunInput } from '../machines/webhook/agent-run.machine.ts';
import type { RunRecord } from '../machines/webhook/record.ts';

export type CancelVerdict =
  | { readonly kind: 'cancelled' }
  /** It had its outcome, or its response, before. */
  | { readonly kind: 'over'; readonly status: RunRecord['status'] }
  /** It is told, and not on disk yet. */
  | { readonly kind: 'told' }
  | { readonly kind: 'unknown' };

export interface CancelRunPorts {
  readonly runs: () => WardHandle<RunInput>;
  readonly keeper: JournalKeeper;
}

/** The chart itself waits shorter for what the agent began. */
const patienceMs = 20_000;

export function createCancelRun({ runs, keeper }: CancelRunPorts): (key: string, by: string) => Promise<CancelVerdict> {
  return async (key, by) => {
    const run: AnyActorRef | undefined = runs().get(key);
    if (run !== undefined) {
      const ended = endOf(run);
      run.send({ type: 'run.cancel', by });
      const isEnded = await ended;
      const { record } = run.getSnapshot().context as { readonly record: RunRecord };
      if (record.status === 'cancelled') return isEnded ? { kind: 'cancelled' } : { kind: 'told' };
      return isEnded || record.status === 'delivering' ? { kind: 'over', status: record.status } : { kind: 'told' };
    }
    const stored = keeper.journal()?.get('runs', key)?.value as unknown as RunRecord | undefined;
    return stored === undefined ? { kind: 'unknown' } : { kind: 'over', status: stored.status };
  };
}

/** Resolves when the chart has ended, delivers, or patience is over; with whether it has ended. */
function endOf(run: AnyActorRef): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isEnded: boolean): void => {
      clearTimeout(timer);
      watch.unsubscribe();
      resolve(isEnded);
    };
    const timer = setTimeout(() => settle(false), patienceMs);
    const watch = run.subscribe({
      next: (snapshot: { readonly value?: unknown }) => {
        if (snapshot.value === 'delivering') settle(false);
      },
      complete: () => settle(true),
      error: () => settle(true),
    });
    if (run.getSnapshot().value === 'delivering') settle(false);
  });
}
