/**
 * Measures receivers beside each other: bare handlers that do the same HMAC and JSON parse, and the gateway with all its
 * rules. All live at once and take turns under the same load, forth and back, so that what else the machine does meets
 * them alike; a ratio compares two turns of one round.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type LoadResult, sendLoad, sendPaced } from './load.ts';
import { median } from './table.ts';

export interface Subject {
  readonly name: string;
  /** What `server.ts` is told. */
  readonly words: readonly string[];
  readonly path: string;
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

export const bareUws: Subject = { name: 'bare uWebSockets.js', words: ['uws'], path: '/webhooks/held' };
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

/** The first is what the others are compared with. */
export const allSubjects: readonly Subject[] = [
  bareUws,
  { name: 'bare node:http', words: ['node'], path: '/webhooks/held' },
  { name: 'fastify', words: ['fastify'], path: '/webhooks/held' },
  inMemory,
  durable,
  { name: 'gateway on node:http, in memory', words: ['gateway', 'memory', 'node', '1'], path: '/webhooks/held' },
  manyRoutes,
  { name: 'gateway, in memory, with echo runs', words: ['gateway', 'memory', 'auto', '1'], path: '/webhooks/run' },
];

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
  /** Of a gateway. */
  readonly home: string;
}

const connections = 64;
const secret = 'bench-secret-bench-secret';

export async function measureReceiver({ subjects, rounds, requests, opened }: Order): Promise<readonly Cost[]> {
  const servers = await Promise.all(subjects.map(start));
  for (const server of servers) await opened?.(server);
  const turns = new Map<Subject, Turn[]>(subjects.map((subject) => [subject, []]));
  try {
    // The first round warms up.
    for (let round = 0; round <= rounds; round += 1) {
      for (const server of round % 2 === 0 ? servers : [...servers].reverse()) {
        const turn = await takeTurn(server, `r${round}`, requests);
        if (round > 0) turns.get(server.subject)?.push(turn);
      }
    }
  } finally {
    for (const server of servers) stop(server);
  }
  const bare = [...turns.values()][0] ?? [];
  return subjects.map((subject) => costOf(subject.name, turns.get(subject) ?? [], bare));
}

/** Each at half of what it reaches itself, measured right before, in turns. */
export async function measureHalfLoad({ subjects, rounds, requests }: Order): Promise<readonly HalfLoad[]> {
  const servers = await Promise.all(subjects.map(start));
  const turns = new Map<Subject, HalfLoad[]>(subjects.map((subject) => [subject, []]));
  try {
    for (let round = 0; round <= rounds; round += 1) {
      for (const server of round % 2 === 0 ? servers : [...servers].reverse()) {
        const { subject, port } = server;
        const full = await takeTurn(server, `f${round}`, requests);
        const perSecond = full.perSecond / 2;
        const { path } = subject;
        const paced = await sendPaced({ port, path, secret, connections, requests, round: `h${round}`, perSecond });
        if (round > 0)
          turns.get(subject)?.push({ name: subject.name, perSecond, p50Ms: paced.p50Ms, p99Ms: paced.p99Ms });
      }
    }
  } finally {
    for (const server of servers) stop(server);
  }
  return subjects.map((subject) => {
    const taken = turns.get(subject) ?? [];
    return {
      name: subject.name,
      perSecond: median(taken, ({ perSecond }) => perSecond),
      p50Ms: median(taken, ({ p50Ms }) => p50Ms),
      p99Ms: median(taken, ({ p99Ms }) => p99Ms),
    };
  });
}

export async function start(subject: Subject): Promise<Running> {
  const child = fork(fileURLToPath(new URL('server.js', import.meta.url)), [...subject.words], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const { port, home } = await messageOf<{ port: number; home: string }>(child);
  return { subject, child, port, home };
}

export function stop({ child }: Running): void {
  child.disconnect();
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

export async function takeTurn({ subject, child, port }: Running, round: string, requests: number): Promise<Turn> {
  const before = await ask<{ cpuMs: number }>(child, 'usage');
  const result = await sendLoad({ port, path: subject.path, secret, connections, requests, round });
  const after = await ask<{ cpuMs: number }>(child, 'usage');
  if (result.refused > 0) throw new Error(`${subject.name}: ${result.refused} of ${requests} requests were refused`);
  return {
    ...result,
    cpuMicros: ((after.cpuMs - before.cpuMs) * 1_000) / requests,
    perSecond: requests / result.seconds,
  };
}

/** Asks a measured server and waits for its answer. */
export async function ask<Answer>(child: ChildProcess, question: string): Promise<Answer> {
  child.send(question);
  return messageOf<Answer>(child);
}

function costOf(name: string, turns: readonly Turn[], bare: readonly Turn[]): Cost {
  return {
    name,
    cpuMicros: median(turns, ({ cpuMicros }) => cpuMicros),
    ratio: median(
      turns.map(({ cpuMicros }, round) => cpuMicros / (bare[round]?.cpuMicros ?? Number.NaN)),
      (ratio) => ratio,
    ),
    perSecond: median(turns, ({ perSecond }) => perSecond),
    p50Ms: median(turns, ({ p50Ms }) => p50Ms),
    p99Ms: median(turns, ({ p99Ms }) => p99Ms),
  };
}

function messageOf<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`a measured server ended with ${code}`));
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message as Message);
    });
    child.once('exit', ended);
  });
}
