/**
 * What people would use instead of the gateway, to be measured beside it. A handler checks the same signature and parses the same
 * JSON; a finished program does what it can. What is not on the machine says how to get it.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp2Server } from 'node:http2';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/http-listener.ts';
import { cpuMsOf, forked, messageOf, wait } from './daemon.ts';
import { secret } from './handler.ts';

/**
 * The queue is fastify's and BullMQ's, on a Redis that keeps it in memory or has written an event before it is answered; the
 * last two are Debian's `webhook` where a rule turns the event away and where it runs a command.
 */
export type Foreign =
  | 'hono'
  | 'queue, in memory'
  | 'queue, durable'
  | 'restate'
  | 'openclaw'
  | 'n8n'
  | 'aiohttp'
  | 'webhook, rule not met'
  | 'webhook, runs /bin/true';

export interface Standing {
  readonly child: ChildProcess;
  readonly port: number;
  /** What it cannot be without: its processor time is part of the other's. */
  readonly beside?: ChildProcess;
}

/** Where `npm run bench:peers` puts those that npm has and the project does not depend on. */
const peers = fileURLToPath(new URL('../../../.bench/peers/node_modules/', import.meta.url));
const fetched = '`npm run bench:peers` fetches it';
/** n8n needs some 45 s until it takes an event. */
const maxTries = 1_000;
/** OpenClaw and n8n run on no Node that is older. */
const newerNode = join(peers, `node-linux-${process.arch}/bin/node`);

/** Starts one; says why not where it is missing. */
export function startForeign(which: Foreign): Promise<Standing | string> {
  switch (which) {
    case 'hono':
      return startNode('hono-peer.js');
    case 'queue, in memory':
      return startQueue('no');
    case 'queue, durable':
      return startQueue('yes');
    case 'restate':
      return startRestate();
    case 'openclaw':
      return startOpenClaw();
    case 'n8n':
      return startN8n();
    case 'aiohttp':
      return startPython('aiohttp-peer.py');
    case 'webhook, rule not met':
      return startWebhook('passes');
    case 'webhook, runs /bin/true':
      return startWebhook('runs');
  }
}

async function startNode(file: string, ...words: readonly string[]): Promise<Standing | string> {
  const child = forked(file, words);
  const said = await messageOf<{ readonly port?: number; readonly missing?: string }>(child);
  return said.port === undefined ? (said.missing ?? 'it has no port') : { child, port: said.port };
}

async function startQueue(appendonly: 'yes' | 'no'): Promise<Standing | string> {
  if (spawnSync('redis-server', ['--version']).error !== undefined)
    return 'install the Debian package `redis-server` to see it';
  if (!existsSync(join(peers, 'bullmq'))) return fetched;
  const port = await freePort();
  const kept = ['--dir', ownFolder(), '--save', '', '--appendonly', appendonly, '--appendfsync', 'always'];
  const redis = await standing(
    ending(spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', ...kept], { stdio: 'ignore' })),
    port,
  );
  if (typeof redis === 'string') return redis;
  const peer = await startNode('queue-peer.js', String(port));
  return typeof peer === 'string' ? peer : { ...peer, beside: redis.child };
}

/** Its service is only asked what it offers: each call is to begin later, as an event of a batch waits in the gateway. */
async function startRestate(): Promise<Standing | string> {
  const program = join(peers, `@restatedev/restate-server-linux-${process.arch}/bin/restate-server`);
  if (!existsSync(program)) return fetched;
  const { createEndpointHandler, service } = createRequire(peers)('@restatedev/restate-sdk');
  const held = service({ name: 'held', handlers: { run: async () => {} } });
  const endpoint = createHttp2Server(createEndpointHandler({ services: [held], logger: () => {} })).listen(
    0,
    '127.0.0.1',
  );
  await once(endpoint, 'listening');
  const [port, admin, fabric] = await Promise.all([freePort(), freePort(), freePort()]);
  const env = {
    ...process.env,
    DO_NOT_TRACK: '1',
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${port}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
  };
  const own = ['--listen-mode=tcp', '--bind-ip=127.0.0.1', `--bind-port=${fabric}`, `--base-dir=${ownFolder()}`];
  const child = ending(spawn(program, own, { env, stdio: 'ignore' }));
  const { port: offered } = endpoint.address() as { port: number };
  const deployment = JSON.stringify({ uri: `http://127.0.0.1:${offered}` });
  const started = await taking(child, admin, '/deployments', deployment);
  endpoint.close();
  return typeof started === 'string' ? started : standing(child, port);
}

/** An event waits in memory for the agent's next heartbeat, for which no model is needed. */
async function startOpenClaw(): Promise<Standing | string> {
  const program = join(peers, 'openclaw/openclaw.mjs');
  if (!existsSync(program) || !existsSync(newerNode)) return fetched;
  const port = await freePort();
  const folder = ownFolder();
  const mapping = {
    match: { path: 'held' },
    action: 'wake',
    wakeMode: 'next-heartbeat',
    textTemplate: '{{repository.full_name}} {{action}} {{delivery}}',
  };
  const config = {
    gateway: { mode: 'local', bind: 'loopback', port, auth: { mode: 'token', token: `not-${secret}` } },
    hooks: { enabled: true, token: secret, mappings: [mapping] },
  };
  writeFileSync(join(folder, 'openclaw.json'), JSON.stringify(config));
  const env = { ...process.env, HOME: folder, OPENCLAW_STATE_DIR: folder };
  const child = ending(spawn(newerNode, [program, 'gateway', 'run'], { env, stdio: 'ignore' }));
  return taking(child, port, '/hooks/held', '{"action":"opened"}');
}

/** A workflow of a Webhook node alone that answers at once; its run is kept, as it is from the start. */
async function startN8n(): Promise<Standing | string> {
  const program = join(peers, 'n8n/bin/n8n');
  if (!existsSync(program) || !existsSync(newerNode)) return fetched;
  const [port, broker] = await Promise.all([freePort(), freePort()]);
  const folder = ownFolder();
  const token = { id: 'token', name: 'token', type: 'httpHeaderAuth' };
  const node = {
    id: 'webhook',
    name: 'Webhook',
    type: 'n8n-nodes-base.webhook',
    typeVersion: 2,
    position: [0, 0],
    webhookId: 'held',
    parameters: { httpMethod: 'POST', path: 'held', authentication: 'headerAuth', responseMode: 'onReceived' },
    credentials: { httpHeaderAuth: token },
  };
  writeFileSync(
    join(folder, 'token.json'),
    JSON.stringify([{ ...token, data: { name: 'authorization', value: `Bearer ${secret}` } }]),
  );
  writeFileSync(
    join(folder, 'held.json'),
    JSON.stringify([{ id: 'held', name: 'held', active: false, nodes: [node], connections: {}, settings: {} }]),
  );
  const env = {
    ...process.env,
    N8N_USER_FOLDER: folder,
    N8N_LISTEN_ADDRESS: '127.0.0.1',
    N8N_PORT: String(port),
    N8N_RUNNERS_BROKER_PORT: String(broker),
    N8N_DIAGNOSTICS_ENABLED: 'false',
    N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
    // Its own choice makes a V8 isolate for each event, which costs more.
    N8N_EXPRESSION_ENGINE: 'legacy',
  };
  const words = [
    'import:credentials --input=token.json',
    'import:workflow --input=held.json',
    'publish:workflow --id=held',
  ];
  const steps = [...words.map((step) => `"$0" "$1" ${step}`), 'exec "$0" "$1" start'];
  const child = ending(
    spawn('sh', ['-c', steps.join(' && '), newerNode, program], { cwd: folder, env, stdio: 'ignore' }),
  );
  return taking(child, port, '/webhook/held', '{}');
}

/** The compiler takes no Python along, so the program lies where it was written. */
async function startPython(file: string): Promise<Standing | string> {
  // Debian's packages are its own Python's, which may not be the first one of the path.
  const python = ['python3', '/usr/bin/python3'].find((one) => spawnSync(one, ['-c', 'import aiohttp']).status === 0);
  if (python === undefined) return 'install the Debian package `python3-aiohttp` to see it';
  const program = fileURLToPath(new URL(`../../../spec/bench/${file}`, import.meta.url));
  const child = spawn(python, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', (text) => resolve(Number(String(text).trim())));
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
  });
  return { child, port };
}

async function startWebhook(does: 'runs' | 'passes'): Promise<Standing | string> {
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
  const file = join(ownFolder(), 'hooks.json');
  writeFileSync(file, JSON.stringify(hooks));
  const words = ['-hooks', file, '-ip', '127.0.0.1', '-port', String(port), '-urlprefix', 'webhooks'];
  const child = ending(spawn('webhook', words, { stdio: 'ignore' }));
  return standing(child, port);
}

/** What a peer leaves, itself and up to a gigabyte of events, goes with the bench. */
const left: (() => void)[] = [];
process.once('exit', () => {
  for (const remove of left) remove();
});

function ending(child: ChildProcess): ChildProcess {
  left.unshift(() => child.kill('SIGKILL'));
  return child;
}

function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-bench-'));
  left.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function standing(child: ChildProcess, port: number): Promise<Standing | string> {
  while (!(await answers(port))) {
    if (child.exitCode !== null || child.signalCode !== null)
      return `it ended with ${child.exitCode ?? child.signalCode}`;
    await wait(20);
  }
  return { child, port };
}

/** Some listen before they take what is sent to them; n8n says with 200, and not in JSON, that it is starting. */
async function taking(child: ChildProcess, port: number, path: string, body: string): Promise<Standing | string> {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  for (let tries = 0; tries < maxTries; tries += 1) {
    const found = await standing(child, port);
    if (typeof found === 'string') return found;
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body }).catch(
      () => undefined,
    );
    if (answer?.ok && answer.headers.get('content-type')?.includes('json')) return found;
    await wait(200);
  }
  child.kill('SIGKILL');
  return 'it takes no event';
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

/** The processor time of a process and of the children that it has waited for. */
export function cpuWithChildren(child: ChildProcess): number {
  try {
    // The name in parentheses may hold spaces; what follows it does not.
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return cpuMsOf(child) + (Number(fields[13]) + Number(fields[14])) * tickMs;
  } catch {
    return Number.NaN;
  }
}
