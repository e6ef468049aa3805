/** Standard output and error for the commands; a reader that closes early is not an error. */

import type { Output } from './context.ts';
import { wrapped } from './terminal.ts';

export function standardOutput(env: Readonly<Record<string, string | undefined>>): Output {
  // `agent … | head` closes the pipe; the rest has no reader.
  process.stdout.on('error', () => process.exit(0));
  const isTerminal = process.stdout.isTTY === true;
  // A terminal of unknown size reports undefined or 0.
  const columns = (): number => process.stdout.columns || process.stderr.columns || 80;
  return {
    isTerminal,
    coloured: isTerminal && (env.NO_COLOR ?? '') === '',
    // A getter, because the terminal may be resized meanwhile.
    get columns() {
      return columns();
    },
    print: (text) => void process.stdout.write(text),
    complain: (text) => void process.stderr.write(process.stderr.isTTY === true ? folded(text, columns()) : text),
  };
}

/** Wraps each line to the terminal; an indented line is part of a layout and stays unchanged. */
function folded(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => (line.startsWith(' ') ? line : wrapped(line, columns, '').join('\n')))
    .join('\n');
}
