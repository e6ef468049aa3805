/** The tables of the parts, as the bench prints them and `report.ts` writes them. */

import type { NodesCost } from './nodes.ts';
import type { PoolCost } from './pools.ts';
import type { Cost, HalfLoad } from './receiver.ts';
import type { ScaleFinding } from './scale-parts.ts';
import type { Cells, Table } from './table.ts';
import type { WatchCost } from './watch.ts';

const waits = ({ p50Ms, p99Ms }: Pick<Cost, 'p50Ms' | 'p99Ms'>): Cells => [p50Ms.toFixed(2), p99Ms.toFixed(2)];

export const costsTable = (title: string, costs: readonly Cost[]): Table => [
  [title, 'CPU µs', '× bare', 'events/s', 'p50 ms', 'p99 ms'],
  ...costs.map((cost) => [
    cost.name,
    cost.cpuMicros.toFixed(1),
    cost.ratio.toFixed(2),
    cost.perSecond.toFixed(0),
    ...waits(cost),
  ]),
];

/** The first one is the bare handler. */
export const halfLoadTable = (loads: readonly HalfLoad[]): Table => [
  ['at half of its own load', 'events/s', 'p50 ms', 'p99 ms', 'p99 × bare'],
  ...loads.map((load) => [
    load.name,
    load.perSecond.toFixed(0),
    ...waits(load),
    (load.p99Ms / (loads[0]?.p99Ms ?? Number.NaN)).toFixed(2),
  ]),
];

export const watchTable = (costs: readonly WatchCost[]): Table => [
  ['who looks', 'CPU µs', '× none', 'bytes an event'],
  ...costs.map(({ name, cpuMicros, ratio, bytes }) => [
    name,
    cpuMicros.toFixed(1),
    ratio.toFixed(2),
    // Kept as JSON, a number that is none is null.
    Number.isFinite(bytes) ? bytes.toFixed(0) : '',
  ]),
];

export const groupsTable = (costs: readonly PoolCost[]): Table => [
  ['groups alive', 'spawn µs', 'join µs', 'end µs', 'bytes each'],
  ...costs.map(({ alive, spawnMicros, joinMicros, endMicros, bytes }) => [
    alive.toLocaleString('en'),
    ...[spawnMicros, joinMicros, endMicros].map((micros) => micros.toFixed(2)),
    alive < 1_000 ? '-' : bytes.toFixed(0),
  ]),
];

export const nodesTable = (costs: readonly NodesCost[]): Table => [
  ['accepted events', 'events/s', 'gateways µs', 'database µs', 'p50 ms', 'p99 ms'],
  ...costs.map((cost) => [
    cost.name,
    cost.perSecond.toFixed(0),
    cost.gatewayMicros.toFixed(1),
    cost.databaseMicros.toFixed(1),
    ...waits(cost),
  ]),
];

export const scaleTable = (found: readonly ScaleFinding[]): Table => [
  ['what', 'measured', 'target'],
  ...found.map(({ name, measured, target }) => [name, measured, target]),
];
