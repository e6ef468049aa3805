/** `agent config …`: findings with their positions, the settings, and the schema for editors. @see CFG-2, CFG-4 and CLI-6 */

import { existsSync } from 'node:fs';
import { printDiagnostic } from '../../machines/config/diagnostic.ts';
import { homePaths } from '../../machines/config/profile.ts';
import type { Result } from '../../runtime/control/contract.ts';
import { agentOf, type CommandContext, type ExitCode, hasFlag, profileFlag, refuse } from '../context.ts';
import { bounded, dim, oneLine, plain, printJson, show, table } from '../terminal.ts';

export async function checkConfig(context: CommandContext): Promise<ExitCode> {
  const found = await context.ask('config.check');
  if (hasFlag(context, 'json')) printJson(context, found);
  else {
    if (found.length === 0)
      context.out.print(`${existsSync(homePaths(context.home).config) ? 'No findings' : noFile(context)}.\n`);
    else
      context.out.print(
        `${found.map((one) => plain(printDiagnostic(one))).join('\n\n')}\n\n${found.length === 1 ? '1 finding' : `${found.length} findings`}\n`,
      );
    const hints = await context.ask('config.hints');
    for (const hint of hints) context.out.print(`Hint: ${oneLine(hint)}\n`);
  }
  return found.length === 0 ? 0 : 1;
}

function noFile({ home, gateway }: CommandContext): string {
  return `There is no ${oneLine(homePaths(home).config)}, so the defaults apply; \`${agentOf(gateway)} gateway setup\` writes one`;
}

export async function printSchema(context: CommandContext): Promise<ExitCode> {
  printJson(context, await context.ask('config.schema'));
  return 0;
}

/** Prints the settings in the files with the defaults; only one section if it is named. */
export async function showConfig(context: CommandContext): Promise<ExitCode> {
  const { out, args } = context;
  const [section] = args;
  const { file, settings } = await context.ask('config.show', { profile: profileFlag(context) });
  const rows = settings.filter(({ key }) => section === undefined || key === section || key.startsWith(`${section}.`));
  if (rows.length === 0)
    return refuse(context, `no setting is named "${oneLine(section ?? '')}"; \`agent config show\` lists them`, 1);
  const cells = (row: Setting): string[] => [
    row.key,
    typeof row.value === 'string' ? row.value : JSON.stringify(row.value),
    originOf(row, file),
  ];
  const line = ([key = '', value = '', from = '']: readonly string[]): string =>
    `${oneLine(key)}: ${bounded(value)}  ${dim(out, oneLine(from))}\n`;
  // Beside the longest keys, the columns of a narrow terminal have no room for a value and its place.
  show(context, { file, settings: rows }, () =>
    out.isTerminal
      ? rows.map((row) => line(cells(row))).join('')
      : table(out, ['KEY', 'VALUE', 'FROM'], rows.map(cells)),
  );
  const errors = (await context.ask('config.check')).filter(({ severity }) => severity === 'error').length;
  if (errors > 0) {
    out.complain(
      'agent: the configuration has errors, so a running gateway keeps an earlier one in force; see `agent config check`\n',
    );
  }
  return 0;
}

function originOf({ from, line, variables = [] }: Setting, file: string): string {
  const names = variables.map(({ name, from: source }) =>
    source === 'unset' ? `${name} is not set` : `${name} of ${source}`,
  );
  const place = { file: `${file}:${line}`, default: 'default', variable: undefined }[from];
  return [...(place === undefined ? [] : [place]), ...names].join(', ');
}

type Setting = Result<'config.show'>['settings'][number];
