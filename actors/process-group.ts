/**
 * Runs one command in its own process group: text in, text out, limited in time and output, and ended completely. A
 * watcher in the group holds a pipe from this process and kills the group when the pipe breaks, so that no child outlives
 * the daemon, even after SIGKILL. No shell interprets the command's words.
 *
 * A process that leaves the group (`setsid`, its own daemon) is found by a mark in its environment, which children
 * inherit, and is killed when the command has ended. Only Linux exposes environments (`/proc`), and a child that was
 * started with an empty environment is not found.
 * @see SCR-2, DIS-3 and LIF-9 in docs/specification.md
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { accessSync, constants, openSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { causeOf } from '../machines/base/fault.ts';
import { maxTimerMs } from '../machines/base/timer.ts';
import { isBasicVariable } from '../machines/config/program-variables.ts';
import { isExhausted } from './exhaustion.ts';
import { settlesWithin } from './mcp/process-exit.ts';
import { countProcesses, mayDescend, type ProcessCount, processIdLimit, type Start } from './process-numbers.ts';

export interface CommandRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The complete environment; see `scrubbedEnv`. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /**
   * Called once every process for the command has been started. The command begins when this resolves, and never if it is
   * stopped or this program dies before. Must not reject.
   */
  readonly before?: () => Promise<void>;
  readonly timeoutMs: number;
  /** Ends the command after more bytes of standard output than this. */
  readonly maxOutputBytes: number;
  readonly signal?: AbortSignal;
}

/** With what it had printed by then, which is not the shell's own word on its end. */
interface Stopped {
  readonly kind: 'timedOut' | 'flooded' | 'aborted';
  readonly stdout: string;
  readonly stderr: string;
}

export type CommandResult =
  /**
   * The code is 128 + the signal if a signal ended the command, and null if the complete group was killed from outside.
   */
  | { readonly kind: 'exited'; readonly code: number | null; readonly stdout: string; readonly stderr: string }
  | Stopped
  /** The command does not exist or is not executable; with a cause if the system did not start it. */
  | { readonly kind: 'missing'; readonly cause?: string }
  /** The system lacked descriptors, processes or memory: the command has not begun and may be started later. */
  | { readonly kind: 'notBegun'; readonly cause: string };

/** From SIGTERM to SIGKILL. */
const killGraceMs = 2_000;
/** How long the SIGKILL waits for a search: the kernel may not return the environment of a process that hangs in it. */
const searchGraceMs = 2_000;
/** How long a descendant that escaped the group may keep the pipes open. */
const pipeGraceMs = 500;
/** The reason is usually at the end of standard error. */
const keptStderrBytes = 16_384;

const markName = 'AGENT_PROCESS_MARK';

/** Waits for the pipe to break, and then kills the group. Ignores SIGTERM as the shell that starts it. */
const reader = [
  // Runs when the reader ends for any reason: if no process can be started, it ends at the search.
  "( trap 'kill -KILL 0' EXIT",
  'read -r _ <&3',
  // Further passes find the processes that were being started during the one before.
  `for pass in 1 2 3 4 5; do files=$(grep -lsF "${markName}=$mark" /proc/[0-9]*/environ)`,
  '[ -n "$files" ] || break; for file in $files; do',
  'pid=${file#/proc/}; kill -KILL "${pid%/environ}"; done; done ) >/dev/null 2>&1 &',
];
const begin = ["trap '' TERM HUP INT", 'mark=$1; shift'];
const becomeCommand = ['trap - TERM HUP INT', `export ${markName}="$mark"`, 'exec "$@" 3<&-'];

/**
 * The command runs in the foreground with the pipe closed. Beside it, a reader waits for the pipe to break and then kills
 * their group. The reader and the shell ignore SIGTERM from the start, so that the reader still watches while a group is
 * asked to end or a command ends its own group, and the shell returns the command's exit code. `$@` passes the command's
 * words unchanged. Only the command gets the mark: the reader searches for it and must not match itself.
 * @param first Lines that run in the process that becomes the command, after the last process has been started.
 */
export const watched = (first: readonly string[]): readonly string[] => [
  ...begin,
  ...reader,
  '(',
  ...first,
  ...becomeCommand,
  ')',
  // The reader runs until its group is killed. When the daemon is killed, the command's input and the reader's pipe break
  // at once, and a command that ends with its input must not end the reader before it has killed the rest.
  'exit $?',
];

/**
 * The command takes the place of the shell, which would keep its output open after the command has closed it. The reader is
 * no child of the command, which may wait for all of its own.
 */
export const watchedLeader: readonly string[] = [...begin, '(', ...reader, ') || exit 1', ...becomeCommand];

/** If a shell ends without this report, one of the processes could not be started and the command has not begun. */
const reported = ['echo >&3'];
/** Delays the command until a line arrives; the rest of the input is the command's. */
const held = [...reported, 'IFS= read -r _ || exit 1'];

/**
 * The journal's library opens its file without close-on-exec. Covering the descriptors that it may have with an empty
 * device keeps every child away from the journal.
 */
const coveredDescriptors = 64;
let nothing: number | undefined;

/** The given variables and the few of this process that a child may have. */
export function scrubbedEnv(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && isBasicVariable(name, value)) env[name] = value;
  }
  // The pipes of a child are sockets. Without a shell's level, bash takes that for a remote login and reads ~/.bashrc.
  return { ...env, SHLVL: '1', ...given };
}

/** Resolves with the outcome of the command; never rejects. */
export function runCommand(request: CommandRequest): Promise<CommandResult> {
  const command = findCommand(request.argv[0] ?? '', request.env.PATH ?? '', request.cwd);
  if (command === undefined) return Promise.resolve({ kind: 'missing' });
  // The covered descriptors keep libuv from reporting this as the cause, so it is checked first.
  if (!isFolder(request.cwd)) return Promise.resolve({ kind: 'missing', cause: `${request.cwd} is not a folder` });
  if (request.signal?.aborted === true) return Promise.resolve({ kind: 'aborted', stdout: '', stderr: '' });
  return new Promise((resolve) => {
    try {
      run(command, request, resolve);
    } catch (thrown) {
      // Too many words, a zero byte in them, or no descriptor left: nothing was started.
      resolve(unstarted(thrown));
    }
  });
}

function unstarted(thrown: unknown): CommandResult {
  const cause = causeOf(thrown);
  if (!isExhausted(thrown)) return { kind: 'missing', cause };
  return { kind: 'notBegun', cause: `${cause}: the system lacks descriptors, processes or memory` };
}

/** The pipes of a child. Despite the types, there are none if the system had no descriptors for them. */
export function streamsOf({ stdio }: ChildProcess): readonly (Readable | Writable | null | undefined)[] {
  return (stdio as ChildProcess['stdio'] | undefined) ?? [];
}

/** Lines that end what Node writes about an error, whose message comes before them. */
const framesOfNode = /^ +at .*\bnode:.*\n?|^Node\.js v\S+$/gm;

/**
 * The end of a text, for a reason. A word that the cut splits is dropped, because half a secret is not recognized as one.
 * Node's own frames of a stack are dropped before a cut.
 */
export function endOf(text: string, limit: number): string {
  const trimmed = text.trim();
  if (trimmed.length <= limit) return trimmed;
  const shown = trimmed.replace(framesOfNode, '').trim();
  return shown.length <= limit ? shown : shown.slice(-limit).replace(/^\S+\s*/, '…');
}

export interface Watched {
  readonly child: ChildProcess;
  /** Kills every process of the command; resolves when none is left or the search takes too long, never rejects. */
  readonly sweep: () => Promise<void>;
}

/**
 * Starts a command under the watcher, as the leader of a group that the caller ends when the leader exits: with `sweep`
 * first, because the watcher, which ends with the group, does the same if this process is killed meanwhile. `command` is a
 * path that `findCommand` returned.
 */
export function spawnWatched(
  command: string,
  words: readonly string[],
  place: Pick<CommandRequest, 'cwd' | 'env'>,
): Watched {
  const { child, mark, start } = spawnMarked(command, words, place, watchedLeader);
  return { child, sweep: () => endStrays(mark, start) };
}

interface Marked {
  readonly child: ChildProcess;
  /** The value in the environments of the command and its descendants. */
  readonly mark: string;
  readonly start: Start;
}

function spawnMarked(
  command: string,
  words: readonly string[],
  { cwd, env }: Pick<CommandRequest, 'cwd' | 'env'>,
  script: readonly string[],
): Marked {
  const mark = randomUUID();
  const before = counted;
  const child = spawn('/bin/sh', ['-c', script.join('\n'), 'sh', mark, command, ...words], {
    cwd,
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', ...covers()],
  });
  // A child that was not started emits this later, even if the caller throws before it listens.
  child.on('error', () => {});
  void count();
  return { child, mark, start: { pid: child.pid ?? 0, before } };
}

/** The last count of the machine's processes. Any count from before a command was started bounds its ids. */
let counted: ProcessCount | undefined;

async function count(): Promise<ProcessCount | undefined> {
  if (process.platform === 'linux') counted = await countProcesses();
  return counted;
}

/** Files of other processes that are open at once: a machine may have more processes than this one has descriptors. */
const maxOpenFiles = 16;
/** One pass finds the existing processes; further passes find those that were being started meanwhile. */
const maxPasses = 5;

/**
 * Kills every process with a mark. Resolves when none is left, or after a limit, so that a search that hangs delays neither
 * the end of the group nor the caller; it continues meanwhile. Never rejects.
 */
async function endStrays(mark: string, start: Start): Promise<void> {
  await settlesWithin(searchAndKill(mark, start), searchGraceMs);
}

async function searchAndKill(mark: string, start: Start): Promise<void> {
  if (process.platform !== 'linux') return;
  for (let pass = 0; pass < maxPasses; pass += 1) {
    const strays = await bearersOf(mark, start);
    if (strays.length === 0) return;
    for (const pid of strays) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended meanwhile.
      }
    }
  }
}

interface Search {
  readonly marks: Map<string, Start>;
  /** The processes by mark; never rejects. */
  readonly found: Promise<ReadonlyMap<string, readonly number[]>>;
}

let searching: Promise<unknown> = Promise.resolve();
let nextSearch: Search | undefined;

/**
 * The processes with a mark. Reading environments is slow, so only those of possible descendants are read, and commands
 * that end during one search share the next.
 */
async function bearersOf(mark: string, start: Start): Promise<readonly number[]> {
  if (nextSearch === undefined) {
    const marks = new Map<string, Start>();
    const found = searching.then(() => {
      nextSearch = undefined;
      return searchFor(marks);
    });
    searching = found;
    nextSearch = { marks, found };
  }
  const search = nextSearch;
  search.marks.set(mark, start);
  return (await search.found).get(mark) ?? [];
}

async function searchFor(marks: ReadonlyMap<string, Start>): Promise<ReadonlyMap<string, readonly number[]>> {
  const bearers = new Map<string, number[]>();
  const names = await readdir('/proc').catch(() => []);
  const counts = { now: await count(), limit: await processIdLimit() };
  const starts = [...marks.values()];
  const pids = names.filter(
    (name) => /^\d+$/.test(name) && starts.some((one) => mayDescend(Number(name), one, counts)),
  );
  const look = async (pid: string): Promise<void> => {
    // The environment of another user's process cannot be read, and such a process is not ours.
    const environ = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    for (const variable of environ.includes(`${markName}=`) ? environ.split('\0') : []) {
      const mark = variable.startsWith(`${markName}=`) ? variable.slice(markName.length + 1) : undefined;
      if (mark !== undefined && marks.has(mark)) bearers.set(mark, [...(bearers.get(mark) ?? []), Number(pid)]);
    }
  };
  for (let at = 0; at < pids.length; at += maxOpenFiles) {
    await Promise.all(pids.slice(at, at + maxOpenFiles).map(look));
  }
  return bearers;
}

function run(command: string, request: CommandRequest, resolve: (result: CommandResult) => void): void {
  const { before } = request;
  const script = watched(before === undefined ? reported : held);
  const { child, mark, start } = spawnMarked(command, request.argv.slice(1), request, script);
  let hasBegun = before === undefined;
  let hasReported = false;
  let ended: Stopped | undefined;
  let code: number | null = null;
  let settled = false;
  let swept: Promise<void> = Promise.resolve();
  const stdout: Buffer[] = [];
  let stdoutBytes = 0;
  let stderr = Buffer.alloc(0);
  const timers: NodeJS.Timeout[] = [];

  const printed = () => ({ stdout: Buffer.concat(stdout).toString('utf8'), stderr: stderr.toString('utf8') });
  const killGroup = (signal: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // The group is empty: every process has ended.
    }
  };
  /** The watcher is in the group, and is needed until then: it takes over if this process is killed. */
  const endAll = (): Promise<void> => endStrays(mark, start).then(() => killGroup('SIGKILL'));
  const end = (why: Stopped['kind']): void => {
    if (settled || ended !== undefined) return;
    ended = { kind: why, ...printed() };
    // A command that has not begun ignores the signal and ends with its input.
    if (hasBegun) killGroup('SIGTERM');
    else child.stdin?.end();
    timers.push(setTimeout(() => void endAll(), killGraceMs));
  };
  const onAbort = (): void => end('aborted');
  const settle = (): void => {
    if (settled) return;
    settled = true;
    for (const timer of timers) clearTimeout(timer);
    request.signal?.removeEventListener('abort', onAbort);
    for (const stream of streamsOf(child)) stream?.destroy();
    const result = (): CommandResult => {
      if (ended !== undefined) return ended;
      const all = printed();
      if (!hasReported) return { kind: 'notBegun', cause: all.stderr.trim() || 'its processes could not be started' };
      return { kind: 'exited', code, ...all };
    };
    void swept.then(() => resolve(result()));
  };

  timers.push(setTimeout(() => end('timedOut'), Math.min(maxTimerMs, request.timeoutMs)));
  request.signal?.addEventListener('abort', onAbort, { once: true });
  child.stdout?.on('data', (chunk: Buffer) => {
    stdoutBytes += chunk.length;
    if (stdoutBytes > request.maxOutputBytes) end('flooded');
    else stdout.push(chunk);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = Buffer.concat([stderr, chunk]).subarray(-keptStderrBytes);
  });
  // A command may close its input unread, which breaks the pipe.
  child.stdin?.on('error', () => {});
  const begin = (): void => {
    if (ended !== undefined || settled) return;
    hasBegun = true;
    child.stdin?.end(`\n${request.stdin}`);
  };
  if (before === undefined) child.stdin?.end(request.stdin);
  const channel = streamsOf(child)[3];
  channel?.on('error', () => {});
  channel?.once('data', () => {
    hasReported = true;
    if (ended === undefined && !settled) void before?.().then(begin);
  });
  child.on('error', (error) => {
    settled = true;
    for (const timer of timers) clearTimeout(timer);
    request.signal?.removeEventListener('abort', onAbort);
    resolve(unstarted(error));
  });
  child.on('exit', (exitCode) => {
    code = exitCode;
    // Part of a timed-out group may have ignored SIGTERM while its leader obeyed.
    swept = endAll();
    timers.push(setTimeout(settle, pipeGraceMs));
  });
  child.on('close', settle);
}

function covers(): number[] {
  nothing ??= openSync('/dev/null', 'r+');
  return Array.from({ length: coveredDescriptors - 4 }, () => nothing ?? 0);
}

/** The path of a command's name; undefined if no executable file has it. */
export function findCommand(name: string, path: string, cwd: string): string | undefined {
  if (name === '') return undefined;
  if (name.includes('/')) {
    const file = isAbsolute(name) ? name : join(cwd, name);
    return isExecutable(file) ? file : undefined;
  }
  return path
    .split(delimiter)
    .map((folder) => join(folder === '' ? '.' : folder, name))
    .find(isExecutable);
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Whether a path leads to a folder. False if it cannot be looked up. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
