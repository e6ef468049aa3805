/**
 * Measures the servers' half: a call through the gateway beside the same call on the raw SDK client, and what connected
 * servers cost while there are no calls. Prints; judges nothing.
 */

import { rmSync } from 'node:fs';
import {
  ended,
  forked,
  homeWith,
  type IdleOrder,
  idleTable,
  messageOf,
  type Running,
  started,
  untilStates,
} from './daemon.ts';
import type { CallComparison, CallOrder, RoundCost } from './mcp-calls.ts';
import { median, print, printAll } from './table.ts';

interface ServersOrder extends IdleOrder {
  readonly servers: number;
}

const idleOrder: ServersOrder = { servers: 200, windowMs: 10_000, windows: 3, settleMs: 5_000 };
const quickIdleOrder: ServersOrder = { servers: 50, windowMs: 2_000, windows: 1, settleMs: 1_000 };

export async function measureMcp(quick: boolean): Promise<void> {
  const peer = forked('mcp-peer.js');
  const url = await messageOf<string>(peer);
  await measureCalls({ url, rounds: quick ? 10 : 40, calls: quick ? 80 : 400 });
  await measureIdle(url, quick ? quickIdleOrder : idleOrder);
  peer.disconnect();
}

async function measureCalls(order: CallOrder): Promise<void> {
  // Both fetches put a listener for each call on one signal until they are collected, and Node warns of each.
  const child = forked('mcp-calls.js', [], { execArgv: ['--no-warnings'] });
  await messageOf(child);
  child.send(order);
  const compared = await messageOf<CallComparison[]>(child);
  print(['one tool call', 'raw µs', 'gateway µs', '× raw', 'raw CPU µs', 'gw CPU µs', '× raw CPU']);
  for (const { name, rounds } of compared) {
    const cells = (of: (cost: RoundCost) => number): string[] => [
      median(rounds, ({ raw }) => of(raw)).toFixed(0),
      median(rounds, ({ gateway }) => of(gateway)).toFixed(0),
      // Of neighbours, so that a machine that grows busy meanwhile is no part of it.
      median(rounds, ({ raw, gateway }) => of(gateway) / of(raw)).toFixed(2),
    ];
    print([name, ...cells(({ micros }) => micros), ...cells(({ cpuMicros }) => cpuMicros)]);
  }
  process.stdout.write('\n');
}

async function measureIdle(url: string, { servers, ...order }: ServersOrder): Promise<void> {
  const entries = Array.from({ length: servers }, (_, index) => [`idle-${index}`, { url }]);
  const homes = [homeWith({}), homeWith(Object.fromEntries(entries))];
  const running: Running[] = [];
  try {
    for (const home of homes) running.push(await started(home));
    await untilStates(homes[1] ?? '', 'connected', servers);
    const names = ['no server', `${servers} connected servers`];
    const daemons = running.map(({ child }, at) => ({ name: names[at] ?? '', child }));
    printAll(await idleTable(daemons, order));
  } finally {
    for (const { child } of running) await ended(child, 'SIGTERM');
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  }
}
