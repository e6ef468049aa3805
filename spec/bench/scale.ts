/**
 * Measures what grows: routes, groups, remembered delivery ids, subscriptions, servers and history, each beside its own small
 * self or its target. Prints; judges nothing.
 *
 * `--full` keeps ten million events instead of two hundred thousand, which takes an hour and some ten gigabytes.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { cpuMsOf, ended, homeWith, rssOf, started, untilStates, wait } from './daemon.ts';
import { sendLoad } from './load.ts';
import type { ScaleFinding, ScaleOrder } from './scale-parts.ts';
import { median, print } from './table.ts';

const connectedServers = 500;
const idleWindowMs = 10_000;

export async function measureScale(quick: boolean, full: boolean): Promise<void> {
  await measureRoutes(quick);
  print(['scale', 'measured', 'target']);
  for (const alive of quick ? [10, 10_000] : [10, 100_000]) await tell({ kind: 'groups', alive });
  await tell({ kind: 'claims', ids: quick ? 200_000 : 1_000_000 });
  await tell({ kind: 'subscriptions', records: 10_000, rounds: quick ? 5 : 9 });
  await tell({ kind: 'history', events: full ? 10_000_000 : quick ? 50_000 : 200_000 });
  await measureServers();
  process.stdout.write('\n');
}

/** One route and ten thousand, in turn. */
async function measureRoutes(quick: boolean): Promise<void> {
  const counts = ['1', '10000'];
  const rounds = quick ? 4 : 8;
  const requests = quick ? 6_000 : 20_000;
  const servers: { readonly child: ChildProcess; readonly port: number }[] = [];
  for (const count of counts) {
    const child = forked('server.js', ['gateway', 'memory', 'auto', count]);
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    servers.push({ child, port });
  }
  const ratios: number[] = [];
  const micros: number[][] = [[], []];
  for (let round = 0; round <= rounds; round += 1) {
    const cost: number[] = [];
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const server = servers[at];
      if (server === undefined) continue;
      const before = cpuMsOf(server.child);
      const path = '/webhooks/held';
      const { port } = server;
      const secret = 'bench-secret-bench-secret';
      await sendLoad({ port, path, secret, connections: 64, requests, round: `s${round}` });
      cost[at] = ((cpuMsOf(server.child) - before) * 1_000) / requests;
    }
    const [one = Number.NaN, many = Number.NaN] = cost;
    // The first round warms up.
    if (round === 0) continue;
    ratios.push(many / one);
    micros[0]?.push(one);
    micros[1]?.push(many);
  }
  for (const { child } of servers) child.disconnect();
  print(['routes', 'CPU µs', '× one']);
  print(['1', median(micros[0] ?? [], Number).toFixed(1), '1.00']);
  print(['10,000', median(micros[1] ?? [], Number).toFixed(1), median(ratios, Number).toFixed(2)]);
  process.stdout.write('\n');
}

/** Has one part measured in a process whose memory is its own. */
async function tell(order: ScaleOrder): Promise<void> {
  const child = forked('scale-parts.js', [], ['--expose-gc']);
  child.send(order);
  const [found] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${order.kind} ended with ${code}`))),
  ])) as [ScaleFinding[]];
  for (const { name, measured, target } of found) print([name, measured, target]);
  if (child.connected) child.disconnect();
}

async function measureServers(): Promise<void> {
  const peer = forked('mcp-peer.js', []);
  const [url] = (await once(peer, 'message')) as [string];
  const home = homeWith(
    Object.fromEntries(Array.from({ length: connectedServers }, (_, index) => [`peer-${index}`, { url }])),
  );
  try {
    const began = performance.now();
    const { child } = await started(home);
    const listeningMs = performance.now() - began;
    await untilStates(home, 'connected', connectedServers);
    const connectedMs = performance.now() - began;
    await wait(5_000);
    const before = cpuMsOf(child);
    await wait(idleWindowMs);
    const spent = cpuMsOf(child) - before;
    const name = `${connectedServers} servers`;
    print([`${name}: listening`, `${listeningMs.toFixed(0)} ms`, '']);
    print([`${name}: all connected`, `${(connectedMs / 1_000).toFixed(1)} s`, '']);
    print([`${name}: idle CPU`, `${((spent / idleWindowMs) * 100).toFixed(2)} %`, 'nil']);
    print([`${name}: memory`, `${(rssOf(child) / 1_048_576).toFixed(0)} MiB`, '']);
    await ended(child, 'SIGTERM');
  } finally {
    peer.disconnect();
    rmSync(home, { recursive: true, force: true });
  }
}

function forked(file: string, words: readonly string[], execArgv: readonly string[] = []): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), [...words], {
    execArgv: [...execArgv],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}
