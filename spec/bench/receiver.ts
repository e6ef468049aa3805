/**
 * Measures receivers beside each other: bare handlers that do the same HMAC and JSON parse, what people would use instead,
 * and the gateway with all its rules. All live at once and take turns under the same load, forth and back, so that what
 * else the machine does meets them alike; a ratio compares two turns of one round.
 */

import type { ChildProcess } from 'node:child_process';
import { nativeNode } from '../support/native-node.ts';
import { forked, messageOf, wait } from './daemon.ts';
import { cpuWithChildren, type Foreign, startForeign } from './foreign.ts';
import { type LoadResult, sendLoad, sendPaced } from './load.ts';
import { inTurns, median, medians } from './table.ts';

export interface Subject {
  readonly name: string;
  /** What `server.ts` is told. */
  readonly words: readonly string[];
  readonly path: string;
  /** On the native HTTP server, which may need another C library than the machine's. */
  readonly isNative?: true;
  /** Another program than ours. */
  readonly foreign?: Foreign;
  /** It checks a token, not a signature. */
  readonly asBearer?: true;
  /** What an event leads to is part of its cost: a turn ends when no run and no delivery is alive. */
  readonly isJourney?: true;
  /** Part of the requests: one that does much for each event, as starting a process, needs no more to be measured. */
  readonly share?: number;
}

export interface Cost {
  readonly name: string;
  /** Processor time per request, all threads. */
  readonly cpuMicros: number;
  /** That time beside the first subject's, in the middle of the rounds. */
  readonly ratio: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What the others are compared with. */
export const bareNode: Subject = { name: 'bare node:http', words: ['node'], path: '/webhooks/held' };
export const inMemory: Subject = {
  name: 'gateway, in memory',
  words: ['gateway', 'memory', 'auto', '1'],
  path: '/webhooks/held',
};
export const durable: Subject = {
  name: 'gateway, durable',
  words: ['gateway', 'lmdb', 'auto', '1'],
  path: '/webhooks/held',
};

export const manyRoutes: Subject = {
  name: 'gateway, in memory, 10,000 routes',
  words: ['gateway', 'memory', 'auto', '10000'],
  path: '/webhooks/held',
};

const held = '/webhooks/held';
const bareUws: Subject = { name: 'bare uWebSockets.js', words: ['uws'], path: held, isNative: true };

/**
 * Who is measured beside whom; the first of each is what the others are compared with. Few at a time: a subject that waits
 * long for its turn finds its memory gone cold, or taken away by a system that does so, and pays for what the others took.
 */
export const ownSquads: readonly (readonly Subject[])[] = [
  [bareNode, inMemory, durable],
  [
    bareUws,
    {
      name: 'gateway on uWebSockets.js, in memory',
      words: ['gateway', 'memory', 'uws', '1'],
      path: held,
      isNative: true,
    },
    {
      name: 'gateway on uWebSockets.js, durable',
      words: ['gateway', 'lmdb', 'uws', '1'],
      path: held,
      isNative: true,
    },
  ],
];

export const peerSquads: readonly (readonly Subject[])[] = [
  [
    bareNode,
    manyRoutes,
    { name: 'fastify', words: ['fastify'], path: held },
    { name: 'hono on node:http', words: [], path: held, foreign: 'hono' },
  ],
  [
    bareNode,
    { name: 'fastify, BullMQ on Redis, in memory', words: [], path: held, foreign: 'queue, in memory' },
    { name: 'fastify, BullMQ on Redis, durable', words: [], path: held, foreign: 'queue, durable' },
  ],
  [
    bareNode,
    { name: 'Restate, ingress', words: [], path: '/held/run/send?delay=3000s', foreign: 'restate', share: 0.25 },
    { name: 'OpenClaw, hooks', words: [], path: '/hooks/held', foreign: 'openclaw', asBearer: true, share: 0.1 },
    { name: 'n8n, webhook', words: [], path: '/webhook/held', foreign: 'n8n', asBearer: true, share: 0.01 },
  ],
  [
    bareNode,
    { name: 'aiohttp', words: [], path: held, foreign: 'aiohttp' },
    { name: 'webhook, rule not met', words: [], path: held, foreign: 'webhook, rule not met' },
    { name: 'webhook, runs /bin/true', words: [], path: held, foreign: 'webhook, runs /bin/true', share: 0.25 },
  ],
];

/**
 * An event, its run by the built-in echo agent and the delivery of the response to the log. Beside the bare handler of the
 * same HTTP server, which is the first of each.
 */
export const journeys: readonly (readonly Subject[])[] = [
  [bareUws, journey('memory', 'uws'), journey('lmdb', 'uws')],
  [bareNode, journey('memory', 'node'), journey('lmdb', 'node')],
];

function journey(journal: 'memory' | 'lmdb', front: 'uws' | 'node'): Subject {
  const server = front === 'uws' ? 'uWebSockets.js' : 'node:http';
  const kept = journal === 'memory' ? 'in memory' : 'durable';
  return {
    name: `to its delivery, ${kept}, ${server}`,
    words: ['gateway', journal, front, '1'],
    path: '/webhooks/run',
    isJourney: true,
    ...(front === 'uws' ? { isNative: true } : {}),
  };
}

export interface Order {
  readonly subjects: readonly Subject[];
  readonly rounds: number;
  /** Requests in each turn. */
  readonly requests: number;
  /** Called once with each server before the first round. */
  readonly opened?: (server: Running) => Promise<void>;
}

/** How long a receiver lets wait that is half as busy as it can be. */
export interface HalfLoad {
  readonly name: string;
  /** Of itself, in the middle of the rounds. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Turn extends LoadResult {
  readonly cpuMicros: number;
  readonly perSecond: number;
}

export interface Running {
  readonly subject: Subject;
  readonly child: ChildProcess;
  readonly port: number;
  readonly beside?: ChildProcess;
  /** Of a gateway. */
  readonly home: string;
}

const connections = 64;
const settleMs = 200;

export async function measureReceiver({ subjects, rounds, requests, opened }: Order): Promise<readonly Cost[]> {
  const servers = await startAll(subjects);
  for (const server of servers) await opened?.(server);
  try {
    const turns = await inTurns(servers, rounds, (server, round) => takeTurn(server, `r${round}`, requests));
    return servers.map(({ subject }, at) => costOf(subject.name, turns[at] ?? [], turns[0] ?? []));
  } finally {
    for (const server of servers) stop(server);
  }
}

/** Starts all that are on this machine, and says which are not. */
async function startAll(subjects: readonly Subject[]): Promise<readonly Running[]> {
  const started = await Promise.all(
    subjects.map(async (subject): Promise<Running[]> => {
      if (subject.isNative && nativeNode() === undefined) {
        process.stdout.write(
          `skipped: ${subject.name}: it cannot load here; \`npm run native\` fetches what it needs\n`,
        );
        return [];
      }
      if (subject.foreign === undefined) return [await start(subject)];
      const standing = await startForeign(subject.foreign);
      if (typeof standing !== 'string') return [{ subject, ...standing, home: '' }];
      process.stdout.write(`skipped: ${subject.name}: ${standing}\n`);
      return [];
    }),
  );
  return started.flat();
}

/** Each at half of what it reaches itself, measured right before, in turns. */
export async function measureHalfLoad({ subjects, rounds, requests }: Order): Promise<readonly HalfLoad[]> {
  const servers = await Promise.all(subjects.map(start));
  try {
    const turns = await inTurns(servers, rounds, async (server, round) => {
      const { subject, port } = server;
      const perSecond = (await takeTurn(server, `f${round}`, requests)).perSecond / 2;
      const load = { port, path: subject.path, connections, requests, round: `h${round}`, perSecond };
      return { ...(await sendPaced(load)), perSecond };
    });
    return servers.map(({ subject: { name } }, at) => ({
      name,
      ...medians(turns[at] ?? [], 'perSecond', 'p50Ms', 'p99Ms'),
    }));
  } finally {
    for (const server of servers) stop(server);
  }
}

export async function start(subject: Subject): Promise<Running> {
  const [execPath, ...execArgv] = (subject.isNative && nativeNode()) || [process.execPath, ...process.execArgv];
  const child = forked('server.js', subject.words, { execPath, execArgv });
  const { port, home } = await messageOf<{ port: number; home: string }>(child);
  return { subject, child, port, home };
}

export function stop({ subject, child, beside }: Running): void {
  beside?.kill('SIGKILL');
  if (subject.foreign === undefined) child.disconnect();
  else child.kill('SIGKILL');
}

/**
 * The bytes that a request makes the server allocate, warm; or only those that the young heap did not get rid of. Both
 * hardly depend on what else the machine does.
 */
export async function bytesBy(server: Running, which: 'allocation' | 'survival', sampled: number): Promise<number> {
  // A request that has been optimised by the engine allocates less than the first ones.
  await takeTurn(server, `warm-${which}`, 20_000);
  await ask(server.child, `${which}.begin`);
  await takeTurn(server, `sampled-${which}`, sampled);
  const { bytes } = await ask<{ bytes: number }>(server.child, 'sampling.end');
  return bytes / sampled;
}

async function takeTurn(server: Running, round: string, asked: number): Promise<Turn> {
  const { subject, port } = server;
  const requests = Math.round(asked * (subject.share ?? 1));
  const before = await cpuMsBy(server);
  const beganMs = performance.now();
  const { path, asBearer = false } = subject;
  const result = await sendLoad({ port, path, asBearer, connections, requests, round });
  if (subject.isJourney) await ask(server.child, 'settled');
  const seconds = subject.isJourney ? (performance.now() - beganMs) / 1_000 : result.seconds;
  const spent = (await cpuMsBy(server)) - before;
  if (result.refused > 0) throw new Error(`${subject.name}: ${result.refused} of ${requests} requests were refused`);
  return { ...result, cpuMicros: (spent * 1_000) / requests, perSecond: requests / seconds };
}

async function cpuMsBy({ subject, child, beside }: Running): Promise<number> {
  if (subject.foreign === undefined) return (await ask<{ cpuMs: number }>(child, 'usage')).cpuMs;
  // Commands that are still running are part of it.
  await wait(settleMs);
  return cpuWithChildren(child) + (beside ? cpuWithChildren(beside) : 0);
}

/** Asks a measured server and waits for its answer. */
export async function ask<Answer>(child: ChildProcess, question: string): Promise<Answer> {
  child.send(question);
  return messageOf<Answer>(child);
}

function costOf(name: string, turns: readonly Turn[], bare: readonly Turn[]): Cost {
  const ratios = turns.map(({ cpuMicros }, round) => cpuMicros / (bare[round]?.cpuMicros ?? Number.NaN));
  return { name, ratio: median(ratios, Number), ...medians(turns, 'cpuMicros', 'perSecond', 'p50Ms', 'p99Ms') };
}
