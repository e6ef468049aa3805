/**
 * When a chart that crashed is spawned again: after waits that grow, so many times a minute, and then no more, since what it
 * fell over is there still. One table a room, by the charts' keys. Knows nothing of the charts.
 * @see INS-1 in docs/specification.md
 */

import { freshBudget, type RestartBudget, spendRestart } from '../../machines/base/restart.ts';

export interface RespawnPorts {
  /** Milliseconds that only rise. */
  readonly steadyMs: () => number;
  readonly random: () => number;
  /** Calls back once after a wait; returns how to take that back. */
  readonly wake: (callback: () => void, waitMs: number) => () => void;
}

export interface Respawns {
  /** A chart crashed: calls back after its wait and returns true; returns false where its budget is spent. */
  crashed(key: string, again: () => void): boolean;
  /** True while the chart of a key waits, or may not come again. */
  rests(key: string): boolean;
  /** True where the budget of a key is spent. */
  isSpent(key: string): boolean;
  /** Its next crash is its first again, and it may be spawned at once. */
  forget(key: string): void;
  /** Nothing comes back any more by itself. */
  clear(): void;
}

/** More crashes than this in a minute have a cause that a restart does not fix. */
export const chartRestarts = { intensity: 5, periodMs: 60_000, baseDelayMs: 200, longestDelayMs: 5_000 } as const;

interface Standing {
  budget: RestartBudget;
  isSpent: boolean;
  /** Takes the wait back that is under way. */
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
      const standing = table.get(key) ?? { budget: freshBudget(chartRestarts), isSpent: false, cancel: undefined };
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
