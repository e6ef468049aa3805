/**
 * Measures what grows: routes, groups, remembered delivery ids, subscriptions, servers and history, each beside its own small
 * self or its target. Prints and keeps what it found; judges nothing.
 *
 * `--full` keeps ten million events instead of two hundred thousand, which takes some minutes and ten gigabytes.
 */

import type { ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cpuMsOf, ended, forked, homeWith, messageOf, rssOf, started, untilStates, wait } from './daemon.ts';
import { keepResults, machineNow } from './last.ts';
import { sendLoad } from './load.ts';
import type { ScaleFinding, ScaleOrder } from './scale-parts.ts';
import { inTurns, median, print } from './table.ts';

export async function measureScale(quick: boolean, full: boolean): Promise<void> {
  const found: ScaleFinding[] = [];
  const add = (findings: readonly ScaleFinding[]): void => {
    found.push(...findings);
    for (const { name, measured, target } of findings) print([name, measured, target]);
  };
  print(['scale', 'measured', 'target']);
  if (!quick) {
    add(
      await measureBeside('routes', [
        { routes: 1, groups: 1 },
        { routes: 10_000, groups: 1 },
      ]),
    );
    add(
      await measureBeside('groups', [
        { routes: 1, groups: 10 },
        { routes: 1, groups: 100_000 },
      ]),
    );
    for (const alive of [10, 100_000]) add(await foundBy({ kind: 'groups', alive }));
  }
  add(await foundBy({ kind: 'claims', ids: quick ? 100_000 : 1_000_000 }));
  add(await foundBy({ kind: 'subscriptions', records: quick ? 10_000 : 20_000, rounds: quick ? 5 : 9 }));
  add(await foundBy({ kind: 'history', events: full ? 10_000_000 : quick ? 50_000 : 200_000 }));
  add(await measureServers(quick ? 100 : 500, quick ? 2_000 : 10_000));
  if (!quick) keepResults({ scale: { machine: machineNow(), found } });
  process.stdout.write('\n');
}

/** One of two gateways that differ in how much there is of something. */
interface Side {
  readonly routes: number;
  readonly groups: number;
}

/** What an event costs where there is little of something, and where there is much, in turn. */
async function measureBeside(
  what: 'routes' | 'groups',
  sides: readonly [few: Side, many: Side],
): Promise<readonly ScaleFinding[]> {
  const rounds = 8;
  const requests = 20_000;
  const servers: {
    readonly child: ChildProcess;
    readonly send: (round: string, requests: number) => Promise<unknown>;
  }[] = [];
  const events = Math.max(...sides.map(({ groups }) => groups));
  for (const { routes, groups } of sides) {
    const child = forked('server.js', ['gateway', 'memory', 'auto', String(routes)]);
    const { port } = await messageOf<{ port: number }>(child);
    const load = { port, path: '/webhooks/held', connections: 64, groups };
    const send = (round: string, requests: number) => sendLoad({ ...load, requests, round });
    // Every group lives before anything is measured, and both have seen as many events.
    await send('fill', events);
    servers.push({ child, send });
  }
  const [few = [], many = []] = await inTurns(servers, rounds, async ({ child, send }, round) => {
    const before = cpuMsOf(child);
    await send(`s${round}`, requests);
    return ((cpuMsOf(child) - before) * 1_000) / requests;
  });
  const ratio = median(
    many.map((micros, round) => micros / (few[round] ?? Number.NaN)),
    Number,
  );
  for (const { child } of servers) child.disconnect();
  const [little, much] = sides.map((side) => side[what].toLocaleString('en'));
  const micros = [many, few].map((one) => median(one, Number).toFixed(1)).join(' beside ');
  return [
    {
      name: `CPU of an event among ${much} ${what}, beside ${little}`,
      measured: `${ratio.toFixed(2)} × (${micros} µs)`,
      target: what === 'groups' ? '1.5 ×' : '',
    },
  ];
}

/** Has one part measured in a process whose memory is its own. */
async function foundBy(order: ScaleOrder): Promise<readonly ScaleFinding[]> {
  const child = forked('scale-parts.js', [], { execArgv: ['--expose-gc'] });
  child.send(order);
  const found = await messageOf<ScaleFinding[]>(child);
  if (child.connected) child.disconnect();
  return found;
}

async function measureServers(servers: number, idleWindowMs: number): Promise<readonly ScaleFinding[]> {
  const peer = forked('mcp-peer.js');
  const url = await messageOf<string>(peer);
  const home = homeWith(Object.fromEntries(Array.from({ length: servers }, (_, index) => [`peer-${index}`, { url }])));
  try {
    const began = performance.now();
    const { child } = await started(home);
    const listeningMs = performance.now() - began;
    await untilStates(home, 'connected', servers);
    const connectedMs = performance.now() - began;
    // What connecting left behind is collected once the daemon is idle for a while.
    await wait(6 * idleWindowMs);
    const before = cpuMsOf(child);
    await wait(idleWindowMs);
    const spent = cpuMsOf(child) - before;
    const memory = rssOf(child) / 1_048_576;
    await ended(child, 'SIGTERM');
    const name = `${servers} servers`;
    return [
      { name: `${name}: listening`, measured: `${listeningMs.toFixed(0)} ms`, target: '' },
      { name: `${name}: all connected`, measured: `${(connectedMs / 1_000).toFixed(1)} s`, target: '' },
      { name: `${name}: idle CPU`, measured: `${((spent / idleWindowMs) * 100).toFixed(2)} %`, target: '0.5 %' },
      { name: `${name}: memory`, measured: `${memory.toFixed(0)} MiB`, target: '200 MB' },
    ];
  } finally {
    peer.disconnect();
    rmSync(home, { recursive: true, force: true });
  }
}
