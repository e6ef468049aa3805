/**
 * Measures the servers' half: a call through the gateway beside the same call on the raw SDK client, what lazy servers add
 * to the daemon's start, and what connected servers cost while nobody calls. Prints; judges nothing.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { cpuMsOf, ended, homeWith, type Running, rememberTools, rssOf, started, untilStates, wait } from './daemon.ts';
import type { CallComparison, CallOrder, RoundCost } from './mcp-calls.ts';
import { median, print } from './table.ts';

const lazyServers = 20;
interface IdleOrder {
  readonly servers: number;
  readonly windowMs: number;
  readonly windows: number;
  /** What a start leaves behind: compiling, collecting, the first look at the files. */
  readonly settleMs: number;
}

const idleOrder: IdleOrder = { servers: 200, windowMs: 10_000, windows: 3, settleMs: 5_000 };
const quickIdleOrder: IdleOrder = { servers: 50, windowMs: 2_000, windows: 1, settleMs: 1_000 };

export async function measureMcp(quick: boolean): Promise<void> {
  const peer = fork(fileURLToPath(new URL('mcp-peer.js', import.meta.url)), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [url] = (await once(peer, 'message')) as [string];
  await measureCalls({ url, rounds: quick ? 10 : 40, calls: quick ? 80 : 400 });
  if (!quick) await measureStart(21);
  await measureIdle(url, quick ? quickIdleOrder : idleOrder);
  peer.disconnect();
}

async function measureCalls(order: CallOrder): Promise<void> {
  // Both fetches put a listener for each call on one signal until they are collected, and Node warns of each.
  const child = fork(fileURLToPath(new URL('mcp-calls.js', import.meta.url)), {
    execArgv: ['--no-warnings'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  child.send(order);
  const [compared] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the measured calls ended with ${code}`))),
  ])) as [CallComparison[]];
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

async function measureStart(rounds: number): Promise<void> {
  const entries = Array.from({ length: lazyServers }, (_, index) => [`lazy-${index}`, { ...stdioPeer(), lazy: true }]);
  const homes = [homeWith({}), homeWith(Object.fromEntries(entries))];
  const rows: { readonly without: Running; readonly with: Running }[] = [];
  try {
    await rememberTools(homes[1] ?? '', lazyServers);
    for (let at = -1; at < rounds; at += 1) {
      const pair: Running[] = [];
      for (const which of at % 2 === 0 ? [0, 1] : [1, 0]) {
        const running = await started(homes[which] ?? '');
        pair[which] = running;
        await ended(running.child, 'SIGKILL');
      }
      const [without, withThem] = pair;
      if (at >= 0 && without !== undefined && withThem !== undefined) rows.push({ without, with: withThem });
    }
  } finally {
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  }
  print(['start of the daemon', 'wall ms', 'CPU ms']);
  print([
    'no server',
    median(rows, (row) => row.without.startMs).toFixed(0),
    median(rows, (row) => row.without.cpuMs).toFixed(0),
  ]);
  print([
    `${lazyServers} lazy servers`,
    median(rows, (row) => row.with.startMs).toFixed(0),
    median(rows, (row) => row.with.cpuMs).toFixed(0),
  ]);
  print([
    'added',
    median(rows, (row) => row.with.startMs - row.without.startMs).toFixed(1),
    median(rows, (row) => row.with.cpuMs - row.without.cpuMs).toFixed(1),
  ]);
  process.stdout.write('\n');
}

async function measureIdle(url: string, { servers, windowMs, windows: count, settleMs }: IdleOrder): Promise<void> {
  const entries = Array.from({ length: servers }, (_, index) => [`idle-${index}`, { url }]);
  const homes = [homeWith({}), homeWith(Object.fromEntries(entries))];
  const running: Running[] = [];
  try {
    for (const home of homes) running.push(await started(home));
    await untilStates(homes[1] ?? '', 'connected', servers);
    await wait(settleMs);
    // Both in the same window, and of several the quietest: a collection of garbage is no part of being idle.
    const windows: (readonly number[])[] = [];
    for (let at = 0; at < count; at += 1) {
      const before = running.map(({ child }) => cpuMsOf(child));
      await wait(windowMs);
      windows.push(running.map(({ child }, index) => cpuMsOf(child) - (before[index] ?? 0)));
    }
    const spent = running.map((_, index) => Math.min(...windows.map((row) => row[index] ?? Number.NaN)));
    const held = running.map(({ child }) => rssOf(child) / 1_048_576);
    print([`idle for ${windowMs / 1_000} s`, 'CPU ms', 'CPU %', 'RSS MiB']);
    for (const [index, name] of ['no server', `${servers} connected servers`].entries())
      print([
        name,
        (spent[index] ?? 0).toFixed(1),
        (((spent[index] ?? 0) / windowMs) * 100).toFixed(3),
        (held[index] ?? 0).toFixed(0),
      ]);
    process.stdout.write('\n');
  } finally {
    for (const { child } of running) await ended(child, 'SIGTERM');
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  }
}
