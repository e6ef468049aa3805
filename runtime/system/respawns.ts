/**
 * Decides when a crashed chart is spawned again: after growing waits, a limited number of times per minute, and then no
 * more, since its cause is still there. One table per kind of chart, by the charts' keys.
 * @see INS-1 in docs/specification.md
 */

import { crashRestarts, freshBudget, type RestartBudget, spendRestart } from '../../machines/base/restart.ts';

interface RespawnPorts {
  /** Milliseconds that only rise. */
  readonly steadyMs: () => number;
  readonly random: () => number;
  /** Calls back once after a wait; returns a function that cancels it. */
  readonly wake: (callback: () => void, waitMs: number) => () => void;
}

export interface Respawns {
  /** Records a crash: calls back after the wait and returns true; returns false if the budget is spent. */
  crashed(key: string, again: () => void): boolean;
  /** True while the chart of a key waits for its restart, or its budget is spent. */
  rests(key: string): boolean;
  isSpent(key: string): boolean;
  /** Resets the budget of a key and cancels its wait. */
  forget(key: string): void;
  /** Resets every key, so that no pending restart happens. */
  clear(): void;
}

interface Standing {
  budget: RestartBudget;
  isSpent: boolean;
  /** Cancels the wait in progress. */
  cancel: (() => void) | undefined;
}

export function createRespawns({ steadyMs, random, wake }: RespawnPorts): Respawns {
  const table = new Map<string, Standing>();

  function forget(key: string): void {
    table.get(key)?.cancel?.();
    table.delete(key);
  }

  return {
    crashed(key, again) {
      const standing = table.get(key) ?? { budget: freshBudget(crashRestarts), isSpent: false, cancel: undefined };
      table.set(key, standing);
      const verdict = standing.isSpent ? undefined : spendRestart(standing.budget, steadyMs(), random());
      if (verdict?.kind !== 'restart') {
        standing.isSpent = true;
        return false;
      }
      standing.budget = verdict.budget;
      standing.cancel?.();
      standing.cancel = wake(() => {
        standing.cancel = undefined;
        again();
      }, verdict.delayMs);
      return true;
    },
    rests(key) {
      const standing = table.get(key);
      return standing !== undefined && (standing.isSpent || standing.cancel !== undefined);
    },
    isSpent: (key) => table.get(key)?.isSpent === true,
    forget,
    clear() {
      for (const key of [...table.keys()]) forget(key);
    },
  };
}
