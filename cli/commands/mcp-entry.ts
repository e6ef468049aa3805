/**
 * `agent mcp add`, `edit`, `disable`, `enable` and `remove`: change the servers of config.yaml, comments kept.
 * @see CLI-5 and HOME-4 in docs/specification.md
 */

import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { profileOption } from '../../machines/base/names.ts';
import { shellWord } from '../../machines/base/shell-word.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import type { ChangedServer } from '../../runtime/control/contract/servers.ts';
import type { Result } from '../../runtime/control/contract.ts';
import {
  type CommandContext,
  type ExitCode,
  hasFlag,
  listFlag,
  profileFlag,
  refuse,
  serverChoice,
  textFlag,
  textFlags,
  withHomeNamed,
} from '../context.ts';
import { oneLine, printJson } from '../terminal.ts';
import { printReport, readObject, sayConnecting } from './mcp.ts';

/** Connects first and shows the result; writes the entry only if the server was reached, or with --no-test. */
export async function addServer(context: CommandContext): Promise<ExitCode> {
  const [name = '', ...command] = context.args;
  const given = entryOf(context, command);
  if (typeof given === 'string') return refuse(context, given, 2);
  if (given.command === undefined && given.url === undefined && textFlag(context, 'entry') === undefined)
    return refuse(
      context,
      'name what to connect to: a command after `--`, such as `-- npx -y @acme/server`, or --url',
      2,
    );
  /** The login that the person has to do before the server connects. */
  let login: string | undefined;
  let asked = { ...serverChoice(context), entry: given };
  const force = hasFlag(context, 'force');
  const { home: folder } = profilePaths(context.home, profileFlag(context));
  const isNew = !existsSync(folder);
  try {
    await context.ask('mcp.add', { ...asked, force, dry: true });
  } catch (thrown) {
    if ((thrown as { readonly code?: unknown }).code !== 'server-exists') throw thrown;
    return refuse(context, `an mcp server is named "${oneLine(name)}" already; --force replaces it`, 1);
  }
  let report: Result<'mcp.test'> | undefined;
  if (!hasFlag(context, 'no-test')) {
    sayConnecting(context);
    report = await context.ask('mcp.test', asked);
    // An entry with credentials of its own, or with a decision about them, is kept as it is.
    if (!report.ok && report.names_oauth && given.auth === undefined && given.headers === undefined) {
      asked = { ...asked, entry: { ...given, auth: 'oauth' } };
      report = await context.ask('mcp.test', asked);
    }
    // A server that requires a login was reached, and a login needs the entry in the configuration.
    if (report.needs_login === true) login = report.error;
    else if (!report.ok) {
      printReport(context, name, report);
      // It was made for the test; that of a mistyped profile would be served as one.
      if (isNew && existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
      context.out.complain('Nothing was written; --no-test writes the entry all the same.\n');
      return 1;
    }
  }
  const changed = await context.ask('mcp.add', { ...asked, force });
  if (hasFlag(context, 'json')) {
    printJson(context, {
      added: name,
      ...(login === undefined ? {} : { needs_login: true }),
      ...(changed.not_in_force === undefined ? {} : { not_in_force: changed.not_in_force }),
    });
    return changed.not_in_force === undefined ? 0 : 1;
  }
  // Not before the entry is written, because a reader such as `head` ends the command with what it has not read.
  if (report?.ok) printReport(context, name, report);
  const next = login === undefined ? ' A running gateway connects it by itself.' : `\n${oneLine(login)}`;
  context.out.print(`Added ${oneLine(name)}.${next}\n`);
  return printChange(context, changed);
}

/** Changes only the named keys. */
export async function editServer(context: CommandContext): Promise<ExitCode> {
  const [name = '', ...command] = context.args;
  const entry = entryOf(context, command);
  if (typeof entry === 'string') return refuse(context, entry, 2);
  const changes: Record<string, Json> = { ...entry };
  // A server that changes its transport loses the keys of the old one.
  const others = entry.url !== undefined ? ofCommands : entry.command !== undefined ? ofUrls : [];
  for (const key of others) changes[key] ??= null;
  if (entry.command !== undefined) changes.args ??= null;
  for (const path of listFlag(context, 'unset').filter(Boolean)) unset(changes, path.split('.'));
  if (Object.keys(changes).length === 0) {
    return refuse(
      context,
      'name what is to change: a command after `--`, --url, --env, --header, --entry or --unset',
      2,
    );
  }
  const asked = { ...serverChoice(context), changes };
  const changed = await context.ask('mcp.edit', asked);
  if (hasFlag(context, 'json')) {
    const { unchanged, not_in_force } = changed;
    printJson(context, {
      edited: name,
      ...(unchanged ? { unchanged } : {}),
      ...(not_in_force === undefined ? {} : { not_in_force }),
    });
    return not_in_force === undefined ? 0 : 1;
  }
  context.out.print(
    changed.unchanged
      ? `Nothing changed: the entry of ${oneLine(name)} in config.yaml says so already.\n`
      : `Changed ${oneLine(name)}. A running gateway reconnects it by itself.\n`,
  );
  return printChange(context, changed);
}

export const disableServer = changing('mcp.disable', (server, { profile }) => {
  const undo = `agent mcp enable ${shellWord(server)}${profileOption(profile)}`;
  return `Disabled ${server}: no connection, no tools. \`${undo}\` undoes it.`;
});

export const enableServer = changing(
  'mcp.enable',
  (server) => `Enabled ${server}. A running gateway connects it by itself.`,
);

export const removeServer = changing('mcp.remove', (server, { profile, login_left: isLeft }) => {
  const logout = `agent mcp logout ${shellWord(server)}${profileOption(profile)}`;
  const left = isLeft === true ? ` Its login is left; \`${logout}\` deletes it.` : '';
  return `Removed ${server}. A running gateway ends it by itself.${left}`;
});

function changing(
  method: 'mcp.disable' | 'mcp.enable' | 'mcp.remove',
  words: (server: string, changed: ChangedServer & { readonly login_left?: true }) => string,
) {
  return async (context: CommandContext): Promise<ExitCode> => {
    const asked = serverChoice(context);
    const changed = await context.ask(method, asked);
    context.out.print(`${withHomeNamed(context.gateway, words(oneLine(asked.server), changed))}\n`);
    return printChange(context, changed);
  };
}

const ofCommands = ['command', 'args', 'env', 'cwd'];
const ofUrls = ['url', 'headers', 'transport', 'auth', 'oauth', 'ssl_verify'];

function unset(changes: Record<string, Json>, [key = '', ...rest]: readonly string[]): void {
  if (rest.length === 0) {
    changes[key] = null;
    return;
  }
  const held = changes[key];
  const inner: Record<string, Json> = isJsonObject(held) ? { ...held } : {};
  unset(inner, rest);
  changes[key] = inner;
}

/** Reports what was written to `.env`, what is no longer needed there, and why the change is not in force. */
function printChange(context: CommandContext, { variables, unused, not_in_force: why }: ChangedServer): ExitCode {
  const { out } = context;
  if (variables.length > 0) out.print(`Written into .env: ${variables.map(oneLine).join(', ')}.\n`);
  if (unused.length > 0) out.print(`Left in .env, where nothing refers to it: ${unused.map(oneLine).join(', ')}.\n`);
  return why === undefined ? 0 : refuse(context, `the change is written and not in force: ${oneLine(why)}`, 1);
}

/** Keys that only the entries and blocks of other programs have. */
const ofOthers = ['mcpServers', 'servers', 'type', 'disabled', 'alwaysAllow', 'envFile'];
const foreignWords =
  'that is in the form of other programs: write it as {"mcpServers": {"<name>": {…}}} into a file, and `agent mcp import --file <file>` adds it';

/** The entry from the arguments and flags; a string is the usage error. */
function entryOf(context: CommandContext, command: readonly string[]): JsonObject | string {
  const url = textFlag(context, 'url');
  const text = textFlag(context, 'entry');
  const extra = text === undefined ? {} : readObject(text);
  if (extra === undefined) return '--entry must be a JSON object of further keys';
  if (command[0]?.startsWith('{') || ofOthers.some((key) => extra[key] !== undefined)) return foreignWords;
  if (url !== undefined && command.length > 0) return 'give a command or --url, not both';
  const env = pairs(listFlag(context, 'env'), '=');
  const headers = pairs(listFlag(context, 'header'), ':');
  if (env === undefined) return '--env takes NAME=VALUE';
  if (headers === undefined) return '--header takes "Name: value"';
  const [program, ...args] = command;
  return {
    ...(program === undefined ? {} : { command: program }),
    ...(args.length === 0 ? {} : { args }),
    ...textFlags(context, 'url', 'transport'),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(hasFlag(context, 'lazy') ? { lazy: true } : {}),
    ...(hasFlag(context, 'untrusted') ? { trust: 'untrusted' } : {}),
    ...extra,
  };
}

/** The `name<separator>value` pairs of a repeated flag; undefined if one is not a pair. */
function pairs(given: readonly string[], separator: string): Record<string, string> | undefined {
  const found: Record<string, string> = {};
  for (const one of given) {
    const at = one.indexOf(separator);
    if (at < 1) return undefined;
    found[one.slice(0, at).trim()] = one.slice(at + 1).trim();
  }
  return found;
}
