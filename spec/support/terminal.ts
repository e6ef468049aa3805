/** A command in a terminal of its own, by `script`, for what only a terminal shows. */

import { spawn, spawnSync } from 'node:child_process';
import type { Test } from 'tap';
import { collected, until } from './processes.ts';

export interface Terminal {
  /** What it has shown so far, without colours and carriage returns. */
  readonly shown: () => string;
  /** Whether what runs in it has asked for marks around what is pasted (bracketed paste). */
  readonly marksPastes: () => boolean;
  type(text: string): void;
  /** Resolves once it shows what fits, after what was shown when this was asked before; rejects where it ends first. */
  shows(pattern: RegExp): Promise<void>;
  /** Resolves once it has ended and all that it said is shown. */
  readonly exited: Promise<number | null>;
}

/** Whether this machine has a `script` that knows how to run a command. */
export const hasTerminal: boolean = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;

const main = new URL('../../cli/main.js', import.meta.url).pathname;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what a terminal is told.
const told = /\u001b\[[0-9;?]*[A-Za-z]|\r/g;

export function startTerminal(
  t: Test,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd?: string,
): Terminal {
  const line = [process.execPath, main, ...words].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm', ...env },
    cwd,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let seen = 0;
  const text = collected(child.stdout);
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const shown = (): string => text().replace(told, '');
  return {
    shown,
    marksPastes: () => text().lastIndexOf('\u001b[?2004h') > text().lastIndexOf('\u001b[?2004l'),
    type: (typed) => void child.stdin.write(typed),
    async shows(pattern) {
      let isOver = false;
      void exited.then(() => {
        isOver = true;
      });
      await until(() => isOver || pattern.test(shown().slice(seen)));
      if (!pattern.test(shown().slice(seen))) throw new Error(`it ended and did not show ${pattern}:\n${shown()}`);
      seen = shown().length;
    },
    exited,
  };
}
