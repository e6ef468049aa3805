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
import { ended, homeWith, type IdleOrder, idleTable, main, rememberTools, started } from './daemon.ts';
import { type Cells, inTurns, median, printAll } from './table.ts';

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
const idleOrder: IdleOrder = { windowMs: 10_000, windows: 1, settleMs: 5_000 };
const reportingFile = 'reporting.cjs';

export async function measureStart(quick: boolean): Promise<void> {
  const rounds = quick ? 2 : 15;
  const entries = Array.from({ length: lazyServers }, (_, index) => [`lazy-${index}`, { ...stdioPeer(), lazy: true }]);
  const [bare, home] = [homeWith({}), homeWith(Object.fromEntries(entries))];
  writeFileSync(join(home, reportingFile), reporting);
  try {
    await rememberTools(home, lazyServers);
    await measureDaemon([bare, home], rounds);
    const { child } = await started(home);
    await measureCommands(home, quick ? readingQuickly : reading, rounds);
    // A quick run sees an idle daemon among the servers.
    if (!quick) printAll(await idleTable([{ name: `${lazyServers} lazy servers`, child }], idleOrder));
    await ended(child, 'SIGTERM');
  } finally {
    for (const folder of [bare, home]) rmSync(folder, { recursive: true, force: true });
  }
}

async function measureCommands(home: string, commands: readonly string[], rounds: number): Promise<void> {
  const subjects = [
    { name: 'agent --version', words: versionWords },
    ...commands.map((words) => ({ name: `agent ${words}`, words: [main, ...words.split(' ')] })),
  ];
  const pairs = await inTurns(subjects, rounds, async ({ words }, round) => {
    // Which goes first changes, so that neither always finds the caches warm.
    const costs: Cost[] = [];
    for (const one of round % 2 === 0 ? [empty, words] : [words, empty]) costs.push(await costOf(one, home));
    const [bare, command] = round % 2 === 0 ? costs : costs.reverse();
    if (bare === undefined || command === undefined) throw new Error('a command was not measured');
    return { bare, command };
  });
  const all = pairs.flat();
  const whole = (of: readonly number[]): string => median(of, Number).toFixed(0);
  const ratio = (of: readonly number[]): string => median(of, Number).toFixed(2);
  printAll([
    ['start of a command', 'wall ms', 'CPU ms', '× wall', '× CPU'],
    ['node -e 0', whole(all.map(({ bare }) => bare.wallMs)), whole(all.map(({ bare }) => bare.cpuMs)), '1.00', '1.00'],
    ...pairs.map((rows, at) => [
      subjects[at]?.name ?? '',
      whole(rows.map(({ command }) => command.wallMs)),
      whole(rows.map(({ command }) => command.cpuMs)),
      ratio(rows.map(({ bare, command }) => command.wallMs / bare.wallMs)),
      ratio(rows.map(({ bare, command }) => command.cpuMs / bare.cpuMs)),
    ]),
  ]);
}

/** Without a server, with lazy ones, and what they add, beside `node -e 0` of the same round. */
async function measureDaemon([bare, home]: readonly [string, string], rounds: number): Promise<void> {
  const [nodes = [], without = [], lazy = []] = await inTurns([undefined, bare, home], rounds, async (folder) => {
    if (folder === undefined) return costOf(empty, home);
    const { child, startMs, cpuMs } = await started(folder);
    await ended(child, 'SIGKILL');
    return { wallMs: startMs, cpuMs };
  });
  const row = (name: string, costs: readonly Cost[]): Cells => [
    name,
    ...(['wallMs', 'cpuMs'] as const).map((key) => median(costs, (cost) => cost[key]).toFixed(0)),
    ...(['wallMs', 'cpuMs'] as const).map((key) =>
      median([...costs.entries()], ([at, cost]) => cost[key] / (nodes[at]?.[key] ?? Number.NaN)).toFixed(2),
    ),
  ];
  const added = lazy.map(({ wallMs, cpuMs }, at) => ({
    wallMs: wallMs - (without[at]?.wallMs ?? Number.NaN),
    cpuMs: cpuMs - (without[at]?.cpuMs ?? Number.NaN),
  }));
  printAll([
    ['start of the daemon', 'wall ms', 'CPU ms', '× wall', '× CPU'],
    row('no server, until it listens', without),
    row(`${lazyServers} lazy servers`, lazy),
    row('added', added),
  ]);
}

/** Runs one process to its end. It says at its end itself what it took, since its parent cannot ask any more then. */
async function costOf(words: readonly string[], home: string): Promise<Cost> {
  const began = performance.now();
  const child = spawn(process.execPath, ['--require', join(home, reportingFile), ...words], {
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
const reporting =
  "process.on('exit',()=>{const{user,system}=process.cpuUsage();try{require('fs').writeSync(3,String((user+system)/1e3))}catch{}})";
