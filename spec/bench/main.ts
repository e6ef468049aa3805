/**
 * Measures the receiver beside bare handlers that do the same HMAC and JSON parse, alternating in one run, the cost of
 * groups, and the servers' half beside the raw SDK client. Prints medians and ratios; judges nothing.
 *
 * `npm run bench` for all, `npm run bench -- --quick` for a minute or two, `--only receiver|groups|mcp|peers|start|scale` for a part.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type LoadResult, sendLoad } from './load.ts';
import { measureMcp } from './mcp.ts';
import { measurePeers } from './peers.ts';
import { measureScale } from './scale.ts';
import { measureStart } from './start.ts';
import { median, print } from './table.ts';
import { measureWards } from './wards.ts';

interface Subject {
  readonly name: string;
  readonly words: readonly string[];
  readonly path: string;
  readonly groups?: boolean;
}

interface Usage {
  readonly cpuMs: number;
}

interface Measured extends LoadResult {
  readonly cpuMicros: number;
  readonly perSecond: number;
}

const quick = process.argv.includes('--quick');
const rounds = quick ? 3 : 5;
const requests = quick ? 8_000 : 30_000;
const secret = 'bench-secret-bench-secret';

const subjects: readonly Subject[] = [
  { name: 'bare uWebSockets.js', words: ['uws'], path: '/webhooks/held' },
  { name: 'bare node:http', words: ['node'], path: '/webhooks/held' },
  { name: 'fastify', words: ['fastify'], path: '/webhooks/held' },
  { name: 'gateway, in memory', words: ['gateway', 'memory', 'auto', '1'], path: '/webhooks/held' },
  { name: 'gateway, durable', words: ['gateway', 'lmdb', 'auto', '1'], path: '/webhooks/held' },
  { name: 'gateway on node:http, in memory', words: ['gateway', 'memory', 'node', '1'], path: '/webhooks/held' },
  { name: 'gateway, in memory, 10,000 routes', words: ['gateway', 'memory', 'auto', '10000'], path: '/webhooks/held' },
  { name: 'gateway, in memory, with echo runs', words: ['gateway', 'memory', 'auto', '1'], path: '/webhooks/run' },
];

const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : undefined;
if (only !== undefined && !['receiver', 'groups', 'mcp', 'peers', 'start', 'scale'].includes(only))
  throw new Error(`--only knows no "${only}"`);
if (only === undefined || only === 'receiver') await measureReceiver();
if (only === undefined || only === 'groups') measureGroups();
if (only === undefined || only === 'mcp') await measureMcp(quick);
if (only === undefined || only === 'peers') await measurePeers(quick);
if (only === undefined || only === 'start') await measureStart(quick);
if (only === undefined || only === 'scale') await measureScale(quick, process.argv.includes('--full'));

async function measureReceiver(): Promise<void> {
  const results = new Map<string, Measured[]>();
  const servers = await Promise.all(subjects.map(start));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, subject] of subjects.entries()) {
      const server = servers[index];
      if (server === undefined) continue;
      const before = await usageOf(server.child);
      const result = await sendLoad({
        port: server.port,
        path: subject.path,
        secret,
        connections: 64,
        requests,
        round: `r${round}`,
      });
      const after = await usageOf(server.child);
      if (result.refused > 0)
        throw new Error(`${subject.name}: ${result.refused} of ${requests} requests were refused`);
      // The first round warms up.
      if (round === 0) continue;
      const measured = {
        ...result,
        cpuMicros: ((after.cpuMs - before.cpuMs) * 1_000) / requests,
        perSecond: requests / result.seconds,
      };
      results.set(subject.name, [...(results.get(subject.name) ?? []), measured]);
    }
  }
  for (const { child } of servers) child.disconnect();

  const bare = median(results.get(subjects[0]?.name ?? '') ?? [], ({ cpuMicros }) => cpuMicros);
  print(['receiver, 64 connections', 'CPU µs', '× bare', 'req/s', 'p50 ms', 'p99 ms']);
  for (const { name } of subjects) {
    const rows = results.get(name) ?? [];
    const cpu = median(rows, ({ cpuMicros }) => cpuMicros);
    print([
      name,
      cpu.toFixed(1),
      (cpu / bare).toFixed(2),
      median(rows, ({ perSecond }) => perSecond).toFixed(0),
      median(rows, ({ p50Ms }) => p50Ms).toFixed(2),
      median(rows, ({ p99Ms }) => p99Ms).toFixed(2),
    ]);
  }
  const rate = (name: string): number => median(results.get(name) ?? [], ({ perSecond }) => perSecond);
  process.stdout.write(
    `\ndurable / in memory, req/s: ${(rate('gateway, durable') / rate('gateway, in memory')).toFixed(2)}\n\n`,
  );
}

function measureGroups(): void {
  print(['groups alive', 'spawn µs', 'bytes each']);
  for (const { alive, spawnMicros, bytes } of measureWards(
    quick ? [10, 1_000, 10_000] : [10, 1_000, 10_000, 100_000],
  )) {
    print([String(alive), spawnMicros.toFixed(2), bytes.toFixed(0)]);
  }
  process.stdout.write('\n');
}

async function start({ words }: Subject): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const child = fork(fileURLToPath(new URL('server.js', import.meta.url)), [...words], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const { port } = await messageOf<{ port: number }>(child);
  return { child, port };
}

async function usageOf(child: ChildProcess): Promise<Usage> {
  child.send('usage');
  return messageOf<Usage>(child);
}

function messageOf<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Message));
    child.once('exit', (code) => reject(new Error(`a measured server ended with ${code}`)));
  });
}
