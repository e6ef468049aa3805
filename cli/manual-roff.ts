/**
 * The manual as man pages, in roff's man macros. What a line means is said elsewhere; here it is only spelled.
 * @see CLI-2 in docs/specification.md
 */

import { type CliCommand, globalFlags } from './catalogue.ts';
import { exitMeanings, files, variables } from './manual.ts';
import { flagRow, pageOf, type Row, tagline } from './manual-page.ts';
import { commandWords } from './usage.ts';

/** One command's page. */
export function commandRoff(command: CliCommand, version: string): string {
  const page = pageOf(command);
  const name = `agent-${command.path.join('-')}`;
  return roff(name, version, [
    ...heading('NAME', [`${escaped(name)} \\- ${escaped(page.line)}`]),
    ...heading('SYNOPSIS', ['.nh', '.ad l', `.B ${escaped(page.synopsis)}`, '.ad', '.hy']),
    ...heading('DESCRIPTION', paragraphs([page.line, ...page.about])),
    ...heading('OPTIONS', rowsOf(page.flags)),
    ...(page.examples.length === 0 ? [] : heading('EXAMPLES', rowsOf(page.examples))),
    ...heading('EXIT STATUS', rowsOf(page.exits)),
    ...heading('ENVIRONMENT', rowsOf(page.environment)),
    ...(page.files.length === 0
      ? []
      : heading('FILES', rowsOf(page.files.map(([file, text]): Row => [`$AGENT_HOME/${file}`, text])))),
    ...(page.see.length === 0 ? [] : heading('SEE ALSO', [seeOf(page.see)])),
  ]);
}

/** The page of a group of commands, or of all. */
export function groupRoff(path: readonly string[], commands: readonly CliCommand[], version: string): string {
  const name = ['agent', ...path].join('-');
  const rows = (given: Readonly<Record<string, string>>): readonly Row[] => Object.entries(given);
  return roff(name, version, [
    ...heading('NAME', [`${escaped(name)} \\- ${escaped(tagline)}`]),
    ...heading('SYNOPSIS', [`.B ${escaped(['agent', ...path].join(' '))}`, '.I command', '[\\fIflags\\fR]']),
    ...heading('COMMANDS', commands.flatMap(commandLines)),
    ...heading('OPTIONS', [...paragraphs(['Every command has these:']), ...rowsOf(globalFlags.map(flagRow))]),
    ...heading('EXIT STATUS', rowsOf(rows(Object.fromEntries(Object.entries(exitMeanings))))),
    ...heading('ENVIRONMENT', rowsOf(rows(variables))),
    ...heading('FILES', rowsOf(Object.entries(files).map(([file, text]): Row => [`$AGENT_HOME/${file}`, text]))),
  ]);
}

/** In a page of many, a command has its synopsis, what it does, its flags and its examples. */
function commandLines(command: CliCommand): readonly string[] {
  const page = pageOf(command);
  const own = command.flags.map(flagRow);
  return [
    `.SS ${escaped(`agent ${commandWords(command)}`)}`,
    ...paragraphs([page.line, ...page.about]),
    ...rowsOf(own),
    ...(page.examples.length === 0 ? [] : ['.PP', 'Examples:', ...rowsOf(page.examples)]),
  ];
}

function roff(name: string, version: string, lines: readonly string[]): string {
  return `${[`.TH "${escaped(name.toUpperCase())}" 1 "" "${escaped(`agent ${version}`)}" "Agent Gateway"`, ...lines].join('\n')}\n`;
}

function heading(title: string, lines: readonly string[]): readonly string[] {
  return [`.SH ${title}`, ...lines];
}

function paragraphs(texts: readonly string[]): readonly string[] {
  return texts.flatMap((text, at) => (at === 0 ? [escaped(text)] : ['.PP', escaped(text)]));
}

function rowsOf(rows: readonly Row[]): readonly string[] {
  return rows.flatMap(([word, text]) => ['.TP', `.B ${escaped(word)}`, escaped(text)]);
}

function seeOf(see: readonly string[]): string {
  return see.map((one) => escaped(one.startsWith('docs/') ? one : `agent-${one.replaceAll(' ', '-')}(1)`)).join(', ');
}

/** Hyphens that are meant, backslashes, and what would begin a request; a backquoted word is bold. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '...')
    .replace(/`([^`]*)`/g, '\\fB$1\\fR')
    .replace(/"/g, '\\(dq')
    .replace(/^([.'])/, '\\&$1');
}
