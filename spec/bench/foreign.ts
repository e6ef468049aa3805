/**
 * What people would use instead of the gateway, to be measured beside it with the same signature and JSON checks: Debian's
 * `webhook`, aiohttp and hono. What is not on the machine says how to get it.
 */

import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuMsOf, wait } from './daemon.ts';

/** The last two are Debian's `webhook` where a rule turns the event away and where it runs a command. */
export type Foreign = 'hono' | 'aiohttp' | 'webhook, rule not met' | 'webhook, runs /bin/true';

export interface Standing {
  readonly child: ChildProcess;
  readonly port: number;
}

const secret = 'bench-secret-bench-secret';

/** Starts one; says why not where it is missing. */
export function startForeign(which: Foreign): Promise<Standing | string> {
  switch (which) {
    case 'hono':
      return startHono();
    case 'aiohttp':
      return startPython('aiohttp-peer.py');
    case 'webhook, rule not met':
      return startWebhook('passes');
    case 'webhook, runs /bin/true':
      return startWebhook('runs');
  }
}

async function startHono(): Promise<Standing | string> {
  const child = fork(fileURLToPath(new URL('hono-peer.js', import.meta.url)), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const said = await new Promise<{ readonly port?: number; readonly missing?: string }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { port?: number; missing?: string }));
    child.once('exit', (code) => reject(new Error(`hono ended with ${code}`)));
  });
  return said.port === undefined ? (said.missing ?? 'it has no port') : { child, port: said.port };
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
  const file = join(mkdtempSync(join(tmpdir(), 'agent-bench-')), 'hooks.json');
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
  return { child, port };
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
