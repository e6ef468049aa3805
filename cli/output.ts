/** Standard output and error for the commands. */

import { fstatSync, writeSync } from 'node:fs';
import type { Output } from './context.ts';
import { endOutput, watchOutput } from './end-output.ts';
import { wrapped } from './terminal.ts';

const stdout = 1;

export function standardOutput(env: Readonly<Record<string, string | undefined>>): Output {
  watchOutput();
  const isFile = fstatSync(stdout).isFile();
  const isTerminal = process.stdout.isTTY === true;
  // A terminal of unknown size reports undefined or 0.
  const columns = (): number => process.stdout.columns || process.stderr.columns || 80;
  return {
    isTerminal,
    coloured: isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb',
    // A getter, because the terminal may be resized meanwhile.
    get columns() {
      return columns();
    },
    print: (text) => void (isFile ? writeAll(text) : process.stdout.write(text)),
    complain: (text) => void process.stderr.write(process.stderr.isTTY === true ? folded(text, columns()) : text),
  };
}

/** Node's stream ignores that a file took only a part, as on a disk that is full then. */
function writeAll(text: string): void {
  const bytes = Buffer.from(text);
  try {
    for (let written = 0; written < bytes.length; ) written += writeSync(stdout, bytes, written);
  } catch (thrown) {
    endOutput(thrown as NodeJS.ErrnoException);
  }
}

/** Wraps each line to the terminal; an indented line is part of a layout and stays unchanged. */
function folded(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => (line.startsWith(' ') ? line : wrapped(line, columns, '').join('\n')))
    .join('\n');
}
