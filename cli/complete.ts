/**
 * Computes what can follow on a command line: commands, flags, a flag's values, or a kind of names to look up. Reads only
 * the catalogue and looks up no names.
 * @see CLI-2 in docs/specification.md
 */

import { defaultProfile } from '../machines/base/names.ts';
import { type Flag, type NameKind, nameKinds, ofProfile } from './catalogue/row.ts';
import { type CliCommand, globalFlags, takenFlags } from './catalogue.ts';
import { findCommand, sortWords } from './parse.ts';
import { groupOf } from './unknown-command.ts';

export interface Candidate {
  readonly word: string;
  readonly help: string;
}

type Expected =
  | { readonly kind: 'words'; readonly words: readonly Candidate[] }
  | {
      readonly kind: 'names';
      readonly names: NameKind;
      /** The profile that the names are of; undefined: of all profiles. */
      readonly profile: string | undefined;
      /** What precedes the name in the same word, such as `--profile=`. */
      readonly before: string;
      /** Other words that are possible here. */
      readonly words: readonly Candidate[];
    };

/** What the last word, which may be empty or partial, can be completed to. */
export function expectedAt(words: readonly string[]): Expected {
  const current = words.at(-1) ?? '';
  const earlier = words.slice(0, -1);
  const after = earlier.indexOf('--');
  const command = findCommand(earlier);
  const known = command === undefined ? globalFlags : takenFlags(command);
  const { bare, given } = sortWords(earlier, command, known);
  const last = given.at(-1);
  const open = known.find(({ name, value }) => name === last?.name && value !== undefined);
  const namesOf = (names: NameKind, before: string, words: readonly Candidate[] = []): Expected => {
    return { kind: 'names', names, profile: profileOf(names, command, given), before, words };
  };
  const valuesOf = (flag: Flag, before: string): Expected => {
    const { oneOf, name } = flag;
    if (oneOf !== undefined)
      return { kind: 'words', words: oneOf.map((value) => ({ word: `${before}${value}`, help: '' })) };
    const names = flag.names ?? nameKinds.find((kind) => kind === name);
    return names === undefined ? nothing : namesOf(names, before);
  };
  if (open !== undefined && last?.value === undefined) return valuesOf(open, '');
  const inline = /^--([a-z-]+)=/.exec(current);
  if (inline !== null && after < 0) {
    const flag = known.find(({ name }) => name === inline[1]);
    return flag === undefined ? nothing : valuesOf(flag, inline[0]);
  }
  const flags = after < 0 && current.startsWith('-') ? flagsOf(known, earlier) : [];
  if (flags.length > 0) return { kind: 'words', words: flags };
  const further = after < 0 ? nextWords(bare) : [];
  const names = command === undefined ? undefined : argumentNames(command, bare.length - command.path.length);
  if (names === undefined) return { kind: 'words', words: further };
  if (names === 'command') return { kind: 'words', words: nextWords(bare.slice(command?.path.length ?? 0)) };
  return namesOf(names, '', further);
}

const nothing: Expected = { kind: 'words', words: [] };

/** The next words of commands that begin with these words, each with the help of its command or group. */
function nextWords(bare: readonly string[]): readonly Candidate[] {
  const found = new Map<string, string>();
  for (const { path, help } of groupOf(bare)) {
    const word = path[bare.length];
    if (word === undefined) continue;
    const members = groupOf([...bare, word]).map((one) => one.path.at(-1));
    const description = path.length === bare.length + 1 ? help : members.join(', ');
    if (!found.has(word)) found.set(word, description);
  }
  return [...found].map(([word, help]) => ({ word, help }));
}

/** The flags that are not given yet or may be repeated. */
function flagsOf(known: readonly Flag[], earlier: readonly string[]): readonly Candidate[] {
  const given = new Set(earlier.map((word) => word.split('=')[0]));
  return known
    .filter(({ name, many }) => many === true || !given.has(`--${name}`))
    .map(({ name, help }) => ({ word: `--${name}`, help }));
}

/** Kinds of names that a command without a profile looks for in the default one; a route is found in any. */
const ofOneProfile: ReadonlySet<NameKind> = new Set(['job', 'login-server', 'server', 'subscription', 'tool']);

/** The profile that the command will look in; a list is of all profiles unless one is given. */
function profileOf(
  kind: NameKind,
  command: CliCommand | undefined,
  given: ReturnType<typeof sortWords>['given'],
): string | undefined {
  const named = given.findLast(({ name }) => name === 'profile' || name === 'route-profile')?.value;
  const flag = command?.flags.find(({ name }) => name === 'profile');
  const isChosen = flag !== undefined && flag !== ofProfile;
  return named ?? (isChosen && ofOneProfile.has(kind) ? defaultProfile : undefined);
}

/** A repeatable last argument covers all that follow. */
function argumentNames({ args, names }: CliCommand, at: number): NameKind | undefined {
  const last = args.length - 1;
  return names[args[last]?.endsWith('…]') === true ? Math.min(at, last) : at];
}
