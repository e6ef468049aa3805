/**
 * A daemon to be measured, in a process of its own: its home, its start, its end, and what the system says of its processor
 * time and memory.
 */

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectControl } from '../../runtime/control/client.ts';
import { secret } from './handler.ts';
import type { Table } from './table.ts';

export interface Running {
  readonly child: ChildProcess;
  /** From spawn to the line that says that it listens. */
  readonly startMs: number;
  /** Its processor time until then. */
  readonly cpuMs: number;
}

export const main = fileURLToPath(new URL('../../cli/main.js', import.meta.url));

export function homeWith(servers: object): string {
  const home = mkdtempSync(join(tmpdir(), 'agent-bench-'));
  const platforms = {
    webhook: { enabled: true, extra: { host: '127.0.0.1', port: 0, secret } },
  };
  writeFileSync(
    join(home, 'config.yaml'),
    JSON.stringify({ inspector: { enabled: false }, platforms, mcp_servers: servers }),
  );
  return home;
}

export async function started(home: string): Promise<Running> {
  const began = performance.now();
  const child = spawn(process.execPath, [main, 'gateway', 'run'], {
    env: { ...process.env, AGENT_LOG_LEVEL: 'info', AGENT_HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('listening')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`the daemon ended with ${code}: ${text}`)));
  });
  const startMs = performance.now() - began;
  return { child, startMs, cpuMs: cpuMsOf(child) };
}

export async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

export async function untilStates(home: string, state: string, count: number): Promise<void> {
  for (;;) {
    const client = await connectControl(join(home, 'gateway.sock'));
    const rows = (await client?.call('mcp.list')) as readonly { readonly state: string; readonly error?: string }[];
    client?.close();
    if ((rows ?? []).filter((row) => row.state === state).length === count) return;
    await wait(100);
  }
}

/** The processor time of every thread, to the nanosecond; NaN where the system does not say. */
export function cpuMsOf({ pid }: ChildProcess): number {
  try {
    let nanos = 0;
    for (const task of readdirSync(`/proc/${pid}/task`))
      nanos += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
    return nanos / 1e6;
  } catch {
    return Number.NaN;
  }
}

export function rssOf({ pid }: ChildProcess): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
  } catch {
    return Number.NaN;
  }
}

export interface IdleOrder {
  readonly windowMs: number;
  readonly windows: number;
  /** What a start leaves behind: compiling, collecting, the first look at the files. */
  readonly settleMs: number;
}

/**
 * What idle daemons cost, all in the same windows, and of several windows the quietest: a collection of garbage is no part of
 * being idle.
 */
export async function idleTable(
  daemons: readonly { readonly name: string; readonly child: ChildProcess }[],
  { windowMs, windows, settleMs }: IdleOrder,
): Promise<Table> {
  await wait(settleMs);
  const spent = daemons.map(() => Number.POSITIVE_INFINITY);
  for (let window = 0; window < windows; window += 1) {
    const before = daemons.map(({ child }) => cpuMsOf(child));
    await wait(windowMs);
    for (const [at, { child }] of daemons.entries())
      spent[at] = Math.min(spent[at] ?? 0, cpuMsOf(child) - (before[at] ?? 0));
  }
  return [
    [`idle for ${windowMs / 1_000} s`, 'CPU ms', 'CPU %', 'RSS MiB'],
    ...daemons.map(({ name, child }, at) => {
      const cpuMs = spent[at] ?? Number.NaN;
      return [name, cpuMs.toFixed(1), ((cpuMs / windowMs) * 100).toFixed(3), (rssOf(child) / 1_048_576).toFixed(0)];
    }),
  ];
}

/** Forks a file of the bench. */
export function forked(
  file: string,
  words: readonly string[] = [],
  options: { readonly execPath?: string; readonly execArgv?: readonly string[] } = {},
): ChildProcess {
  const { execArgv = process.execArgv, ...others } = options;
  return fork(fileURLToPath(new URL(file, import.meta.url)), [...words], {
    ...others,
    execArgv: [...execArgv],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

/** Resolves with the next message of a child; rejects if it ends before. */
export function messageOf<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`a measured process ended with ${code}`));
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message as Message);
    });
    child.once('exit', ended);
  });
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Connects every lazy server once, so that its tools lie in the cache. */
export async function rememberTools(home: string, servers: number): Promise<void> {
  const { child } = await started(home);
  for (;;) {
    if (namesIn(join(home, 'cache', 'mcp')).filter((name) => name.endsWith('.json')).length >= servers) break;
    await wait(50);
  }
  await ended(child, 'SIGTERM');
  const again = await started(home);
  await untilStates(home, 'lazy', servers);
  await ended(again.child, 'SIGTERM');
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
