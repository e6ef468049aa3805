/** Help, made from the catalogue. */

import { type CliCommand, catalogue, type Flag, globalFlags } from './catalogue.ts';

/** Help on a command, on a group of commands, or on everything. */
export function helpOn(path: readonly string[]): string {
  const exact = catalogue.find(
    (one) => one.path.length === path.length && one.path.every((word, index) => word === path[index]),
  );
  const group = catalogue.filter((one) => path.every((word, index) => one.path[index] === word));
  if (exact !== undefined && group.length === 1) return commandHelp(exact);
  const listed = group.length === 0 ? catalogue : group;
  const title = path.length === 0 || group.length === 0 ? titleLines : [`agent ${path.join(' ')} <command>`];
  return [
    ...title,
    '',
    'Commands:',
    ...columns(listed.map((one) => [usageOf(one), one.help])),
    '',
    'Everywhere:',
    ...flagLines(globalFlags),
    '',
  ].join('\n');
}

const titleLines = [
  'agent: keeps MCP servers connected and turns signed webhooks into agent runs',
  '',
  'Usage: agent <command> [flags]',
];

function commandHelp(command: CliCommand): string {
  const flags = [...command.flags, ...globalFlags];
  return [
    `Usage: agent ${usageOf(command)}${command.flags.length > 0 ? ' [flags]' : ''}`,
    '',
    command.help,
    '',
    'Flags:',
    ...flagLines(flags),
    '',
  ].join('\n');
}

function usageOf({ path, args }: CliCommand): string {
  return [...path, ...args.map((arg) => (arg.startsWith('[') ? arg : `<${arg}>`))].join(' ');
}

function flagLines(flags: readonly Flag[]): string[] {
  return columns(flags.map(({ name, value, help }) => [`--${name}${value === undefined ? '' : ` <${value}>`}`, help]));
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
