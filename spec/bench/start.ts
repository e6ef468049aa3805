/**
 * Measures how soon people are answered: `agent --version` and every command that only reads, beside `node -e 0` in the same
 * minute; then the daemon's start with lazy servers, and what it costs while nothing happens. Prints; judges nothing.
 *
 * The ratios are of neighbours, in processor time, so that a machine that is busy with other work is little part of them.
 */

import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { cpuMsOf, ended, homeWith, main, rememberTools, rssOf, started, wait } from './daemon.ts';
import { median, print } from './table.ts';

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

const empty = ['-e', '0'];
const versionWords = [main, '--version'];
const reading = [
  'help',
  'gateway status',
  'webhook list',
  'webhook deliveries',
  'runs list',
  'deliveries list',
  'deliveries targets',
  'mcp list',
  'mcp tools',
  'approvals list',
  'cron list',
  'config check',
  'config schema',
  'inspect tree',
];
/** One that asks nobody, and three that ask the daemon. */
const readingQuickly: readonly string[] = ['help', 'gateway status', 'webhook deliveries', 'mcp list'];
const lazyServers = 20;
const idleWindowMs = 10_000;
const settleMs = 5_000;
const tellingFile = 'telling.cjs';

export async function measureStart(quick: boolean): Promise<void> {
  const rounds = quick ? 2 : 15;
  const entries = Array.from({ length: lazyServers }, (_, index) => [`lazy-${index}`, { ...stdioPeer(), lazy: true }]);
  const home = homeWith(Object.fromEntries(entries));
  writeFileSync(join(home, tellingFile), telling);
  try {
    await rememberTools(home, lazyServers);
    await measureDaemon(home, rounds);
    const { child } = await started(home);
    await measureCommands(home, quick ? readingQuickly : reading, rounds);
    // A quick run sees an idle daemon among the servers.
    if (!quick) await measureIdle(child.pid ?? 0, () => ({ cpuMs: cpuMsOf(child), rssBytes: rssOf(child) }));
    await ended(child, 'SIGTERM');
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function measureCommands(home: string, commands: readonly string[], rounds: number): Promise<void> {
  const subjects = [
    { name: 'agent --version', words: versionWords },
    ...commands.map((words) => ({ name: `agent ${words}`, words: [main, ...words.split(' ')] })),
  ];
  const pairs = new Map<string, { readonly bare: Cost; readonly command: Cost }[]>();
  for (let round = 0; round <= rounds; round += 1) {
    for (const { name, words } of subjects) {
      // Which goes first changes, so that neither always finds the caches warm.
      const order = round % 2 === 0 ? [empty, words] : [words, empty];
      const costs: Cost[] = [];
      for (const one of order) costs.push(await costOf(one, home));
      const [bare, command] = round % 2 === 0 ? costs : costs.reverse();
      // The first round warms up.
      if (round === 0 || bare === undefined || command === undefined) continue;
      pairs.set(name, [...(pairs.get(name) ?? []), { bare, command }]);
    }
  }
  print(['start of a command', 'wall ms', 'CPU ms', '× wall', '× CPU']);
  const all = [...pairs.values()].flat();
  print([
    'node -e 0',
    median(all, ({ bare }) => bare.wallMs).toFixed(0),
    median(all, ({ bare }) => bare.cpuMs).toFixed(0),
    '1.00',
    '1.00',
  ]);
  for (const [name, rows] of pairs)
    print([
      name,
      median(rows, ({ command }) => command.wallMs).toFixed(0),
      median(rows, ({ command }) => command.cpuMs).toFixed(0),
      median(rows, ({ bare, command }) => command.wallMs / bare.wallMs).toFixed(2),
      median(rows, ({ bare, command }) => command.cpuMs / bare.cpuMs).toFixed(2),
    ]);
  process.stdout.write('\n');
}

async function measureDaemon(home: string, rounds: number): Promise<void> {
  const rows: { readonly bare: Cost; readonly startMs: number; readonly cpuMs: number }[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const bare = await costOf(empty, home);
    const running = await started(home);
    await ended(running.child, 'SIGKILL');
    if (round > 0) rows.push({ bare, startMs: running.startMs, cpuMs: running.cpuMs });
  }
  print(['start of the daemon', 'wall ms', 'CPU ms', '× wall', '× CPU']);
  print([
    `${lazyServers} lazy servers, until it listens`,
    median(rows, ({ startMs }) => startMs).toFixed(0),
    median(rows, ({ cpuMs }) => cpuMs).toFixed(0),
    median(rows, ({ bare, startMs }) => startMs / bare.wallMs).toFixed(2),
    median(rows, ({ bare, cpuMs }) => cpuMs / bare.cpuMs).toFixed(2),
  ]);
  process.stdout.write('\n');
}

async function measureIdle(
  pid: number,
  look: () => { readonly cpuMs: number; readonly rssBytes: number },
): Promise<void> {
  await wait(settleMs);
  const before = look();
  await wait(idleWindowMs);
  const after = look();
  const spent = after.cpuMs - before.cpuMs;
  print([`idle for ${idleWindowMs / 1_000} s, pid ${pid}`, 'CPU ms', 'CPU %', 'RSS MiB']);
  print([
    `${lazyServers} lazy servers`,
    spent.toFixed(1),
    ((spent / idleWindowMs) * 100).toFixed(3),
    (after.rssBytes / 1_048_576).toFixed(0),
  ]);
  process.stdout.write('\n');
}

/** Runs one process to its end. It says at its end itself what it took, since its parent cannot ask any more then. */
async function costOf(words: readonly string[], home: string): Promise<Cost> {
  const began = performance.now();
  const child = spawn(process.execPath, ['--require', join(home, tellingFile), ...words], {
    env: { ...process.env, AGENT_HOME: home, NO_COLOR: '1' },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  let text = '';
  child.stdio[3]?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await new Promise((resolve) => child.once('close', resolve));
  return { wallMs: performance.now() - began, cpuMs: Number(text) };
}

/**
 * Writes the processor time of its process, when that ends, to the fourth descriptor. CommonJS, since the loader of modules
 * would be a good part of what `node -e 0` takes.
 */
const telling =
  "process.on('exit',()=>{const{user,system}=process.cpuUsage();try{require('fs').writeSync(3,String((user+system)/1e3))}catch{}})";
