/**
 * Measures gateways on one Postgres beside one on LMDB: accepted events a second, and the processor time that an event costs
 * the gateways and the database. All live at once and take turns. Every event joins one of many batches, so none leads to a run.
 */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectControl } from '../../runtime/control/client.ts';
import { startPostgres, withoutPostgres } from '../support/postgres.ts';
import { cpuMsOf, ended, type Running, started, wait } from './daemon.ts';
import { secret } from './handler.ts';
import { keepResults } from './last.ts';
import { sendLoad } from './load.ts';
import { inTurns, median, medians, printAll } from './table.ts';
import { nodesTable } from './tables.ts';

export interface NodesCost {
  readonly name: string;
  readonly perSecond: number;
  /** Processor time per event, in microseconds, of all gateways together and of the database. */
  readonly gatewayMicros: number;
  readonly databaseMicros: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Subject {
  readonly name: string;
  /** Of the database, whoever uses it. */
  readonly url: string;
  readonly nodes: readonly Node[];
}

interface Node extends Running {
  readonly port: number;
}

const groups = 50;
const connections = 64;

export async function measureNodes(quick: boolean): Promise<void> {
  if (withoutPostgres !== false) {
    process.stdout.write(`skipped: gateways on Postgres: ${withoutPostgres}\n\n`);
    return;
  }
  const ends: (() => unknown)[] = [];
  const postgres = await startPostgres({ teardown: (end: () => unknown) => ends.push(end) } as never);
  // What Debian gives it; that of the specs has little memory.
  await postgres.restart('shared_buffers=128MB');
  try {
    const folder = mkdtempSync(join(tmpdir(), 'agent-bench-nodes-'));
    ends.push(() => rmSync(folder, { recursive: true, force: true }));
    const one = await postgres.url();
    const two = await postgres.url();
    const open = async (name: string, config: object): Promise<Node> => {
      const node = await nodeAt(join(folder, name), config);
      ends.unshift(() => ended(node.child, 'SIGTERM'));
      return node;
    };
    const shared = (url: string, node: string) => ({ journal: 'postgres', node, postgres: { url } });
    const subjects: readonly Subject[] = [
      { name: 'one gateway, LMDB', url: one, nodes: [await open('lmdb', { journal: 'lmdb' })] },
      { name: 'one gateway, Postgres', url: one, nodes: [await open('one', shared(one, 'one'))] },
      {
        name: 'two gateways, Postgres',
        url: two,
        nodes: [await open('a', shared(two, 'a')), await open('b', shared(two, 'b'))],
      },
    ];
    const costs = await measure(subjects, quick ? { rounds: 2, requests: 2_000 } : { rounds: 5, requests: 10_000 });
    keepResults({ nodes: costs });
    printAll(nodesTable(costs));
  } finally {
    for (const end of ends) await end();
  }
}

async function nodeAt(home: string, gateway: object): Promise<Node> {
  mkdirSync(home);
  const held = {
    events: ['push'],
    prompt: '{repository.full_name} {action}',
    coalesce: { key: 'id', window_seconds: 3_000, max_wait_seconds: 3_000 },
  };
  const extra = { host: '127.0.0.1', port: 0, secret, rate_limit: 1_000_000_000, routes: { held } };
  writeFileSync(
    join(home, 'config.yaml'),
    JSON.stringify({ gateway, inspector: { enabled: false }, platforms: { webhook: { enabled: true, extra } } }),
  );
  const running = await started(home);
  for (;;) {
    const client = await connectControl(join(home, 'gateway.sock'));
    const status = (await client?.call('gateway.status')) as { webhook?: { url?: string | null } } | undefined;
    client?.close();
    if (typeof status?.webhook?.url === 'string') return { ...running, port: Number(new URL(status.webhook.url).port) };
    await wait(20);
  }
}

async function measure(
  subjects: readonly Subject[],
  { rounds, requests }: { readonly rounds: number; readonly requests: number },
): Promise<readonly NodesCost[]> {
  const turns = await inTurns(subjects, rounds, (subject, round) => takeTurn(subject, round, requests));
  return subjects.map(({ name }, at) => ({
    name,
    ...medians(turns[at] ?? [], 'perSecond', 'gatewayMicros', 'databaseMicros', 'p50Ms', 'p99Ms'),
  }));
}

async function takeTurn({ nodes, url }: Subject, round: number, requests: number): Promise<Omit<NodesCost, 'name'>> {
  const gatewaysBefore = sum(nodes.map(({ child }) => cpuMsOf(child)));
  const databaseBefore = databaseCpuMs(url);
  const loads = await Promise.all(
    nodes.map(({ port }, nth) =>
      sendLoad({
        port,
        path: '/webhooks/held',
        connections: connections / nodes.length,
        requests: requests / nodes.length,
        round: `${round}-${nth}`,
        groups,
      }),
    ),
  );
  const refused = sum(loads.map((load) => load.refused));
  if (refused > 0) throw new Error(`${refused} of ${requests} requests were refused`);
  const micros = (ms: number): number => (ms * 1_000) / requests;
  return {
    perSecond: requests / Math.max(...loads.map(({ seconds }) => seconds)),
    gatewayMicros: micros(sum(nodes.map(({ child }) => cpuMsOf(child))) - gatewaysBefore),
    databaseMicros: micros(databaseCpuMs(url) - databaseBefore),
    p50Ms: median(loads, ({ p50Ms }) => p50Ms),
    p99Ms: Math.max(...loads.map(({ p99Ms }) => p99Ms)),
  };
}

/** Of all processes of a database; what one has used that ends meanwhile is not counted. */
function databaseCpuMs(url: string): number {
  const folder = new URL(url).searchParams.get('host');
  const [first = ''] = readFileSync(`${folder}/data/postmaster.pid`, 'utf8').split('\n');
  const nanos = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        const [, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ');
        const isOfIt = pid === first || parent === first;
        return isOfIt ? Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) : 0;
      } catch {
        return 0;
      }
    });
  return sum(nanos) / 1e6;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}
