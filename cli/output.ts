/** Standard output and error as the commands use them; a reader that leaves early is no error. */

import type { Output } from './context.ts';

export function standardOutput(env: Readonly<Record<string, string | undefined>>): Output {
  // `agent … | head` closes the pipe; what remains has no reader.
  process.stdout.on('error', () => process.exit(0));
  const isTerminal = process.stdout.isTTY === true;
  return {
    isTerminal,
    coloured: isTerminal && (env.NO_COLOR ?? '') === '',
    // A terminal that does not know its size says nothing, or 0.
    columns: process.stdout.columns || 80,
    print: (text) => void process.stdout.write(text),
    complain: (text) => void process.stderr.write(text),
  };
}
