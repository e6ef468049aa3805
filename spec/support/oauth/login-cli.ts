/** `agent mcp login` as a person has it: a command that runs, shows, is typed to and interrupted; and a browser for it. */

import { spawn } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { CliResult } from '../daemon.ts';
import { main } from '../daemon.ts';
import type { TestHome } from '../home.ts';

const fakeBrowser = new URL('./fake-browser.js', import.meta.url).pathname;

export interface RunningCli {
  /** What it has written to standard output and error so far. */
  shown(): string;
  /** Resolves with what a pattern catches first, once it is shown. */
  shows(pattern: RegExp): Promise<string>;
  type(line: string): void;
  interrupt(signal?: 'SIGINT' | 'SIGTERM'): void;
  readonly ended: Promise<CliResult>;
}

/** Starts the command line with its standard input open; it ends with the spec. */
export function startCli(
  t: Pick<Test, 'teardown'>,
  home: TestHome,
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): RunningCli {
  const child = spawn(process.execPath, [main, ...words], {
    env: {
      ...process.env,
      NO_COLOR: '1',
      DISPLAY: undefined,
      WAYLAND_DISPLAY: undefined,
      BROWSER: undefined,
      ...env,
      AGENT_HOME: home.path,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const watchers = new Set<() => void>();
  const add = (keep: (chunk: string) => void) => (chunk: string) => {
    keep(chunk);
    for (const look of [...watchers]) look();
  };
  child.stdout.setEncoding('utf8').on(
    'data',
    add((chunk) => {
      stdout += chunk;
    }),
  );
  child.stderr.setEncoding('utf8').on(
    'data',
    add((chunk) => {
      stderr += chunk;
    }),
  );
  child.stdin.on('error', () => {});
  const ended = new Promise<CliResult>((resolve) => {
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    shown: () => stdout + stderr,
    shows: (pattern) => {
      const caught = new Promise<string>((resolve) => {
        const look = (): void => {
          const found = pattern.exec(stdout + stderr);
          if (found === null) return;
          watchers.delete(look);
          resolve(found[1] ?? found[0]);
        };
        watchers.add(look);
        look();
      });
      const gone = ended.then(({ code }): never => {
        throw new Error(`the command ended with ${code} before it showed ${pattern}: ${stdout}${stderr}`);
      });
      return Promise.race([caught, gone]);
    },
    type: (line) => void child.stdin.write(`${line}\n`),
    interrupt: (signal = 'SIGINT') => void child.kill(signal),
    ended,
  };
}

/** The address that a login shows. */
export const shownUrl = /^ {2}(https?:\S+)$/m;

export interface SpecBrowser {
  /** For the environment of the command line. */
  readonly env: Readonly<Record<string, string>>;
  /** The addresses that were opened. */
  opened(): readonly string[];
}

/** A browser that the command line can start, in this home. */
export function installBrowser(home: TestHome, { onlyOpens = false } = {}): SpecBrowser {
  const file = join(home.path, 'opened-urls');
  const script = join(home.path, 'fake-browser');
  writeFileSync(file, '');
  const only = onlyOpens ? 'FAKE_BROWSER_ONLY_OPENS=1 ' : '';
  writeFileSync(script, `#!/bin/sh\n${only}exec "${process.execPath}" "${fakeBrowser}" "${file}" "$@"\n`);
  chmodSync(script, 0o700);
  return {
    env: { BROWSER: script },
    opened: () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== ''),
  };
}
