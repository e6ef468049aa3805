/**
 * Help for a terminal: a page of the manual, or the list of a group's commands, wrapped to its width.
 * @see CLI-2 in docs/specification.md
 */

import { type CliCommand, catalogue, commandWords, globalFlags } from './catalogue.ts';
import type { Output } from './context.ts';
import { exitMeanings } from './manual.ts';
import { flagRow, type ManualPage, pageOf, type Row, tagline } from './manual-page.ts';
import { bold, dim, wrapped } from './terminal.ts';
import { groupOf } from './unknown-command.ts';

type Screen = Pick<Output, 'columns' | 'coloured'>;

/** Longer lines are hard to read, however wide the terminal is. */
const widest = 100;
const narrowest = 40;
/** A longer word has its text on the next lines. */
const widestWord = 30;

/** Help on a command, a group of commands, or everything. */
export function helpOn(path: readonly string[], screen: Screen): string {
  const group = groupOf(path);
  const exact = commandAt(path);
  return exact !== undefined && group.length <= 1 ? commandHelp(exact, screen) : groupHelp(path, group, screen);
}

/** The command with exactly these words. */
function commandAt(path: readonly string[]): CliCommand | undefined {
  return catalogue.find((one) => one.path.length === path.length && one.path.every((word, at) => word === path[at]));
}

function groupHelp(path: readonly string[], group: readonly CliCommand[], screen: Screen): string {
  const whole = path.length === 0;
  const exact = commandAt(path);
  const title = whole
    ? [...wrapped(`agent: ${tagline}`, widthOf(screen), ''), '', 'Usage: agent <command> [flags]']
    : [`Usage: agent ${path.join(' ')} ${exact === undefined ? '<command>' : '[command]'} [flags]`];
  const rows = group.map((one): Row => [commandWords(one), one.help]);
  const begins = new Set(group.filter((one, at) => at > 0 && one.path[0] !== group[at - 1]?.path[0]).map(commandWords));
  const exits = Object.entries(exitMeanings).map(([code, text]): Row => [code, text]);
  return [
    ...title,
    '',
    ...section('Commands', rowLines(rows, screen, begins), screen),
    // A command that is the name of its group, such as `agent inspect`, has no page of its own.
    ...(exact === undefined || exact.flags.length === 0
      ? []
      : section(`Flags of agent ${path.join(' ')}`, rowLines(exact.flags.map(flagRow), screen), screen)),
    ...section('Flags of every command', rowLines(globalFlags.map(flagRow), screen), screen),
    ...(whole ? section('Exit codes', rowLines(exits, screen), screen) : []),
    ...(whole ? ['Begin with: agent gateway setup'] : []),
    `Read on: agent help ${whole ? '<command>' : `${path.join(' ')} <command>`}`,
    '',
  ].join('\n');
}

function commandHelp(command: CliCommand, screen: Screen): string {
  const page = pageOf(command);
  const rows = (title: string, given: readonly Row[]): string[] =>
    given.length === 0 ? [] : section(title, rowLines(given, screen), screen);
  return [
    ...wrapped(`Usage: ${page.synopsis}`, widthOf(screen), '         '),
    '',
    ...[page.line, ...page.about].flatMap((text) => [...wrapped(text, widthOf(screen), ''), '']),
    ...rows('Flags', page.flags),
    ...examples(page, screen),
    ...rows('Exit codes', page.exits),
    ...rows('Environment', page.environment),
    ...rows('Files, in the home', page.files),
    ...seeAlso(page, screen),
  ].join('\n');
}

function examples({ examples: given }: ManualPage, screen: Screen): string[] {
  if (given.length === 0) return [];
  const lines = given.flatMap(([words, what]) => [
    `  ${words}`,
    ...wrapped(what, widthOf(screen) - 6, '').map((line) => `      ${dim(screen, line)}`),
  ]);
  return section('Examples', lines, screen);
}

function seeAlso({ see }: ManualPage, screen: Screen): string[] {
  if (see.length === 0) return [];
  const words = see.map((one) => (one.startsWith('docs/') ? one : `agent ${one}`)).join(', ');
  return section(
    'See also',
    wrapped(words, widthOf(screen) - 2, '').map((line) => `  ${line}`),
    screen,
  );
}

function section(title: string, lines: readonly string[], screen: Screen): string[] {
  return [bold(screen, `${title}:`), ...lines, ''];
}

/** A column of words with their texts beside it; a blank line precedes each word in `begins`. */
function rowLines(rows: readonly Row[], screen: Screen, begins: ReadonlySet<string> = new Set()): string[] {
  const fitting = rows.map(([word]) => word.length).filter((length) => length <= widestWord);
  const column = Math.max(0, ...fitting);
  const width = Math.max(20, widthOf(screen) - column - 4);
  return rows.flatMap(([word, text]) => {
    const [first = '', ...rest] = wrapped(text, width, '');
    const margin = ' '.repeat(column + 4);
    const apart = begins.has(word) ? [''] : [];
    if (word.length > column) return [...apart, `  ${word}`, ...[first, ...rest].map((line) => `${margin}${line}`)];
    return [...apart, `  ${word.padEnd(column)}  ${first}`, ...rest.map((line) => `${margin}${line}`)];
  });
}

function widthOf({ columns }: Screen): number {
  return Math.min(widest, Math.max(narrowest, columns));
}
