/** Standard output and error as the commands use them; a reader that leaves early is no error. */

import type { Output } from './context.ts';
import { wrapped } from './terminal.ts';

export function standardOutput(env: Readonly<Record<string, string | undefined>>): Output {
  // `agent … | head` closes the pipe; what remains has no reader.
  process.stdout.on('error', () => process.exit(0));
  const isTerminal = process.stdout.isTTY === true;
  // A terminal that does not know its size says nothing, or 0.
  const columns = (): number => process.stdout.columns || process.stderr.columns || 80;
  return {
    isTerminal,
    coloured: isTerminal && (env.NO_COLOR ?? '') === '',
    // A terminal may be resized while it is talked to.
    get columns() {
      return columns();
    },
    print: (text) => void process.stdout.write(text),
    complain: (text) => void process.stderr.write(process.stderr.isTTY === true ? folded(text, columns()) : text),
  };
}

/** Each line broken between its words where the terminal ends; a line that is indented stands under its place and stays. */
function folded(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => (line.startsWith(' ') ? line : wrapped(line, columns, '').join('\n')))
    .join('\n');
}
