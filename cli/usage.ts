/** A command as a one-line synopsis: words, arguments, flags. */

import type { CliCommand, Flag } from './catalogue.ts';

/** With the command's own flags, without the global flags. */
export function usageLine(command: CliCommand): string {
  return ['agent', commandWords(command), ...command.flags.map((flag) => `[${flagWords(flag)}]`)].join(' ');
}

/** The words and the arguments. */
export function commandWords({ path, args }: CliCommand): string {
  return [...path, ...args.map((arg) => (arg.startsWith('[') ? arg : `<${arg}>`))].join(' ');
}

export function flagWords({ name, value, many }: Flag): string {
  return `--${name}${value === undefined ? '' : ` <${value}>`}${many === true ? '…' : ''}`;
}
