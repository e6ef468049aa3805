/**
 * Parses a command line into a command with arguments and flags, or reports what is wrong and what was probably meant. Runs
 * nothing.
 * @see CLI-2 in docs/specification.md
 */

import { profileName } from '../machines/base/names.ts';
import { sinceMs } from '../machines/base/since.ts';
import { meantStatus } from '../machines/base/status.ts';
import { nearest } from '../machines/config/nearest.ts';
import { canonicalTarget, cureOfTarget } from '../machines/config/targets.ts';
import type { Flag } from './catalogue/row.ts';
import { type CliCommand, catalogue, globalFlags, usageLine } from './catalogue.ts';
import { betweenValues } from './context.ts';
import { groupOf, unknownCommand } from './unknown-command.ts';

type Parsed =
  | {
      readonly kind: 'command';
      readonly command: CliCommand;
      readonly args: readonly string[];
      readonly flags: Readonly<Record<string, string | true>>;
    }
  /** Help on a command or a group; on everything if the path is empty. */
  | { readonly kind: 'help'; readonly path: readonly string[] }
  | { readonly kind: 'version' }
  /** What is wrong, and lines that say what to write instead. */
  | { readonly kind: 'misused'; readonly message: string; readonly cure: string };

interface GivenFlag {
  /** As written, with its hyphens. */
  readonly word: string;
  readonly name: string;
  readonly value: string | undefined;
}

export function parseWords(words: readonly string[]): Parsed {
  if (words.length === 0) return { kind: 'help', path: [] };
  if (words[0] === 'version') return { kind: 'version' };
  // The word after an unknown flag may be its value.
  const stray = words.findIndex((word) => word.startsWith('-') && !everyFlag.has(split(word)[0]));
  const command = findCommand(words) ?? (stray > 0 ? findCommand(words.slice(0, stray)) : undefined);
  const known = [...(command?.flags ?? []), ...globalFlags];
  const { bare, given } = sortWords(words, command, known);
  if (given.some(({ name, word }) => name === 'help' || word === '-h')) return helpOn(bare, command);
  if (given.some(({ name, word }) => name === 'version' || word === '-V')) return { kind: 'version' };
  if (command === undefined) return bare.length === 0 ? strayFlags(given) : unknown(bare);
  const cure = `Usage: ${usageLine(command)}\nSee \`agent help ${command.path.join(' ')}\`.`;
  const misused = (message: string): Parsed => ({ kind: 'misused', message, cure });
  const flags: Record<string, string | true> = {};
  for (const flagGiven of given) {
    const { name, value } = flagGiven;
    const flag = known.find((one) => one.name === name);
    const problem = flagProblem(flagGiven, flag, known);
    if (problem !== undefined) return misused(problem);
    const earlier = flag?.many === true ? flags[name] : undefined;
    const text = flag?.value === undefined ? true : meantOf(flag, value ?? '');
    flags[name] = typeof earlier === 'string' ? `${earlier}${betweenValues}${text}` : text;
  }
  if (flags.node !== undefined && command.staysHere === true)
    return misused('--node is for commands that ask a gateway; this one works on this machine, so leave it out');
  const args = bare.slice(command.path.length);
  const required = command.args.filter((arg) => !arg.startsWith('['));
  if (args.length < required.length) return misused(`missing <${required[args.length] ?? ''}>`);
  if (args.length > command.args.length && !takesMore(command)) {
    return misused(`unexpected "${args[command.args.length] ?? ''}"; several words for one value need quotes`);
  }
  // Such as a variable of a script that is not set: it must not choose everything.
  const empty = command.args.find((arg, at) => args[at] === '' && !arg.endsWith('…]'));
  if (empty !== undefined) return misused(`<${empty.replace(/[[\]]/g, '')}> must not be empty`);
  return { kind: 'command', command, args, flags };
}

/** Separates flags with their values from the other words. The value of a last flag that lacks one is undefined. */
export function sortWords(
  words: readonly string[],
  command: CliCommand | undefined,
  known: readonly Flag[],
): { readonly bare: readonly string[]; readonly given: readonly GivenFlag[] } {
  const bare: string[] = [];
  const given: GivenFlag[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '--') {
      bare.push(...words.slice(at + 1));
      break;
    }
    if (word.startsWith('--')) {
      const [name = '', inline] = split(word.slice(2));
      const flag = known.find((one) => one.name === name);
      const takesNext = flag?.value !== undefined && inline === undefined;
      given.push({ word: `--${name}`, name, value: takesNext ? words[at + 1] : inline });
      if (takesNext) at += 1;
    } else if (/^-[A-Za-z]/.test(word) && !(command !== undefined && takesMore(command) && hasBegun(command, bare))) {
      given.push({ word, name: '', value: undefined });
    } else bare.push(word);
  }
  return { bare, given };
}

/** The longest command that matches the first words. Flags may precede these, or be between them. */
export function findCommand(words: readonly string[]): CliCommand | undefined {
  const bare = wordsWithoutFlags(words);
  return catalogue
    .filter(({ path }) => path.every((word, index) => bare[index] === word))
    .sort((one, other) => other.path.length - one.path.length)
    .find(({ path, args }) => args.length > 0 || bare[path.length] === undefined || groupOf(path).length === 1);
}

const allFlags: readonly Flag[] = [...globalFlags, ...catalogue.flatMap(({ flags }) => flags)];
const everyFlag: ReadonlySet<string> = new Set(allFlags.map(({ name }) => `--${name}`));
/** A flag takes a value at every command that has it, or at none. */
const takingValue: ReadonlySet<string> = new Set(
  allFlags.filter(({ value }) => value !== undefined).map(({ name }) => `--${name}`),
);

function wordsWithoutFlags(words: readonly string[]): readonly string[] {
  const bare: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '--') break;
    if (takingValue.has(word)) at += 1;
    else if (!word.startsWith('-')) bare.push(word);
  }
  return bare;
}

/** Help on the command that the words name, else on the group; further words are arguments. */
function helpOn(bare: readonly string[], command: CliCommand | undefined): Parsed {
  if (command !== undefined) return { kind: 'help', path: command.path };
  return groupOf(bare).length > 0 ? { kind: 'help', path: bare } : unknown(bare);
}

function unknown(bare: readonly string[]): Parsed {
  return { kind: 'misused', ...unknownCommand(bare) };
}

function strayFlags(given: readonly GivenFlag[]): Parsed {
  const [first] = given;
  const flag = globalFlags.find(({ name }) => name === first?.name);
  const problem = first && flagProblem(first, flag, globalFlags);
  return { kind: 'misused', message: problem ?? 'no command is named', cure: 'See `agent help` for the commands.' };
}

/** Whether one of the words of which there may be any number has come: the first is a program, never its flag. */
function hasBegun({ path, args }: CliCommand, bare: readonly string[]): boolean {
  return bare.length >= path.length + args.length;
}

function takesMore({ args }: CliCommand): boolean {
  return args.at(-1)?.endsWith('…]') === true;
}

function flagProblem(
  { word, name, value }: GivenFlag,
  flag: Flag | undefined,
  known: readonly Flag[],
): string | undefined {
  if (flag === undefined) {
    const names = known.map((one) => one.name);
    // A single letter, as in other programs.
    const meant =
      name === '' ? names.filter((one) => one.startsWith(word.slice(1).toLowerCase())) : [nearest(name, names)];
    const quoted = meant.flatMap((one) => one ?? []).map((one) => `--${one}`);
    return `unknown flag ${word}${quoted.length === 0 ? '' : `; did you mean ${quoted.join(' or ')}?`}`;
  }
  if (flag.value === undefined) return value === undefined ? undefined : `--${name} takes no value`;
  if (value === undefined) return `--${name} needs a <${flag.value}>`;
  if (flag.oneOf?.includes(meantOf(flag, value)) === false)
    return `--${name} "${value}" is none of ${flag.oneOf.join(', ')}`;
  return formProblem(name, flag, value);
}

/** A status can be given as the tables show it. */
function meantOf({ name, oneOf = [] }: Flag, value: string): string {
  return (name === 'status' ? meantStatus(value, oneOf) : undefined) ?? value;
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
    case 'profile':
      return profileName(value) === undefined ? `--${name} "${value}" is no profile name [profile-name]` : undefined;
    case 'since':
      return sinceMs(value, Date.now()) === undefined
        ? `--${name} "${value}" must be a time, such as 2h, 3d or 2026-01-31T12:00:00Z`
        : undefined;
    case 'key':
      return /^[0-9a-z]{9,}/.test(value)
        ? undefined
        : `--${name} "${value}" must be the key of a row, as the end of a list prints it; --since takes a time`;
    case 'target':
      return canonicalTarget(value) === undefined
        ? `--${name} "${value}" is no target; ${cureOfTarget(value)}`
        : undefined;
    case 'port':
      return /^\d{1,5}$/.test(value) && Number(value) <= 65_535
        ? undefined
        : `--${name} "${value}" must be a whole number from 0 to 65535`;
  }
}

function split(word: string): readonly [string, string | undefined] {
  const at = word.indexOf('=');
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}
