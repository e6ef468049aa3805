/**
 * Every command and flag as data. Help, completion, the manual, usage errors and dispatch are generated from these tables, so
 * the command line is described only once.
 * @see CLI-1 and CLI-5 in docs/specification.md
 */

import { gatewayRows } from './catalogue/gateway.ts';
import { homeRows } from './catalogue/home.ts';
import { mcpRows } from './catalogue/mcp.ts';
import { type Flag, type NameKind, nameKinds, type Row } from './catalogue/row.ts';
import { webhookRows } from './catalogue/webhook.ts';
import { workRows } from './catalogue/work.ts';

export interface CliCommand extends Row {
  /** The words of the command, such as `webhook list`. */
  readonly path: readonly string[];
  /** Positional arguments in order; optional ones in brackets, repeatable ones with dots. */
  readonly args: readonly string[];
  /** The kind of names that completes each argument. */
  readonly names: readonly (NameKind | undefined)[];
  readonly flags: readonly Flag[];
}

export const globalFlags: readonly Flag[] = [
  {
    name: 'home',
    value: 'folder',
    help: 'The home; AGENT_HOME or ~/.agent unless given.',
    form: 'text',
    names: 'folder',
  },
  {
    name: 'node',
    value: 'name',
    help: 'Another gateway of the same database, see `agent gateway nodes`.',
    form: 'text',
  },
  { name: 'help', help: 'Show help.' },
  { name: 'version', help: 'Show the version.' },
];

const rows = { ...gatewayRows, ...webhookRows, ...mcpRows, ...workRows, ...homeRows };

export const catalogue: readonly CliCommand[] = Object.entries(rows).map(([words, { flags = [], ...row }]) => {
  const path = words.split(/ (?=[<[])/, 1).flatMap((text) => text.split(' '));
  const args = words.split(' ').slice(path.length);
  const kinds = args.map((arg) => /([\w-]+)…?[>\]]$/.exec(arg)?.[1]);
  return {
    ...row,
    path,
    args: args.map((arg) => arg.replace(/:[\w-]+|[<>]/g, '')),
    names: kinds.map((kind) => nameKinds.find((one) => one === kind)),
    flags,
  };
});

/** The flags that a command takes, its own first: one that asks no gateway refuses `--node`. */
export function takenFlags({ flags, staysHere }: CliCommand): readonly Flag[] {
  return [...flags, ...globalFlags.filter(({ name }) => name !== 'node' || staysHere !== true)];
}

/** A command in one line: words, arguments and its own flags, without the global flags. */
export function usageLine(command: CliCommand): string {
  return ['agent', commandWords(command), ...command.flags.map((flag) => `[${flagWords(flag)}]`)].join(' ');
}

export function commandWords({ path, args }: CliCommand): string {
  return [...path, ...args.map((arg) => (arg.startsWith('[') ? arg : `<${arg}>`))].join(' ');
}

export function flagWords({ name, value, many }: Flag): string {
  return `--${name}${value === undefined ? '' : ` <${value}>`}${many === true ? '…' : ''}`;
}
