/**
 * What a command receives: its arguments, the gateway, the home and the output; and its flags as parameters of a method.
 * @see CLI-2 and DUR-2 in docs/specification.md
 */

import type { JsonObject } from '../machines/base/json.ts';
import { defaultProfile, type ProfileName, profileName } from '../machines/base/names.ts';
import { shellWord } from '../machines/base/shell-word.ts';
import { sinceMs } from '../machines/base/since.ts';
import type { ById, EventChoice, HistoryQuery } from '../runtime/control/contract/choices.ts';
import type { RouteChoice } from '../runtime/control/contract/routes.ts';
import type { ServerChoice } from '../runtime/control/contract/servers.ts';
import type { Ask } from '../runtime/control/contract.ts';

/** 130 is 128 plus the number of SIGINT, as in shells. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 130;

/** The address of a command's gateway. */
export interface GatewayPlace {
  readonly socket: string;
  /** Undefined in a run, whose program has only a socket (SEC-4). */
  readonly home: string | undefined;
  /** Whether --home names it, so that a command to run next has to name it too. */
  readonly isNamed?: boolean;
  /** Another gateway of the same database, reached through this one; absent: this gateway. */
  readonly node?: string;
}

export interface CommandContext {
  readonly args: readonly string[];
  readonly flags: Readonly<Record<string, string | true>>;
  readonly gateway: GatewayPlace;
  /** Throws HomeRefused in a run. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: Output;
  /** Calls the daemon, or runs a command of the home in this process if no daemon runs. */
  readonly ask: Ask;
}

export interface Output {
  readonly isTerminal: boolean;
  readonly coloured: boolean;
  readonly columns: number;
  print(text: string): void;
  /** Writes to standard error. */
  complain(text: string): void;
}

/** How a command to run next begins; without the home it would work on ~/.agent. */
export function agentOf({ home = '', isNamed = false }: GatewayPlace): string {
  return isNamed ? `agent --home ${shellWord(home)}` : 'agent';
}

/** A message that names the home in each command to run next, if --home names it. */
export function withHomeNamed(gateway: GatewayPlace, text: string): string {
  return text.replace(/(?<=^|`|[;,:] |\b(?:or|then) )agent (?=[a-z])/gm, () => `${agentOf(gateway)} `);
}

export function textFlag(context: CommandContext, name: string): string | undefined {
  const value = context.flags[name];
  return typeof value === 'string' ? value : undefined;
}

export function hasFlag(context: CommandContext, name: string): boolean {
  return context.flags[name] !== undefined;
}

/** Between the values of a repeatable flag: the only character that no word of a command line can have. */
export const betweenValues = '\0';

export function listFlag(context: CommandContext, name: string): readonly string[] {
  return textFlag(context, name)?.split(betweenValues) ?? [];
}

export function textFlags(context: CommandContext, ...names: readonly string[]): JsonObject {
  const given = names.map((name) => [name, textFlag(context, name)] as const);
  return Object.fromEntries(given.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])));
}

/** The usage error of a chat, or another key of a target, without its target; undefined if there is none. */
export function strayChat(context: CommandContext): string | undefined {
  const places = ['deliver-chat-id', 'deliver-extra', 'on-failure-chat-id'] as const;
  const flag = places.find((name) => hasFlag(context, name) && !hasFlag(context, targetOf(name)));
  if (flag !== undefined) return `--${flag} needs --${targetOf(flag)}, which names its target`;
  const isOdd = listFlag(context, 'deliver-extra').some((text) => !extraForm.test(text));
  return isOdd ? `--deliver-extra must be key=value, such as 'repo={repository.full_name}'` : undefined;
}

const extraForm = /^(\w+)=(.+)$/s;

function targetOf(flag: string): string {
  return flag.replace(/-(?:chat-id|extra)$/, '');
}

/** Where the results go, as a subscription and a job write it. */
export function deliveryOf(context: CommandContext): JsonObject {
  return Object.fromEntries(
    ['deliver', 'on-failure'].flatMap((flag) => {
      const name = flag.replace('-', '_');
      const [target, chat] = [textFlag(context, flag), textFlag(context, `${flag}-chat-id`)];
      const keys = listFlag(context, `${flag}-extra`).map((text) => extraForm.exec(text)?.slice(1) ?? []);
      const extra = Object.fromEntries(chat === undefined ? keys : [['chat_id', chat], ...keys]);
      return [
        ...(target === undefined ? [] : [[name, target]]),
        ...(Object.keys(extra).length === 0 ? [] : [[`${name}_extra`, extra]]),
      ];
    }),
  );
}

/** What changes of a record: the given keys, and null for those of --unset and for the chat of another target. */
export function changesOf(context: CommandContext, record: JsonObject): JsonObject | string {
  const unset = Object.fromEntries(listFlag(context, 'unset').map((key) => [key, null]));
  const both = Object.keys(unset).find((key) => (record[key] ?? null) !== null);
  if (both !== undefined) return `--unset ${both} contradicts a flag that sets it; give one of the two`;
  const stale = ['deliver', 'on_failure'].filter((key) => key in record || key in unset);
  return { ...Object.fromEntries(stale.map((key) => [`${key}_extra`, null])), ...record, ...unset };
}

/** Says why the command is not carried out; returns the exit code. */
export function refuse<Code extends ExitCode>({ out }: CommandContext, why: string, code: Code): Code {
  out.complain(`agent: ${why}\n`);
  return code;
}

/** The selected profile; its format was checked by the parser. */
export function profileFlag(context: CommandContext): ProfileName {
  return profileName(textFlag(context, 'profile') ?? defaultProfile) ?? defaultProfile;
}

/** The flags that filter a list. */
export function queryOf(context: CommandContext): Partial<HistoryQuery> {
  const limit = textFlag(context, 'limit');
  const since = textFlag(context, 'since');
  const fromMs = since === undefined ? undefined : sinceMs(since, Date.now());
  return {
    ...(limit === undefined ? {} : { limit: Number(limit) }),
    ...(fromMs === undefined ? {} : { since: new Date(fromMs).toISOString() }),
    ...textFlags(context, 'before', 'route', 'profile', 'status'),
  };
}

/** The event that a command selects: an id or key, with filters if an id reached several routes. */
export function askedEvent(context: CommandContext): EventChoice & ById {
  return { id: context.args[0] ?? '', ...textFlags(context, 'route', 'profile') };
}

export function routeChoice(context: CommandContext): RouteChoice {
  return { name: context.args[0] ?? '', ...textFlags(context, 'profile') };
}

export function serverChoice(context: CommandContext): ServerChoice {
  return { server: context.args[0] ?? '', ...textFlags(context, 'profile') };
}
