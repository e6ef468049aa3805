/** The cost of a coalescing group: spawning one while others live, and the memory of an idle one. */

import { createActor } from 'xstate';
import { compile } from '../../machines/base/compile.ts';
import { createWard, wardHandle } from '../../machines/base/ward.ts';
import { coalescingGroupMachine } from '../../machines/webhook/coalescing-group.machine.ts';

export interface WardCost {
  readonly alive: number;
  readonly spawnMicros: number;
  readonly bytes: number;
}

const sample = 2_000;
/** Idle groups never open a run. */
const wired = coalescingGroupMachine.provide({ actions: { openRun: () => {} } });

/** Run with --expose-gc, or the bytes are those of a heap with garbage in it. */
export function measureWards(sizes: readonly number[]): WardCost[] {
  return sizes.map((alive) => {
    const ward = createActor(createWard({ name: 'groups', logic: compile(wired, { now: Date.now, trail: 24 }) }));
    ward.start();
    const groups = wardHandle(ward);
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < alive; index += 1) spawn(groups, `group-${index}`);
    globalThis.gc?.();
    const bytes = (process.memoryUsage().heapUsed - before) / alive;
    const began = performance.now();
    for (let index = 0; index < sample; index += 1) spawn(groups, `sample-${index}`);
    const spawnMicros = ((performance.now() - began) * 1_000) / sample;
    ward.stop();
    return { alive, spawnMicros, bytes };
  });
}

function spawn(groups: { spawn(key: string, input: object): unknown }, key: string): void {
  const burst = { id: key, firstAtMs: 0, count: 1, latestEventKey: key, dueAtMs: 3_600_000 };
  groups.spawn(key, { key, profile: 'default', route: 'bench', burst, atMs: 0 });
}
