/**
 * Turns the words of a command line into a command with its arguments and flags, or says what is wrong with them.
 * @see CLI-2 in docs/specification.md
 */

import { nearest } from '../machines/config/nearest.ts';
import { type CliCommand, catalogue, type Flag, globalFlags } from './catalogue.ts';

export type Parsed =
  | {
      readonly kind: 'command';
      readonly command: CliCommand;
      readonly args: readonly string[];
      readonly flags: Readonly<Record<string, string | true>>;
    }
  | { readonly kind: 'help'; readonly path: readonly string[] }
  | { readonly kind: 'version' }
  | { readonly kind: 'misused'; readonly message: string; readonly path: readonly string[] };

export function parseWords(words: readonly string[]): Parsed {
  const [first] = words;
  if (first === undefined || first === 'help' || first === '--help' || first === '-h') {
    return { kind: 'help', path: first === 'help' ? words.slice(1) : [] };
  }
  if (first === '--version' || first === '-V' || first === 'version') return { kind: 'version' };

  const bare: string[] = [];
  const given: { readonly name: string; readonly value: string | undefined; readonly at: number }[] = [];
  const command = findCommand(words);
  const known = [...(command?.flags ?? []), ...globalFlags];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '--') {
      bare.push(...words.slice(at + 1));
      break;
    }
    if (!word.startsWith('--')) {
      if (word === '-h') return { kind: 'help', path: bare };
      bare.push(word);
      continue;
    }
    const [name = '', inline] = split(word.slice(2));
    const flag = known.find((one) => one.name === name);
    const takesNext = flag?.value !== undefined && inline === undefined;
    given.push({ name, value: takesNext ? words[at + 1] : inline, at });
    if (takesNext) at += 1;
  }
  if (given.some(({ name }) => name === 'help')) return { kind: 'help', path: bare };
  if (command === undefined) return { kind: 'misused', message: unknownCommand(bare), path: [] };
  const flags: Record<string, string | true> = {};
  for (const { name, value } of given) {
    const flag = known.find((one) => one.name === name);
    const problem = flagProblem(name, flag, value, known);
    if (problem !== undefined) return { kind: 'misused', message: problem, path: command.path };
    const earlier = flag?.many === true ? flags[name] : undefined;
    const text = flag?.value === undefined ? true : (value ?? '');
    flags[name] = typeof earlier === 'string' ? `${earlier}\n${text}` : text;
  }
  const args = bare.slice(command.path.length);
  const required = command.args.filter((arg) => !arg.startsWith('['));
  if (args.length < required.length) {
    return { kind: 'misused', message: `missing <${required[args.length] ?? ''}>`, path: command.path };
  }
  if (args.length > command.args.length && command.args.at(-1)?.endsWith('…]') !== true) {
    return { kind: 'misused', message: `unexpected "${args[command.args.length] ?? ''}"`, path: command.path };
  }
  return { kind: 'command', command, args, flags };
}

/** The command whose words stand first, the longest that fits. Flags of the whole program may stand before it. */
function findCommand(words: readonly string[]): CliCommand | undefined {
  const bare = wordsWithoutGlobalFlags(words);
  return catalogue
    .filter(({ path }) => path.every((word, index) => bare[index] === word))
    .sort((one, other) => other.path.length - one.path.length)
    .find(({ path, args }) => args.length > 0 || bare[path.length] === undefined || !isGroup(path));
}

/** Whether further words after these would name another command. */
function isGroup(path: readonly string[]): boolean {
  return catalogue.some(
    (one) => one.path.length > path.length && path.every((word, index) => one.path[index] === word),
  );
}

function wordsWithoutGlobalFlags(words: readonly string[]): readonly string[] {
  const bare: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const flag = globalFlags.find(({ name }) => word === `--${name}`);
    if (flag?.value !== undefined) at += 1;
    else if (word.startsWith('--')) {
      if (bare.length > 0) break;
    } else bare.push(word);
  }
  return bare;
}

function flagProblem(
  name: string,
  flag: Flag | undefined,
  value: string | undefined,
  known: readonly Flag[],
): string | undefined {
  if (flag === undefined) {
    const near = nearest(
      name,
      known.map((one) => one.name),
    );
    return `unknown flag --${name}${near === undefined ? '' : `; did you mean --${near}?`}`;
  }
  if (flag.value === undefined) return value === undefined ? undefined : `--${name} takes no value`;
  if (value === undefined) return `--${name} needs a <${flag.value}>`;
  if (flag.oneOf?.includes(value) === false) return `--${name} "${value}" is none of ${flag.oneOf.join(', ')}`;
  return formProblem(name, flag, value);
}

function formProblem(name: string, { form }: Flag, value: string): string | undefined {
  switch (form) {
    case undefined:
      return undefined;
    case 'text':
      return value === '' ? `--${name} must not be empty` : undefined;
    case 'count':
      return /^[1-9]\d{0,8}$/.test(value) ? undefined : `--${name} "${value}" must be a whole number from 1`;
    case 'whole':
      return /^\d{1,9}$/.test(value) ? undefined : `--${name} "${value}" must be a whole number from 0`;
    case 'port':
      return /^\d{1,5}$/.test(value) && Number(value) <= 65_535
        ? undefined
        : `--${name} "${value}" must be a whole number from 0 to 65535`;
  }
}

function unknownCommand(bare: readonly string[]): string {
  const asked = bare.join(' ');
  const near = nearest(
    asked,
    catalogue.map(({ path }) => path.join(' ')),
  );
  return `unknown command "${asked}"${near === undefined ? '' : `; did you mean "${near}"?`}`;
}

function split(word: string): readonly [string, string | undefined] {
  const at = word.indexOf('=');
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}
