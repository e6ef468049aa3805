/**
 * A command's page of the manual, as data. Terminal and Markdown formats are elsewhere.
 * @see CLI-2 in docs/specification.md
 */

import type { Flag } from './catalogue/row.ts';
import { type CliCommand, flagWords, takenFlags, usageLine } from './catalogue.ts';
import type { ExitCode } from './context.ts';
import { exitMeanings, files, variables } from './manual.ts';

export type Row = readonly [word: string, text: string];

export type ManualPage = ReturnType<typeof pageOf>;

/** `see`: other commands, and pages. */
export function pageOf(command: CliCommand) {
  const name = command.path.join(' ');
  const codes: readonly ExitCode[] = [0, 1, 2, 3, 4];
  const exits = codes
    .filter((code) => code < 3 || command.exits?.[code] !== undefined || (code === 3 && command.needsGateway === true))
    .map((code): Row => [String(code), command.exits?.[code] ?? exitMeanings[code]]);
  return {
    name,
    line: command.help,
    synopsis: usageLine(command),
    about: command.about ?? [],
    flags: takenFlags(command).map(flagRow),
    examples: (command.examples ?? []).map(([words, what]): Row => [`agent ${words}`, what]),
    exits,
    environment: (['AGENT_HOME', 'NO_COLOR', ...(command.env ?? [])] as const).map(
      (name): Row => [name, variables[name]],
    ),
    files: (command.files ?? []).map((name): Row => [name, files[name]]),
    see: command.see ?? [],
  };
}

const formWords: Readonly<Partial<Record<NonNullable<Flag['form']>, string>>> = {
  count: ' A whole number from 1.',
  whole: ' A whole number from 0.',
  port: ' From 0 to 65535.',
};

/** The flag as it is written, and its help with default, values and limits. */
export function flagRow(flag: Flag): Row {
  const repeated = flag.many === true && !flag.help.includes('repeated') ? ' May be repeated.' : '';
  const values = flag.oneOf === undefined ? '' : ` One of ${flag.oneOf.join(', ')}.`;
  const form = (flag.form && formWords[flag.form]) ?? '';
  return [flagWords(flag), `${flag.help}${repeated}${values}${form}`];
}

export const tagline = 'keeps MCP servers connected and turns signed webhooks into agent runs';
