/**
 * The form of a row in the catalogue, and the flags that commands of several groups have.
 * @see CLI-1 and CLI-2 in docs/specification.md
 */

import type { CommandContext, ExitCode } from '../context.ts';
import type { FileName, VariableName } from '../manual.ts';

/** The kinds of names that completion can look up. */
export const nameKinds = [
  'actor',
  'approval',
  'command',
  'delivery',
  'folder',
  'job',
  'login-server',
  'profile',
  'route',
  'run',
  'sample',
  'sending',
  'server',
  'shell',
  'source',
  'subscription',
  'target',
  'tool',
] as const;

export type NameKind = (typeof nameKinds)[number];

export interface Flag {
  readonly name: string;
  /** The name of its value in help; absent: a switch. */
  readonly value?: string;
  /** May be repeated; `listFlag` splits its values again. */
  readonly many?: true;
  readonly help: string;
  /**
   * The format of its value: a count from 1, a whole number from 0, a port, a profile, a start time, the key of a row, a
   * target, or non-empty text.
   */
  readonly form?: 'count' | 'whole' | 'port' | 'profile' | 'since' | 'key' | 'target' | 'text';
  /** The only values allowed. */
  readonly oneOf?: readonly string[];
  /** The kind of names that completes its value, if its own name does not say so. */
  readonly names?: NameKind;
}

/** A command: how it is called, its page of the manual, and its code. */
export interface Row {
  readonly help: string;
  readonly flags?: readonly Flag[];
  /** Paragraphs of its page in the manual. */
  readonly about?: readonly string[];
  /** Words after `agent`, and their effect. */
  readonly examples?: readonly (readonly [words: string, what: string])[];
  /** Calls the running gateway; exits with 3 if there is none. */
  readonly needsGateway?: true;
  /** Works on the files and programs of this machine, so that --node is refused. */
  readonly staysHere?: true;
  /** Exit codes with a meaning specific to the command. */
  readonly exits?: Readonly<Partial<Record<ExitCode, string>>>;
  readonly files?: readonly FileName[];
  /** Variables beyond those that every command reads. */
  readonly env?: readonly VariableName[];
  /** Other commands, or pages of docs/. */
  readonly see?: readonly string[];
  /** For other programs; not listed in any help. */
  readonly hidden?: true;
  /** Loaded when the command runs, so that other commands do not pay for it. */
  readonly load: () => Promise<(context: CommandContext) => Promise<ExitCode>>;
}

/** By words and arguments. An argument that its own name does not complete has the kind of names after a colon. */
export type Rows = Readonly<Record<string, Row>>;

/** The same command under other words. */
export function sameAs(words: string, row: Row, examples: NonNullable<Row['examples']>): Row {
  return { ...row, about: [`The same as \`agent ${words}\`.`], examples };
}

export const configFiles: readonly FileName[] = ['config.yaml', '.env'];

export const json: Flag = { name: 'json', help: 'Print JSON.' };
export const profile: Flag = {
  name: 'profile',
  value: 'name',
  help: 'The profile; the default one unless given.',
  form: 'profile',
};

export const limit: Flag = { name: 'limit', value: 'n', help: 'Rows at most (50).', form: 'count' };
export const since: Flag = {
  name: 'since',
  value: 'time',
  help: 'Only what came since then: 2h, 3d or an ISO 8601 time.',
  form: 'since',
};

/** For actions on all of several. */
export const failedSince: Flag = { ...since, help: 'Only what failed since then: 2h, 3d or an ISO 8601 time.' };

const follow: Flag = { name: 'follow', help: 'Print each row as it comes or changes, until Ctrl-C.' };
const before: Flag = {
  name: 'before',
  value: 'key',
  help: 'Only rows before this key: the next page.',
  form: 'key',
};
export const route: Flag = { name: 'route', value: 'name', help: 'Only of this route.' };
export const ofProfile: Flag = { name: 'profile', value: 'name', help: 'Only of this profile.', form: 'profile' };
export const status = (oneOf: readonly string[]): Flag => ({
  name: 'status',
  value: 'status',
  help: 'Only with this status.',
  oneOf,
});

export const choices: readonly Flag[] = [limit, before, since, follow, route, ofProfile];
export const lines: Flag = { name: 'limit', value: 'n', help: 'Lines at most (100), the newest.', form: 'count' };
export const deliveryFlags: readonly Flag[] = [
  { name: 'deliver', value: 'target', help: 'Delivery target (log).', names: 'target' },
  { name: 'deliver-chat-id', value: 'id', help: 'Where at the target.' },
  {
    name: 'deliver-extra',
    value: 'key=value',
    many: true,
    help: 'Another key of deliver_extra, such as repo={repository.full_name}; may be repeated.',
    form: 'text',
  },
  { name: 'on-failure', value: 'target', help: 'Target that is notified of a failed run.', names: 'target' },
  { name: 'on-failure-chat-id', value: 'id', help: 'Where at that target.' },
];
