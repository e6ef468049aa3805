/** What the last measurement of each kind found, kept between runs of the bench in a file that is not committed. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NodesCost } from './nodes.ts';
import type { PoolCost } from './pools.ts';
import type { PresetCost } from './presets.ts';
import type { Cost, HalfLoad } from './receiver.ts';
import type { ScaleFinding } from './scale-parts.ts';
import type { WatchCost } from './watch.ts';

export interface Results {
  /** What the last part was measured with. */
  readonly machine: string;
  readonly receiver?: readonly Cost[];
  /** With a machine of its own, for it may be measured by itself. */
  readonly journey?: { readonly machine: string; readonly costs: readonly Cost[] };
  readonly halfLoad?: readonly HalfLoad[];
  readonly presets?: readonly PresetCost[];
  readonly watch?: readonly WatchCost[];
  readonly groups?: readonly PoolCost[];
  readonly nodes?: readonly NodesCost[];
  /** Likewise. */
  readonly scale?: { readonly machine: string; readonly found: readonly ScaleFinding[] };
}

const path = fileURLToPath(new URL('../../../.bench/last.json', import.meta.url));

/** The last results; undefined where nothing was measured yet. */
export function lastResults(): Results | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Results;
  } catch {
    return undefined;
  }
}

/** What is measured with, such as `Node 20.20, 2 processors, load average 1`. */
export function machineNow(): string {
  const [major, minor] = process.versions.node.split('.');
  // A machine that others use too stretches waits; CPU ratios feel it least.
  const load = (loadavg()[0] ?? 0).toFixed(0);
  return `Node ${major}.${minor}, ${availableParallelism()} processors, load average ${load}`;
}

export function keepResults(found: Omit<Results, 'machine'>): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify({ ...lastResults(), ...found, machine: machineNow() }, undefined, 2)}\n`);
}
