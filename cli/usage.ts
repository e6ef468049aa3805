/** A command in one line, as a synopsis writes it: words, arguments, flags. */

import type { CliCommand, Flag } from './catalogue.ts';

/** With every flag of its own; those of the whole program are left out. */
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
