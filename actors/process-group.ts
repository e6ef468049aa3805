/**
 * Runs one command in a process group of its own: text in, text out, bounded in time and output, ended whole. A watcher
 * in the group holds a pipe from this process and kills the group when the pipe breaks, so that no child outlives the
 * daemon, SIGKILL included. No shell reads the command's words.
 *
 * What leaves the group (`setsid`, a daemon of its own) is known by a mark in its environment, which children inherit, and
 * is killed when the command has ended. Only Linux shows environments (`/proc`), and a child that was started with an
 * emptied environment is not found.
 * @see SCR-2, DIS-3 and LIF-9 in docs/specification.md
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { accessSync, constants, openSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { causeOf } from '../machines/base/fault.ts';
import { longestTimerMs } from '../machines/base/timer.ts';
import { isBasicVariable } from '../machines/config/program-variables.ts';
import { isExhausted } from './exhaustion.ts';
import { countProcesses, mayDescend, type ProcessCount, processIdLimit, type Start } from './process-numbers.ts';

export interface CommandRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment; see `scrubbedEnv`. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /**
   * Called once every process for the command has been started; the command itself begins when this resolves, and never
   * where it is stopped or this program dies before. Must not reject.
   */
  readonly before?: () => Promise<void>;
  readonly timeoutMs: number;
  /** Bytes of standard output after which the command is ended. */
  readonly maxOutputBytes: number;
  readonly signal?: AbortSignal;
}

export type CommandResult =
  /** A command that a signal ended has the code 128 + the signal; null where the whole group was killed from outside. */
  | { readonly kind: 'exited'; readonly code: number | null; readonly stdout: string; readonly stderr: string }
  | { readonly kind: 'timedOut'; readonly stderr: string }
  | { readonly kind: 'flooded'; readonly stderr: string }
  | { readonly kind: 'aborted'; readonly stderr: string }
  /** There is no such command, or it may not be executed; with a cause where the system would not start it. */
  | { readonly kind: 'missing'; readonly cause?: string }
  /** The system lacked descriptors, processes or memory: the command has not begun and may be started later. */
  | { readonly kind: 'notBegun'; readonly cause: string };

/** After a polite SIGTERM the group gets this long. */
const killGraceMs = 2_000;
/** What a descendant that escaped the group may hold the pipes open for. */
const pipeGraceMs = 500;
/** The end of standard error is where the reason stands. */
const keptStderrBytes = 16_384;

const markName = 'AGENT_PROCESS_MARK';

/**
 * The command runs in the foreground with the pipe closed to it; beside it a reader waits for the pipe to break and then
 * kills the group they share. The reader and the shell are deaf to SIGTERM from their first moment, so that the reader
 * still watches while a group is asked to end or a command ends its own group, and the shell passes the command's code on.
 * `$@` passes the command's words untouched. The mark is the command's alone: the reader, which looks for it, does not bear
 * it.
 * @param first Lines that run in the process that becomes the command, after the last process has been started.
 */
export const watched = (first: readonly string[]): readonly string[] => [
  "trap '' TERM HUP INT",
  'mark=$1; shift',
  // At the end of the reader, however it ends: where no process can be started, it ends at the search.
  "( trap 'kill -KILL 0' EXIT",
  'read -r _ <&3',
  `for file in $(grep -lsF "${markName}=$mark" /proc/[0-9]*/environ); do`,
  'pid=${file#/proc/}; kill -KILL "${pid%/environ}"; done ) >/dev/null 2>&1 &',
  '(',
  ...first,
  'trap - TERM HUP INT',
  `export ${markName}="$mark"`,
  'exec "$@" 3<&- )',
  // The reader stays until its group is killed: a daemon that is killed breaks the command's input and the reader's pipe at
  // once, and a command that ends with its input must not take the reader along before that has killed the rest.
  'exit $?',
];

/** A shell that ends without this report could not start one of the processes: the command has not begun. */
const reported = ['echo >&3'];
/** Holds the command back until a line comes; the rest of the input is the command's. */
const held = [...reported, 'IFS= read -r _ || exit 1'];

/**
 * The journal's library opens its file without close-on-exec. Laying an empty device over the descriptors in which it can
 * lie keeps every child away from the journal.
 */
const coveredDescriptors = 64;
let nothing: number | undefined;

/** The few variables that a child may see of ours, and what is given. */
export function scrubbedEnv(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && isBasicVariable(name)) env[name] = value;
  }
  return { ...env, ...given };
}

/** Resolves with what came of the command; never rejects. */
export function runCommand(request: CommandRequest): Promise<CommandResult> {
  const command = findCommand(request.argv[0] ?? '', request.env.PATH ?? '', request.cwd);
  if (command === undefined) return Promise.resolve({ kind: 'missing' });
  // Below, the covered descriptors keep libuv from telling why a command was not started, so that is asked before.
  if (!isFolder(request.cwd)) return Promise.resolve({ kind: 'missing', cause: `${request.cwd} is not a folder` });
  if (request.signal?.aborted === true) return Promise.resolve({ kind: 'aborted', stderr: '' });
  return new Promise((resolve) => {
    try {
      run(command, request, resolve);
    } catch (thrown) {
      // Too many words, a zero byte among them, no descriptor left: nothing was started.
      resolve(unstarted(thrown));
    }
  });
}

function unstarted(thrown: unknown): CommandResult {
  return { kind: isExhausted(thrown) ? 'notBegun' : 'missing', cause: causeOf(thrown) };
}

/** The pipes of a child: none where the system had no descriptors for them, although the types promise some. */
export function streamsOf({ stdio }: ChildProcess): readonly (Readable | Writable | null | undefined)[] {
  return (stdio as ChildProcess['stdio'] | undefined) ?? [];
}

/**
 * The end of a text, for a reason: what is left of a word that the cut went through goes too, for half a secret is not
 * known for one.
 */
export function endOf(text: string, limit: number): string {
  const trimmed = text.trim();
  if (trimmed.length <= limit) return trimmed;
  return trimmed.slice(-limit).replace(/^\S+\s*/, '…');
}

/**
 * Starts a command under the watcher, as the leader of a group that whoever starts it ends when the leader exits;
 * `command` is a file that `findCommand` found.
 */
export function spawnWatched(
  command: string,
  words: readonly string[],
  place: Pick<CommandRequest, 'cwd' | 'env'>,
): ChildProcess {
  const { child, mark, start } = spawnMarked(command, words, place, watched([]));
  child.once('exit', () => void endStrays(mark, start));
  return child;
}

interface Marked {
  readonly child: ChildProcess;
  /** What the environments of the command and its descendants hold. */
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
  // One that was not started emits this later, also where its caller fails before it listens.
  child.on('error', () => {});
  void count();
  return { child, mark, start: { pid: child.pid ?? 0, before } };
}

/** The last count of the machine's processes: one from before a command was started, however old, bounds its ids. */
let counted: ProcessCount | undefined;

async function count(): Promise<ProcessCount | undefined> {
  if (process.platform === 'linux') counted = await countProcesses();
  return counted;
}

/** How many files of other processes are open at once: a machine may have more processes than this one has descriptors. */
const mostOpenFiles = 16;
/** One pass finds what is there; further ones, what was being started meanwhile. */
const mostPasses = 5;

/** Kills every process that bears a mark; resolves when none is left, never rejects. */
async function endStrays(mark: string, start: Start): Promise<void> {
  if (process.platform !== 'linux') return;
  for (let pass = 0; pass < mostPasses; pass += 1) {
    const strays = await bearersOf(mark, start);
    if (strays.length === 0) return;
    for (const pid of strays) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself meanwhile.
      }
    }
  }
}

interface Search {
  readonly marks: Map<string, Start>;
  /** The processes by the mark that they bear; never rejects. */
  readonly found: Promise<ReadonlyMap<string, readonly number[]>>;
}

let searching: Promise<unknown> = Promise.resolve();
let nextSearch: Search | undefined;

/**
 * The processes that bear a mark. Reading an environment takes long, so only those are read whose ids the command can have
 * given to a descendant, and commands that end while one search is under way share the next.
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
    // Another user's environment cannot be read, and is none of ours.
    const environ = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    for (const variable of environ.includes(`${markName}=`) ? environ.split('\0') : []) {
      const mark = variable.startsWith(`${markName}=`) ? variable.slice(markName.length + 1) : undefined;
      if (mark !== undefined && marks.has(mark)) bearers.set(mark, [...(bearers.get(mark) ?? []), Number(pid)]);
    }
  };
  for (let at = 0; at < pids.length; at += mostOpenFiles) {
    await Promise.all(pids.slice(at, at + mostOpenFiles).map(look));
  }
  return bearers;
}

function run(command: string, request: CommandRequest, resolve: (result: CommandResult) => void): void {
  const { before } = request;
  const script = watched(before === undefined ? reported : held);
  const { child, mark, start } = spawnMarked(command, request.argv.slice(1), request, script);
  let hasBegun = before === undefined;
  let hasReported = false;
  let ended: 'timedOut' | 'flooded' | 'aborted' | undefined;
  let code: number | null = null;
  let settled = false;
  let swept: Promise<void> = Promise.resolve();
  const stdout: Buffer[] = [];
  let stdoutBytes = 0;
  let stderr = Buffer.alloc(0);
  const timers: NodeJS.Timeout[] = [];

  const killGroup = (signal: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // The group is empty: everything has ended by itself.
    }
  };
  const end = (why: 'timedOut' | 'flooded' | 'aborted'): void => {
    if (settled || ended !== undefined) return;
    ended = why;
    // What is held back is deaf to the signal and ends with its input.
    if (hasBegun) killGroup('SIGTERM');
    else child.stdin?.end();
    timers.push(setTimeout(() => killGroup('SIGKILL'), killGraceMs));
  };
  const onAbort = (): void => end('aborted');
  const settle = (): void => {
    if (settled) return;
    settled = true;
    for (const timer of timers) clearTimeout(timer);
    request.signal?.removeEventListener('abort', onAbort);
    killGroup('SIGKILL');
    for (const stream of streamsOf(child)) stream?.destroy();
    const tail = stderr.toString('utf8');
    const result = (): CommandResult => {
      if (ended !== undefined) return { kind: ended, stderr: tail };
      if (!hasReported) return { kind: 'notBegun', cause: tail.trim() || 'its processes could not be started' };
      return { kind: 'exited', code, stdout: Buffer.concat(stdout).toString('utf8'), stderr: tail };
    };
    void swept.then(() => resolve(result()));
  };

  timers.push(setTimeout(() => end('timedOut'), Math.min(longestTimerMs, request.timeoutMs)));
  request.signal?.addEventListener('abort', onAbort, { once: true });
  child.stdout?.on('data', (chunk: Buffer) => {
    stdoutBytes += chunk.length;
    if (stdoutBytes > request.maxOutputBytes) end('flooded');
    else stdout.push(chunk);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = Buffer.concat([stderr, chunk]).subarray(-keptStderrBytes);
  });
  // A command that does not read its input breaks the pipe; that is its right.
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
    // A timed-out group may have ignored SIGTERM while its leader obeyed.
    killGroup('SIGKILL');
    swept = endStrays(mark, start);
    timers.push(setTimeout(settle, pipeGraceMs));
  });
  child.on('close', settle);
}

function covers(): number[] {
  nothing ??= openSync('/dev/null', 'r+');
  return Array.from({ length: coveredDescriptors - 4 }, () => nothing ?? 0);
}

/** The file that a command's name stands for; undefined where there is none that may be executed. */
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

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Whether a path leads to a folder. False for one that cannot be looked up. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
