/** The real daemon as a child process, and the command line beside it. */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Test } from 'tap';
import { runWords } from '../../cli/run.ts';
import { type HostOrder, hostIsFree } from './daemon-host.ts';
import type { Passing } from './passing-time.ts';
import { collected } from './processes.ts';

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface Daemon {
  readonly child: ChildProcess;
  readonly url: string;
  readonly log: readonly LogLine[];
  /** Resolves with the first line, past or future, that fits. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** Sends a signal; resolves as `exited` does. */
  kill(signal: NodeJS.Signals): Promise<number | null>;
  /** Lets its time pass, where it was started so: what falls due in it rings at once. */
  pass(ms: number): Promise<void>;
  /** The same, a second at a time, until a promise is settled; resolves or rejects with it. */
  passUntil<Value>(pending: Promise<Value>): Promise<Value>;
  /** Resolves with the exit code, once the last line is in the log; null where a signal ended it. */
  readonly exited: Promise<number | null>;
}

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export const main = new URL('../../cli/main.js', import.meta.url).pathname;

/** Where this process reads them: a start with them takes a fifth longer. */
const sourceMaps = process.execArgv.filter((word) => word === '--enable-source-maps');

const passingTime = new URL('./passing-time.js', import.meta.url).href;

/** A daemon with nothing under way has ended by then; any other one is killed. */
const soonMs = 300;
const host = new URL('./daemon-host.js', import.meta.url).pathname;
/** Processes whose last daemon has ended and that wait for another. */
const idle: ChildProcess[] = [];
/** What Node or the loader reads of the environment when a process starts. */
const readAtStart = /^(?:NODE|UV|LD|SSL)_/;

export interface DaemonOptions {
  readonly entry?: string;
  readonly timePasses?: boolean;
  readonly descriptors?: number;
}

/**
 * Starts `agent gateway run`, and resolves when it says that it listens. Rejects with its log where it ends first.
 * @param entry a command line of the spec's own
 * @param timePasses whether the spec lets its time pass
 * @param descriptors how many files and sockets it may have open
 */
export function startDaemon(
  t: Test,
  home: string,
  env: Readonly<Record<string, string>> = {},
  { entry = main, timePasses = false, descriptors }: DaemonOptions = {},
): Promise<Daemon> {
  const given = { ...process.env, AGENT_LOG_LEVEL: 'debug', ...env, AGENT_HOME: home };
  if (
    entry === main &&
    !timePasses &&
    descriptors === undefined &&
    !Object.keys(env).some((name) => readAtStart.test(name))
  ) {
    const child =
      idle.pop() ?? spawn(process.execPath, [...sourceMaps, host], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    holdsThis(child, true);
    child.send({ entry, env: given } satisfies HostOrder);
    return followDaemon(t, child, { hosted: true });
  }
  const words = [...sourceMaps, ...(timePasses ? ['--import', passingTime] : []), entry, 'gateway', 'run'];
  const [command, ...rest] =
    descriptors === undefined
      ? [process.execPath, ...words]
      : ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', process.execPath, ...words];
  return followDaemon(
    t,
    spawn(command, rest, {
      env: given,
      stdio: ['ignore', 'pipe', 'pipe', ...(timePasses ? (['ipc'] as const) : [])],
    }),
  );
}

/** Whether a child keeps this process from ending. */
function holdsThis(child: ChildProcess, holds: boolean): void {
  for (const handle of [child, child.channel, child.stdout as Socket | null, child.stderr as Socket | null]) {
    if (holds) handle?.ref();
    else handle?.unref();
  }
}

/** Starts a gateway in the background, whose webhooks may not listen, until the test ends; resolves with what it said. */
export function startBlocked(t: Test, home: string): ReturnType<typeof runCli> {
  t.teardown(() => runCli(['gateway', 'stop'], home));
  return runCli(['gateway'], home);
}

/**
 * Reads the log of a daemon that was just started; resolves when it says that it listens.
 * @param hosted whether its process can run another one after it
 */
export async function followDaemon(t: Test, child: ChildProcess, { hosted = false } = {}): Promise<Daemon> {
  const log: LogLine[] = [];
  const waiting = new Set<{ readonly fits: (line: LogLine) => boolean; readonly resolve: (line: LogLine) => void }>();
  let rest = '';
  let errors = '';
  const readLog = (chunk: string): void => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) {
      const line = JSON.parse(text) as LogLine;
      log.push(line);
      for (const one of waiting) {
        if (!one.fits(line)) continue;
        waiting.delete(one);
        one.resolve(line);
      }
    }
  };
  const readErrors = (chunk: string): void => {
    errors += chunk;
  };
  child.stdout?.setEncoding('utf8').on('data', readLog);
  child.stderr?.setEncoding('utf8').on('data', readErrors);
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve));
  // The last lines may be read after it. The child's own `close` says so too, but never where this side hung up the IPC.
  const read = [child.stdout, child.stderr].map(
    (stream) => stream && new Promise((done) => stream.once('close', done)),
  );
  const exited = Promise.all(read).then(() => code);
  t.teardown(async () => {
    if (hosted && (await makesRoom())) {
      child.removeAllListeners();
      child.stdout?.removeAllListeners('close').off('data', readLog);
      child.stderr?.removeAllListeners('close').off('data', readErrors);
      holdsThis(child, false);
      idle.push(child);
      return;
    }
    child.kill('SIGKILL');
    await exited;
  });
  /** Whether it ended soon at the word of its spec; one that drains, hangs or has ended does not. */
  const makesRoom = async (): Promise<boolean> => {
    if (!child.connected) return false;
    child.send({ done: true } satisfies HostOrder);
    const isFree = line(({ message }) => message === hostIsFree).then(() => true);
    return Promise.race([isFree, exited.then(() => false), wait(soonMs, false)]);
  };
  const line = (fits: (line: LogLine) => boolean): Promise<LogLine> => {
    const past = log.find(fits);
    return past !== undefined ? Promise.resolve(past) : new Promise((resolve) => waiting.add({ fits, resolve }));
  };
  const listening = await Promise.race([
    line(({ message }) => message.includes('listening')),
    exited.then((code) => {
      throw new Error(`the daemon ended with ${code}: ${errors}${log.map(({ message }) => message).join('\n')}`);
    }),
  ]);
  let passed = Promise.resolve();
  const pass = (passMs: number): Promise<void> => {
    // One after the other: each answer is that of the question before it.
    passed = passed.then(
      () =>
        new Promise((resolve, reject) => {
          child.once('message', () => resolve());
          child.send({ passMs } satisfies Passing, (error) => error !== null && reject(error));
        }),
    );
    return passed;
  };
  return {
    child,
    url: String(listening.url),
    log,
    line,
    exited,
    kill(signal) {
      child.kill(signal);
      return exited;
    },
    pass,
    async passUntil(pending) {
      let isOver = false;
      const over = (): void => {
        isOver = true;
      };
      pending.then(over, over);
      for (; !isOver; await wait(20)) await pass(1_000);
      return pending;
    },
  };
}

/**
 * What a command says, asked in this process: the words, the control socket and what is printed are the real ones. For
 * commands that only ask; spec/cli starts each of them as a process.
 */
export async function askCli(
  words: readonly string[],
  home: string,
  env: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  let stdout = '';
  let stderr = '';
  const code = await runWords(
    words,
    { ...process.env, NO_COLOR: '1', ...env, AGENT_HOME: home },
    {
      isTerminal: false,
      coloured: false,
      columns: 80,
      print: (text) => {
        stdout += text;
      },
      complain: (text) => {
        stderr += text;
      },
    },
  );
  return { code, stdout, stderr };
}

/** Runs the command line to its end. */
export function runCli(
  words: readonly string[],
  home: string,
  env: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [main, ...words], {
      env: { ...process.env, NO_COLOR: '1', ...env, AGENT_HOME: home },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const stdout = collected(child.stdout);
    const stderr = collected(child.stderr);
    child.once('close', (code) => resolve({ code, stdout: stdout(), stderr: stderr() }));
  });
}
