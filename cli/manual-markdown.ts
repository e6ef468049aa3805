/**
 * The manual as one Markdown page; generates docs/cli.md.
 * @see CLI-2 in docs/specification.md
 */

import { type CliCommand, globalFlags } from './catalogue.ts';
import { exitMeanings, files, variables } from './manual.ts';
import { flagRow, pageOf, type Row } from './manual-page.ts';

export function markdownManual(commands: readonly CliCommand[]): string {
  const everywhere = new Set(['AGENT_HOME', 'NO_COLOR']);
  return `${[
    '# The command line',
    'Made from the catalogue of commands by `npm run manual`; do not edit it. `agent help <command>` prints the same in the terminal.',
    ...listed('Flags of every command', globalFlags.map(flagRow)),
    ...listed('Exit codes', Object.entries(exitMeanings)),
    ...listed('Environment', Object.entries(variables)),
    ...listed('Files, in the home', Object.entries(files)),
    '## Commands',
    commands.map(({ path }) => `- [agent ${path.join(' ')}](#agent-${path.join('-')})`).join('\n'),
    ...commands.flatMap((command) => section(command, everywhere)),
  ].join('\n\n')}\n`;
}

function section(command: CliCommand, everywhere: ReadonlySet<string>): readonly string[] {
  const page = pageOf(command);
  const own = page.exits.filter(([code, text]) =>
    Object.entries(exitMeanings).every(([known, said]) => known !== code || said !== text),
  );
  return [
    `### agent ${page.name}`,
    `\`\`\`\n${page.synopsis}\n\`\`\``,
    page.line,
    ...page.about,
    ...listOf(command.flags.map(flagRow)),
    ...(page.examples.length === 0
      ? []
      : [`\`\`\`sh\n${page.examples.map(([words, what]) => `${words}  # ${what}`).join('\n')}\n\`\`\``]),
    ...(own.length === 0 ? [] : [`Exit codes: ${own.map(([code, text]) => `${code}: ${text}`).join(' ')}`]),
    ...(page.exits.some(([code]) => code === '3') ? ['Needs a running gateway.'] : []),
    ...named(
      'Files',
      page.files.map(([file]) => `\`${file}\``),
    ),
    ...named(
      'Environment',
      page.environment.filter(([name]) => !everywhere.has(name)).map(([name]) => `\`${name}\``),
    ),
    ...named('See also', page.see.map(reference)),
  ];
}

function listed(title: string, rows: readonly Row[]): readonly string[] {
  return [`## ${title}`, ...listOf(rows)];
}

function listOf(rows: readonly Row[]): readonly string[] {
  return rows.length === 0 ? [] : [rows.map(([word, text]) => `- \`${word}\`: ${text}`).join('\n')];
}

function named(title: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : [`${title}: ${items.join(', ')}.`];
}

function reference(one: string): string {
  if (!one.startsWith('docs/')) return `[agent ${one}](#agent-${one.replaceAll(' ', '-')})`;
  const page = one.slice('docs/'.length);
  return `[${page}](${page})`;
}
