/**
 * Measures the receiver beside what people would use instead, on one event, with the same signature and JSON checks:
 * Debian's `webhook`, aiohttp, node:http, fastify and hono. One table of one run, in alternating order. Prints; judges nothing.
 *
 * What is not on the machine is skipped, and said to be.
 */

import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuMsOf, wait } from './daemon.ts';
import { type LoadResult, sendLoad } from './load.ts';
import { median, print } from './table.ts';

interface Peer {
  readonly name: string;
  /** The file and words of a fork; a program for Debian's Python; or what Debian's `webhook` does with an event. */
  readonly start:
    | { readonly file: string; readonly words: readonly string[] }
    | { readonly python: string }
    | { readonly webhook: 'runs' | 'passes' };
  /** Part of the requests: one that starts a process for each event needs no more to be measured. */
  readonly share?: number;
}

interface Measured extends LoadResult {
  readonly cpuMicros: number;
  readonly perSecond: number;
}

interface Standing {
  readonly peer: Peer;
  readonly child: ChildProcess;
  readonly port: number;
}

const secret = 'bench-secret-bench-secret';
const path = '/webhooks/held';
const settleMs = 200;

const peers: readonly Peer[] = [
  { name: 'bare node:http', start: { file: 'server.js', words: ['node'] } },
  { name: 'fastify', start: { file: 'server.js', words: ['fastify'] } },
  { name: 'hono on node:http', start: { file: 'hono-peer.js', words: [] } },
  { name: 'aiohttp', start: { python: 'aiohttp-peer.py' } },
  { name: 'webhook, rule not met', start: { webhook: 'passes' } },
  { name: 'webhook, runs /bin/true', start: { webhook: 'runs' }, share: 0.25 },
  { name: 'gateway, in memory', start: { file: 'server.js', words: ['gateway', 'memory', 'auto', '1'] } },
  { name: 'gateway, durable', start: { file: 'server.js', words: ['gateway', 'lmdb', 'auto', '1'] } },
];

export async function measurePeers(quick: boolean): Promise<void> {
  const rounds = quick ? 3 : 5;
  const requests = quick ? 6_000 : 30_000;
  const folder = mkdtempSync(join(tmpdir(), 'agent-bench-'));
  const standing: Standing[] = [];
  try {
    for (const peer of peers) {
      const one = await stand(peer, folder);
      if (typeof one === 'string') process.stdout.write(`skipped: ${peer.name}: ${one}\n`);
      else standing.push(one);
    }
    const results = new Map<Peer, Measured[]>(standing.map(({ peer }) => [peer, []]));
    for (let round = 0; round <= rounds; round += 1) {
      for (const one of round % 2 === 0 ? standing : [...standing].reverse()) {
        const measured = await measureOne(one, Math.round(requests * (one.peer.share ?? 1)), `p${round}`);
        // The first round warms up.
        if (round > 0) results.set(one.peer, [...(results.get(one.peer) ?? []), measured]);
      }
    }
    printPeers(results);
  } finally {
    for (const { child } of standing) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureOne({ peer, child, port }: Standing, requests: number, round: string): Promise<Measured> {
  const before = cpuWithChildren(child);
  const result = await sendLoad({ port, path, secret, connections: 64, requests, round });
  // Commands that are still running are part of it.
  await wait(settleMs);
  const cpuMicros = ((cpuWithChildren(child) - before) * 1_000) / requests;
  if (result.refused > 0) throw new Error(`${peer.name}: ${result.refused} of ${requests} requests were refused`);
  return { ...result, cpuMicros, perSecond: requests / result.seconds };
}

function printPeers(results: ReadonlyMap<Peer, readonly Measured[]>): void {
  const [first] = results.values();
  print(['peers, 64 connections', 'CPU µs', '× node:http', 'req/s', 'p50 ms', 'p99 ms']);
  for (const [{ name }, rows] of results) {
    const ratios = rows.map((row, at) => row.cpuMicros / (first?.[at]?.cpuMicros ?? Number.NaN));
    print([
      name,
      median(rows, ({ cpuMicros }) => cpuMicros).toFixed(1),
      median(ratios, (ratio) => ratio).toFixed(2),
      median(rows, ({ perSecond }) => perSecond).toFixed(0),
      median(rows, ({ p50Ms }) => p50Ms).toFixed(2),
      median(rows, ({ p99Ms }) => p99Ms).toFixed(2),
    ]);
  }
  process.stdout.write('\n');
}

/** Starts a peer; says why not where it is missing. */
async function stand(peer: Peer, folder: string): Promise<Standing | string> {
  if ('webhook' in peer.start) return standWebhook(peer, peer.start.webhook, folder);
  if ('python' in peer.start) return standPython(peer, peer.start.python);
  const { file, words } = peer.start;
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [...words], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const said = await new Promise<{ readonly port?: number; readonly missing?: string }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { port?: number; missing?: string }));
    child.once('exit', (code) => reject(new Error(`${peer.name} ended with ${code}`)));
  });
  return said.port === undefined ? (said.missing ?? 'it has no port') : { peer, child, port: said.port };
}

/** The compiler takes no Python along, so the program lies where it was written. */
async function standPython(peer: Peer, file: string): Promise<Standing | string> {
  // Debian's packages are its own Python's, which may not be the first one of the path.
  const python = ['python3', '/usr/bin/python3'].find((one) => spawnSync(one, ['-c', 'import aiohttp']).status === 0);
  if (python === undefined) return 'install the Debian package `python3-aiohttp` to see it';
  const program = fileURLToPath(new URL(`../../../spec/bench/${file}`, import.meta.url));
  const child = spawn(python, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', (text) => resolve(Number(String(text).trim())));
    child.once('exit', (code) => reject(new Error(`${peer.name} ended with ${code}`)));
  });
  return { peer, child, port };
}

async function standWebhook(peer: Peer, does: 'runs' | 'passes', folder: string): Promise<Standing | string> {
  if (spawnSync('webhook', ['-version']).error !== undefined) return 'install the Debian package `webhook` to see it';
  const port = await freePort();
  const match = (rule: object): object => ({ match: rule });
  const header = { source: 'header', name: 'X-Hub-Signature-256' };
  const action = { source: 'payload', name: 'action' };
  const hooks = [
    {
      id: 'held',
      'execute-command': '/bin/true',
      // Where the command is to run, an event whose signature it did not believe must not pass for one that it took.
      ...(does === 'runs' ? { 'trigger-rule-mismatch-http-response-code': 403 } : {}),
      'trigger-rule': {
        and: [
          match({ type: 'payload-hmac-sha256', secret, parameter: header }),
          match({ type: 'value', value: does === 'runs' ? 'opened' : 'none', parameter: action }),
        ],
      },
    },
  ];
  const file = join(folder, `hooks-${does}.json`);
  writeFileSync(file, JSON.stringify(hooks));
  const child = spawn(
    'webhook',
    ['-hooks', file, '-ip', '127.0.0.1', '-port', String(port), '-urlprefix', 'webhooks'],
    {
      stdio: 'ignore',
    },
  );
  while (!(await answers(port))) {
    if (child.exitCode !== null) return `it ended with ${child.exitCode}`;
    await wait(20);
  }
  return { peer, child, port };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** The system counts children that ended in ticks of ten milliseconds, which is fine enough for a thousand of them. */
const tickMs = 10;

function cpuWithChildren(child: ChildProcess): number {
  try {
    // The name in parentheses may hold spaces; what follows it does not.
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return cpuMsOf(child) + (Number(fields[13]) + Number(fields[14])) * tickMs;
  } catch {
    return Number.NaN;
  }
}
