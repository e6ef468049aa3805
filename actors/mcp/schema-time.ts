/**
 * The processor time that the schemas of one server may take, over all its tools, listings and calls. Each piece of work is
 * ended after half a second; more than ten of them in a row are refused until time has passed, so that a schema that stays
 * just below the limit cannot hold the event loop with every call.
 * @see LIF-13 in docs/specification.md
 */

import { type TimedVerdict, threadTimeMs, withinTime } from './within-time.ts';

export type LimitedVerdict<Value> =
  | TimedVerdict<Value>
  /** The server's schemas used up their time; nothing was done. */
  | { readonly kind: 'spent'; readonly waitMs: number };

/** Runs compiling or one check under a time limit. */
export type TimeLimit = <Value>(work: () => Value) => LimitedVerdict<Value>;

export interface SchemaTime {
  /** The limit for all that the check of one value takes. */
  readonly forOne: () => TimeLimit;
}

export interface SchemaClocks {
  /** Milliseconds that only rise. */
  readonly steadyMs: () => number;
  readonly cpuTimeMs: () => number;
}

/** Half a second is far more than any honest schema takes, and short for every other call that waits. */
const limitMs = 500;
/** Ten of those; then the account is refilled. A server with dozens of large schemas has each compiled at its first call. */
const capacityMs = 10 * limitMs;
/** Milliseconds of work for each of time. */
const share = 0.05;
/** What honest work takes is not charged: a client may call hundreds of tools in a row. */
const freeMs = 10;
/** The event loop is not held longer by one value, however busy the machine is. */
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
