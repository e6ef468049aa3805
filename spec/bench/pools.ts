/**
 * The cost of a coalescing group as the daemon keeps it: spawning one while others live, an event that joins it, its end,
 * and the memory of an idle one.
 */

import { createActor } from 'xstate';
import { compile } from '../../machines/base/compile.ts';
import { createPool, poolHandle } from '../../machines/base/pool.ts';
import { coalescingGroupMachine } from '../../machines/webhook/coalescing-group.machine.ts';
import { createClock } from '../../runtime/system/clock.ts';
import { indexTimers } from '../../runtime/system/timers.ts';
import { median } from './table.ts';

export interface PoolCost {
  readonly alive: number;
  readonly spawnMicros: number;
  readonly joinMicros: number;
  readonly endMicros: number;
  readonly bytes: number;
}

/** So many are spawned, joined and ended again, so that the number of those that live stays what it is. */
const sample = 500;
const samples = 15;
const windowMs = 3_600_000;
/** Idle groups never open a run. */
const wired = coalescingGroupMachine.provide({ actions: { openRun: () => {} } });
const logic = compile(wired, { now: Date.now, trail: 24, watched: () => false });

/** Run with --expose-gc, or the bytes are those of a heap with garbage in it. */
export function measurePools(sizes: readonly number[]): PoolCost[] {
  // The first round warms up.
  return [sizes[0] ?? 0, ...sizes].map(measure).slice(1);
}

function measure(alive: number): PoolCost {
  const pool = createActor(createPool({ name: 'groups', logic }), { clock: createClock() });
  indexTimers(pool, Date.now);
  pool.start();
  const groups = poolHandle(pool);
  const keys = Array.from({ length: alive }, (_, index) => `default/bench/group-${index}`);
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  for (const key of keys) groups.spawn(key, { key, profile: 'default', route: 'bench', burst: batchOf(key), atMs: 0 });
  globalThis.gc?.();
  const bytes = (process.memoryUsage().heapUsed - before) / alive;

  const spawns: number[] = [];
  const joins: number[] = [];
  const ends: number[] = [];
  for (let round = 0; round < samples; round += 1) {
    const guests = Array.from({ length: sample }, (_, index) => `default/bench/guest-${index}`);
    spawns.push(
      microsEach(guests, (key) =>
        groups.spawn(key, { key, profile: 'default', route: 'bench', burst: batchOf(key), atMs: 0 }),
      ),
    );
    joins.push(
      microsEach(guests, (key) =>
        groups.get(key)?.send({ type: 'event.joined', burst: { ...batchOf(key), count: 2 }, atMs: 1 }),
      ),
    );
    ends.push(
      microsEach(guests, (key) => {
        groups.get(key)?.send({ type: 'group.drain', atMs: 2 });
        groups.get(key)?.send({ type: 'batch.gone', atMs: 3 });
      }),
    );
  }
  if (groups.size !== alive) throw new Error(`${groups.size} groups are left of ${alive}`);
  pool.stop();
  const middle = (micros: readonly number[]): number => median(micros, (one) => one);
  return { alive, bytes, spawnMicros: middle(spawns), joinMicros: middle(joins), endMicros: middle(ends) };
}

function microsEach(keys: readonly string[], act: (key: string) => void): number {
  const { user, system } = process.cpuUsage();
  for (const key of keys) act(key);
  const after = process.cpuUsage();
  return (after.user + after.system - user - system) / keys.length;
}

function batchOf(key: string) {
  return { id: key, firstAtMs: 0, count: 1, latestEventKey: key, dueAtMs: windowMs };
}
