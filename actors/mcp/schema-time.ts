/**
 * The CPU time that the schemas of one server may use, over all its tools, listings and calls. Each piece of work is
 * ended after half a second; once ten such pieces have used up the budget, further work is refused until enough of it has
 * refilled. So a schema that stays just below the limit cannot block the event loop with every call.
 * @see LIF-13 in docs/specification.md
 */

import { type TimedVerdict, threadTimeMs, withinTime } from './within-time.ts';

export type LimitedVerdict<Value> =
  | TimedVerdict<Value>
  /** The server's schemas used up their budget; nothing was done. */
  | { readonly kind: 'spent'; readonly waitMs: number };

/** Runs a compilation or one check under a time limit. */
export type TimeLimit = <Value>(work: () => Value) => LimitedVerdict<Value>;

export interface SchemaTime {
  /** The limit for the complete check of one value. */
  readonly forOne: () => TimeLimit;
}

export interface SchemaClocks {
  /** Milliseconds of a clock that only rises. */
  readonly steadyMs: () => number;
  readonly cpuTimeMs: () => number;
}

/** Half a second is far more than any legitimate schema needs, and short for the calls that wait meanwhile. */
const limitMs = 500;
/** Ten full limits. A server with dozens of large schemas has each compiled at its first call. */
const capacityMs = 10 * limitMs;
/** Milliseconds of budget per millisecond of elapsed time. */
const share = 0.05;
/** Normal checks are not charged: a client may call hundreds of tools in a row. */
const freeMs = 10;
/** One value does not block the event loop longer, however busy the machine is. */
const longestHoldMs = 1_000;

export function createSchemaTime(given: Partial<SchemaClocks> = {}): SchemaTime {
  const { steadyMs = () => performance.now(), cpuTimeMs = threadTimeMs } = given;
  let leftMs = capacityMs;
  let refilledAtMs = steadyMs();

  function refill(): void {
    const nowMs = steadyMs();
    leftMs = Math.min(capacityMs, leftMs + (nowMs - refilledAtMs) * share);
    refilledAtMs = nowMs;
  }

  return {
    forOne: () => {
      let holdMs = longestHoldMs;
      return (work) => {
        refill();
        if (leftMs < limitMs) return { kind: 'spent', waitMs: Math.ceil((limitMs - leftMs) / share) };
        const [beganMs, cpuBeganMs] = [steadyMs(), cpuTimeMs()];
        try {
          return withinTime(limitMs, work, { cpuTimeMs, holdMs });
        } finally {
          holdMs -= steadyMs() - beganMs;
          leftMs -= Math.max(0, cpuTimeMs() - cpuBeganMs - freeMs);
        }
      };
    },
  };
}
