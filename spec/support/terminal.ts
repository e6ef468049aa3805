/** The command line on a terminal of its own, typed at as a person would: each answer when its question is there. */

import { spawn, spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

const main = new URL('../../cli/main.js', import.meta.url).pathname;

/** What is waited for on the screen, and what is typed then. */
export type Turn = readonly [question: RegExp, keys: string];

export const enter = '\r';
export const down = '\u001b[B';
export const space = ' ';
export const ctrlC = '\u0003';

/** A reason to skip where there is no `script` to make a terminal. */
export function noTerminal(): string | false {
  const { error, stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' });
  return error === undefined && stdout.includes('util-linux') ? false : 'not installed: script of util-linux';
}

/** Runs to the end; what stood on the screen, and the exit code. */
export function runInTerminal(
  words: readonly string[],
  home: string,
  turns: readonly Turn[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly screen: string }> {
  const command = [process.execPath, main, ...words].map((word) => `'${word}'`).join(' ');
  return new Promise((resolve) => {
    const child = spawn('script', ['-qefc', `stty cols 80 rows 40; exec ${command}`, '/dev/null'], {
      env: { ...process.env, TERM: 'xterm', NO_COLOR: '1', ...env, AGENT_HOME: home },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    let screen = '';
    let seen = 0;
    const left = [...turns];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      screen += stripVTControlCharacters(chunk);
      const [question, keys] = left[0] ?? [];
      if (question === undefined || keys === undefined || !question.test(screen.slice(seen))) return;
      left.shift();
      seen = screen.length;
      child.stdin.write(keys);
    });
    child.once('close', (code) => resolve({ code, screen }));
  });
}
