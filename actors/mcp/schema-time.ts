/**
 * The CPU time that the schemas of one server may use, over all its tools, listings and calls. Each piece of work is
 * ended after half a second; once ten such pieces have used up the budget, further work is refused until enough of it has
 * refilled. So a schema that stays just below the limit cannot block the event loop with every call. The limit counts CPU time
 * of this thread: on a busy machine the same work takes longer, and must not be ended for that.
 * @see LIF-13 in docs/specification.md
 */

import { readFileSync } from 'node:fs';
import { Script } from 'node:vm';

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

interface SchemaClocks {
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
const maxHoldMs = 1_000;

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
      let holdMs = maxHoldMs;
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

type TimedVerdict<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  /** The work used up its CPU time. */
  | { readonly kind: 'tooDear' }
  /** The machine was too busy to give the work enough CPU time. */
  | { readonly kind: 'starved' };

/**
 * Only the engine's watchdog for scripts can end synchronous work, and a script reaches only what is global. A context of
 * its own would make each start of the daemon take 14 ms more.
 */
const place = Symbol.for('agent-gateway.limited-work');
const script = new Script("globalThis[Symbol.for('agent-gateway.limited-work')]()");
const globals = globalThis as { [place]?: () => void };

/**
 * Returns the value of the work, or why it was ended. Throws what the work throws. Costs about 0.1 ms.
 * @param cpuLimitMs the CPU time that the work may take
 * @param options.cpuTimeMs the clock of that time
 * @param options.holdMs how long the thread may be blocked, however busy the machine is; by default twice the limit
 */
export function withinTime<Value>(
  cpuLimitMs: number,
  work: () => Value,
  {
    cpuTimeMs = threadTimeMs,
    holdMs = 2 * cpuLimitMs,
  }: { readonly cpuTimeMs?: () => number; readonly holdMs?: number } = {},
): TimedVerdict<Value> {
  const attempt = (wallLimitMs: number): Attempt<Value> => runFor(wallLimitMs, work, cpuTimeMs);
  const firstMs = Math.min(cpuLimitMs, holdMs);
  if (firstMs < 1) return { kind: 'starved' };
  const first = attempt(firstMs);
  if (first.kind !== 'late') return first;
  if (first.cpuMs >= cpuLimitMs * enough) return { kind: 'tooDear' };
  // The engine's watchdog measures wall time, so the second attempt gets as much of it as the first one showed to be
  // needed.
  const slowdown = firstMs / Math.max(first.cpuMs, 1);
  const secondMs = Math.min(holdMs - firstMs, cpuLimitMs * slowdown * 2);
  if (secondMs < 1) return { kind: 'starved' };
  const second = attempt(secondMs);
  if (second.kind !== 'late') return second;
  return { kind: second.cpuMs >= cpuLimitMs * enough ? 'tooDear' : 'starved' };
}

/** The share of the limit that counts as all of it, because the watchdog starts slightly after the clock. */
const enough = 0.9;

type Attempt<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'late'; readonly cpuMs: number };

function runFor<Value>(wallLimitMs: number, work: () => Value, cpuTimeMs: () => number): Attempt<Value> {
  let done: Attempt<Value> | undefined;
  globals[place] = () => {
    done = { kind: 'done', value: work() };
  };
  const startedMs = cpuTimeMs();
  try {
    script.runInThisContext({ timeout: Math.ceil(wallLimitMs) });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw thrown;
  } finally {
    delete globals[place];
  }
  return done ?? { kind: 'late', cpuMs: cpuTimeMs() - startedMs };
}

/** The CPU time of this thread so far; of the process if the system does not report it per thread. */
export function threadTimeMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1_000_000;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}
