/**
 * A real MCP server over stdio that behaves as its arguments say, to be run as a process of its own:
 * `node dist/spec/support/mcp/start-peer.js [--counter <file>] [--pid-file <file>] <behaviour>[=<value>]…`.
 * Several behaviours together are several troubles at once; without `modern` it is a legacy server.
 */

import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type PeerTool, type PeerWork, peerWork, standardTools } from './catalogue.ts';
import {
  bigTool,
  collidingTools,
  environmentTool,
  headerTools,
  leakedToken,
  netrefTool,
  secretErrorTool,
  taggedTool,
} from './odd-tools.ts';

/** Each behaviour with its value's default, where it takes one. */
const behaviours = {
  /** Serves revisions up to 2025-11-25; what it does anyway. */
  legacy: '',
  /** Serves 2026-07-28 only. */
  modern: '',
  /** Prints lines that are no JSON, before and among its messages. */
  rubbish: '',
  /** Reads, and never answers. */
  silent: '',
  /** Prints one line without end. */
  flood: '',
  /** Exits at once with this code, and a text on stderr. */
  exit: '3',
  /** Exits upon tools/call, which has counted by then, before it answers. */
  'die-on-call': '',
  /** Exits once it has answered tools/list. */
  'die-after-list': '',
  /** Exits when nothing came in for so many ms, from its first tools/list on. */
  'die-idle': '200',
  /** Starts a sleeping grandchild and prints `grandchild <pid>` on stderr. */
  grandchild: '',
  /** The same, and the grandchild holds stdout and stderr open after its parent has gone. */
  'grandchild-holding': '',
  /** Answers nothing for so many ms. */
  'slow-start': '1000',
  /** Exits at the first, third, fifth… start; counts starts in the --pid-file. */
  flap: '',
  /** Ends neither for a closed stdin nor for SIGTERM, and says on stderr that it has seen both. */
  stubborn: '',
  /** Prints so many characters on stderr at its start. */
  chatty: '1000000',
  /** Prints a line with a bearer token on stderr at its start. */
  'secret-stderr': '',
  collide: '',
  tags: '',
  netref: 'http://127.0.0.1:9/schema.json',
  'bad-header': '',
  'secret-error': '',
  big: '100000',
  environment: '',
} as const;

export type StdioBehaviour = keyof typeof behaviours;

export interface StdioPeer {
  readonly command: string;
  readonly args: readonly string[];
}

export interface StdioPeerOptions {
  /** Gets a line with the tool's name for each tools/call executed, across processes. */
  readonly counter?: string;
  /** Gets a line with the process id at each start. */
  readonly pidFile?: string;
}

/** Starts the bundle of this file, which takes a third of the time. */
const program = fileURLToPath(new URL('./start-peer.js', import.meta.url));

/** Makes the command of a peer, for a config entry or a transport. */
export function stdioPeer(
  behaviour: StdioBehaviour | readonly (StdioBehaviour | `${StdioBehaviour}=${string}`)[] = 'legacy',
  { counter, pidFile }: StdioPeerOptions = {},
): StdioPeer {
  return {
    command: process.execPath,
    args: [
      program,
      ...(counter === undefined ? [] : ['--counter', counter]),
      ...(pidFile === undefined ? [] : ['--pid-file', pidFile]),
      ...(typeof behaviour === 'string' ? [behaviour] : behaviour),
    ],
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) void main();

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { counter: { type: 'string' }, 'pid-file': { type: 'string' } },
  });
  const chosen = chosenBehaviours(positionals);
  const pidFile = values['pid-file'];
  if (pidFile !== undefined) appendFileSync(pidFile, `${process.pid}\n`);
  const starts = pidFile === undefined ? 1 : readFileSync(pidFile, 'utf8').trim().split('\n').length;

  if (chosen.has('chatty')) process.stderr.write(`${'e'.repeat(Number(chosen.get('chatty')))}\n`);
  if (chosen.has('secret-stderr')) process.stderr.write(`upstream refused Authorization: Bearer ${leakedToken}\n`);
  if (chosen.has('exit')) end(Number(chosen.get('exit')), 'the peer cannot start: no licence found');
  if (chosen.has('flap') && starts % 2 === 1) end(1, `the peer gives up at start ${starts}`);
  if (chosen.has('grandchild')) startGrandchild('ignore');
  if (chosen.has('grandchild-holding')) startGrandchild('inherit');
  if (chosen.has('stubborn')) {
    process.on('SIGTERM', () => process.stderr.write('it stays in spite of SIGTERM\n'));
    setInterval(() => {
      if (process.stdin.readableEnded) process.stderr.write('it stays without input\n');
    }, 100);
  }
  if (chosen.has('flood')) {
    await flood();
    return;
  }
  if (chosen.has('silent')) {
    process.stdin.resume();
    return;
  }
  if (chosen.has('rubbish')) process.stdout.write('Welcome to the peer!\n\n> starting…\n');
  // What comes in meanwhile waits in the pipe.
  if (chosen.has('slow-start')) await new Promise((resolve) => setTimeout(resolve, Number(chosen.get('slow-start'))));

  const work = peerWork(toolsOf(chosen));
  watch(work, chosen, values.counter);
  await (chosen.has('modern') ? serveModern(work) : serveLegacy(work));

  if (chosen.has('rubbish')) {
    process.stdin.on('data', () => process.stdout.write('[info] something came in\n{"level":"debug"}\n'));
  }
}

// Each SDK is loaded where it is needed: it is most of the time that a peer takes to start.
async function serveModern(work: PeerWork): Promise<void> {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  const { makeModernServer } = await import('./modern-server.ts');
  serveStdio(() => makeModernServer(work), { legacy: 'reject' });
}

async function serveLegacy(work: PeerWork): Promise<void> {
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const { makeLegacyServer } = await import('./legacy-server.ts');
  const server = makeLegacyServer(work);
  // The v1 transport does not notice the end of stdin, and what still waits would keep the process.
  process.stdin.once('end', () => void server.close());
  await server.connect(new StdioServerTransport());
}

function chosenBehaviours(words: readonly string[]): ReadonlyMap<StdioBehaviour, string> {
  const chosen = new Map<StdioBehaviour, string>();
  for (const word of words) {
    const [name = '', ...value] = word.split('=');
    if (!Object.hasOwn(behaviours, name)) end(2, `unknown behaviour: ${name}`);
    const behaviour = name as StdioBehaviour;
    chosen.set(behaviour, value.length === 0 ? behaviours[behaviour] : value.join('='));
  }
  return chosen;
}

function toolsOf(chosen: ReadonlyMap<StdioBehaviour, string>): readonly PeerTool[] {
  const odd: readonly PeerTool[] = [
    ...(chosen.has('collide') ? collidingTools : []),
    ...(chosen.has('tags') ? [taggedTool] : []),
    ...(chosen.has('netref') ? [netrefTool(chosen.get('netref'))] : []),
    ...(chosen.has('bad-header') ? headerTools : []),
    ...(chosen.has('secret-error') ? [secretErrorTool] : []),
    ...(chosen.has('big') ? [bigTool(Number(chosen.get('big')))] : []),
    ...(chosen.has('environment') ? [environmentTool] : []),
  ];
  return [...standardTools, ...odd];
}

function watch(work: PeerWork, chosen: ReadonlyMap<StdioBehaviour, string>, counter: string | undefined): void {
  work.beforeCall = (tool, { text }) => {
    // A text that begins so distinguishes one call from another.
    const mark = typeof text === 'string' ? (/^#\d+/.exec(text)?.[0] ?? '') : '';
    if (counter !== undefined) appendFileSync(counter, `${tool}${mark}\n`);
    if (chosen.has('die-on-call')) end(1, `the peer dies while it executes ${tool}`);
  };
  // Some turns later: the SDK writes the answer once its handler has returned.
  if (chosen.has('die-after-list'))
    work.beforeList = () => setTimeout(() => end(1, 'the peer dies after its list'), 20);
  // Only then: a listener before the server's own would take what the server is to read.
  if (chosen.has('die-idle'))
    work.beforeList = () => {
      delete work.beforeList;
      dieWhenIdle(Number(chosen.get('die-idle')));
    };
}

function end(code: number, text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(code);
}

function startGrandchild(stdio: 'ignore' | 'inherit'): void {
  const grandchild = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    stdio: ['ignore', stdio, stdio],
  });
  process.stderr.write(`grandchild ${grandchild.pid}\n`);
  grandchild.unref();
}

function dieWhenIdle(ms: number): void {
  const timer = setTimeout(() => end(0, `the peer was idle for ${ms} ms`), ms);
  process.stdin.on('data', () => timer.refresh());
}

async function flood(): Promise<void> {
  const chunk = 'x'.repeat(64 * 1024);
  for (;;) await new Promise((resolve) => process.stdout.write(chunk, resolve));
}
