/**
 * Measures the receiver beside bare handlers, the cost of groups, and the servers' half beside the raw SDK client. Prints
 * medians and ratios, and leaves them for `report.ts`; judges nothing.
 *
 * `npm run bench` for all, `npm run bench -- --quick` for a minute with what most changes could touch, `--only` and the name
 * of a part for that, and with `--full` the long form of `scale` (10 million events) or `page` (an hour).
 */

import { keepResults, machineNow } from './last.ts';
import { measureMcp } from './mcp.ts';
import { measureNodes } from './nodes.ts';
import { measurePage } from './page.ts';
import { measurePools } from './pools.ts';
import { measurePresets, presetSizes } from './presets.ts';
import {
  bareNode,
  type Cost,
  durable,
  inMemory,
  journeys,
  measureHalfLoad,
  measureReceiver,
  ownSquads,
  peerSquads,
} from './receiver.ts';
import { measureScale } from './scale.ts';
import { measureStart } from './start.ts';
import { printAll } from './table.ts';
import { costsTable, groupsTable, halfLoadTable } from './tables.ts';
import { measureWatch } from './watch.ts';

const quick = process.argv.includes('--quick');
const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : undefined;
const parts: Readonly<Record<string, () => unknown>> = {
  receiver,
  journey,
  presets,
  watch: () => measureWatch(quick),
  page: () => measurePage(quick, process.argv.includes('--full')),
  groups,
  nodes: () => measureNodes(quick),
  mcp: () => measureMcp(quick),
  start: () => measureStart(quick),
  scale: () => measureScale(quick, process.argv.includes('--full')),
};
if (only !== undefined && parts[only] === undefined) {
  throw new Error(`--only knows no "${only}"; it knows ${Object.keys(parts).join(', ')}`);
}
// What the parts start ends with the process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const inAMinute = ['receiver', 'journey', 'presets', 'groups', 'mcp', 'start'];
const chosen = only === undefined ? (quick ? inAMinute : Object.keys(parts)) : [only];
for (const name of chosen) await parts[name]?.();

async function receiver(): Promise<void> {
  const order = quick ? { rounds: 3, requests: 2_500 } : { rounds: 7, requests: 20_000 };
  const costs: Cost[] = [];
  // A bare handler runs with each squad, and is listed once. A quick run leaves the peers out.
  for (const subjects of quick ? ownSquads : [...ownSquads, ...peerSquads]) {
    const found = await measureReceiver({ subjects, ...order });
    costs.push(...found.filter(({ name }) => !costs.some((cost) => cost.name === name)));
  }
  keepResults({ receiver: costs });
  printAll(costsTable('receiver, 64 connections', costs));
  process.stdout.write(`durable / in memory, req/s: ${durableShare(costs).toFixed(2)}\n\n`);

  if (quick && only === undefined) return;
  const halves = quick ? { rounds: 3, requests: 2_500 } : { rounds: 5, requests: 20_000 };
  const halfLoad = await measureHalfLoad({ subjects: [bareNode, inMemory, durable], ...halves });
  keepResults({ halfLoad });
  printAll(halfLoadTable(halfLoad));
}

async function journey(): Promise<void> {
  const order = quick ? { rounds: 3, requests: 2_500 } : { rounds: 9, requests: 6_000 };
  const costs: Cost[] = [];
  for (const subjects of journeys) costs.push(...(await measureReceiver({ subjects, ...order })));
  keepResults({ journey: { machine: machineNow(), costs } });
  printAll(costsTable('event, run and delivery', costs));
}

function durableShare(costs: readonly Cost[]): number {
  const rateOf = (name: string): number => costs.find((cost) => cost.name === name)?.perSecond ?? Number.NaN;
  return rateOf('gateway, durable') / rateOf('gateway, in memory');
}

function presets(): void {
  const costs = measurePresets({ sizes: presetSizes, rounds: quick ? 5 : 60, requests: 300 });
  keepResults({ presets: costs });
  printAll([
    ['preset, verified and read', 'bytes', 'CPU µs', 'V2, CPU µs', 'own crypto µs', 'adds µs'],
    ...costs.map(({ preset, bytes, micros, byHandMicros, cryptoMicros, addedMicros }) => [
      preset,
      String(bytes),
      ...[micros, byHandMicros, cryptoMicros, addedMicros].map((one) => one.toFixed(1)),
    ]),
  ]);
}

function groups(): void {
  const costs = measurePools(quick ? [10, 10_000] : [10, 1_000, 10_000, 100_000]);
  keepResults({ groups: costs });
  printAll(groupsTable(costs));
}
