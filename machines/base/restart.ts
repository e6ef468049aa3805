/**
 * Restart arithmetic: a number of restarts within a period, each after a longer wait. Intensity and period are those of OTP
 * supervisors. Times and randomness are parameters.
 * @see [OTP supervisor behaviour](https://www.erlang.org/doc/system/sup_princ.html#maximum-restart-intensity)
 */

export interface RestartPolicy {
  /** Restarts allowed within the period. */
  readonly intensity: number;
  readonly periodMs: number;
  /** The wait before the first restart; it doubles with each further one. */
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
}

export interface RestartBudget {
  readonly policy: RestartPolicy;
  /** When the restarts within the period were spent, by a monotonic clock, oldest first. */
  readonly spentAtMs: readonly number[];
}

type RestartVerdict =
  | { readonly kind: 'restart'; readonly delayMs: number; readonly budget: RestartBudget }
  | { readonly kind: 'exhausted' };

/** Of a gateway or a chart that crashes: more than five crashes in a minute have a cause that a restart does not fix. */
export const crashRestarts: RestartPolicy = {
  intensity: 5,
  periodMs: 60_000,
  baseDelayMs: 200,
  maxDelayMs: 5_000,
};

export function freshBudget(policy: RestartPolicy): RestartBudget {
  return { policy, spentAtMs: [] };
}

/**
 * Spends one restart.
 * @param jitter a number in [0, 1) that shortens the wait by up to half, so that many do not restart at once
 */
export function spendRestart(budget: RestartBudget, nowMs: number, jitter: number): RestartVerdict {
  const { policy } = budget;
  const counting = budget.spentAtMs.filter((atMs) => nowMs - atMs < policy.periodMs);
  if (counting.length >= policy.intensity) return { kind: 'exhausted' };
  const full = backoffMs(policy, counting.length);
  return {
    kind: 'restart',
    delayMs: Math.round(full * (1 - jitter / 2)),
    budget: { policy, spentAtMs: [...counting, nowMs] },
  };
}

/** The wait after a number of earlier tries: doubles from the base up to the longest. */
export function backoffMs(policy: Pick<RestartPolicy, 'baseDelayMs' | 'maxDelayMs'>, earlier: number): number {
  return Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** Math.min(earlier, 30));
}
