/** `agent mcp add` and `remove`: change the servers of config.yaml, comments kept. @see CLI-5 and HOME-4 */

import { addServerEntry, type EntryPlace, removeServerEntry } from '../../actors/config/server-entries.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { ExitCode } from '../context.ts';
import { type CommandContext, hasFlag, profileFlag, textFlag } from '../context.ts';
import { oneLine, printJson } from '../terminal.ts';
import { parseObject, printReport, profileOf } from './mcp.ts';

/** Connects first and shows what it found; writes only what could be reached, unless told otherwise. */
export async function addServer(context: CommandContext): Promise<ExitCode> {
  const [name = '', ...command] = context.args;
  const entry = entryOf(context, command);
  if (typeof entry === 'string') {
    context.out.complain(`agent: ${entry}\n`);
    return 2;
  }
  /** What a person has to do before it connects. */
  let login: string | undefined;
  const asked = { ...profileOf(context), server: name, entry };
  if (hasFlag(context, 'no-test')) await context.ask('mcp.test', { ...asked, connect: false });
  else {
    const report = await context.ask('mcp.test', asked);
    // A server that wants a login was reached, and nobody can log in to what is not configured.
    if (report.needs_login === true) login = report.error;
    else if (!hasFlag(context, 'json') || !report.ok) printReport(context, name, report);
    if (!report.ok && report.needs_login !== true) {
      context.out.complain('Nothing was written; --no-test writes the entry all the same.\n');
      return 1;
    }
  }
  const change = await addServerEntry(placeOf(context, name), entry, hasFlag(context, 'force'));
  if (change.kind !== 'changed') {
    const why =
      change.kind === 'unwritable' ? change.why : `an mcp server is named "${name}" already; --force replaces it`;
    context.out.complain(`agent: ${why}\n`);
    return 1;
  }
  if (hasFlag(context, 'json'))
    printJson(context, { added: name, ...(login === undefined ? {} : { needs_login: true }) });
  else if (login === undefined) context.out.print(`Added ${oneLine(name)}. A running gateway connects it by itself.\n`);
  else context.out.print(`Added ${oneLine(name)}.\n${oneLine(login)}\n`);
  return 0;
}

export async function removeServer(context: CommandContext): Promise<ExitCode> {
  const [name = ''] = context.args;
  const change = await removeServerEntry(placeOf(context, name));
  if (change.kind !== 'changed') {
    const why =
      change.kind === 'unwritable'
        ? change.why
        : `no mcp server is named "${oneLine(name)}"; \`agent mcp list\` lists them [server-unknown]`;
    context.out.complain(`agent: ${why}\n`);
    return 1;
  }
  context.out.print(`Removed ${oneLine(name)}. A running gateway ends it by itself.\n`);
  return 0;
}

/** The entry that the words ask for, or what is wrong with them. */
function entryOf(context: CommandContext, command: readonly string[]): JsonObject | string {
  const url = textFlag(context, 'url');
  const text = textFlag(context, 'entry');
  const extra = text === undefined ? {} : parseObject(text);
  if (extra === undefined) return '--entry must be a JSON object of further keys';
  if (url !== undefined && command.length > 0) return 'give a command or --url, not both';
  const env = pairs(textFlag(context, 'env'), '=');
  const headers = pairs(textFlag(context, 'header'), ':');
  if (env === undefined) return '--env takes NAME=VALUE';
  if (headers === undefined) return '--header takes "Name: value"';
  const [program, ...args] = command;
  return {
    ...(program === undefined ? {} : { command: program }),
    ...(args.length === 0 ? {} : { args }),
    ...(url === undefined ? {} : { url }),
    ...(textFlag(context, 'transport') === undefined ? {} : { transport: textFlag(context, 'transport') as Json }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(hasFlag(context, 'lazy') ? { lazy: true } : {}),
    ...(hasFlag(context, 'untrusted') ? { trust: 'untrusted' } : {}),
    ...extra,
  };
}

/** Pairs of a flag that may be given several times, one a line; undefined where one is none. */
function pairs(text: string | undefined, separator: string): Record<string, string> | undefined {
  const found: Record<string, string> = {};
  for (const line of text === undefined ? [] : text.split('\n')) {
    const at = line.indexOf(separator);
    if (at < 1) return undefined;
    found[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return found;
}

function placeOf(context: CommandContext, name: string): EntryPlace {
  return { home: context.home, profile: profileFlag(context), name };
}
