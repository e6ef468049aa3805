/** `agent mcp …`: the servers, their tools, calls, tests and logs. @see CLI-5 and CON-4 in docs/specification.md */

import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import { stateWords } from '../../machines/base/status.ts';
import { printDiagnostic } from '../../machines/config/diagnostic.ts';
import type { ProbeReport, ServerRow, ToolRow } from '../../runtime/control/contract/servers.ts';
import type { Result } from '../../runtime/control/contract.ts';
import { callTool as askTool, connectGateway } from '../call.ts';
import {
  type CommandContext,
  type ExitCode,
  hasFlag,
  refuse,
  serverChoice,
  textFlag,
  textFlags,
  withHomeNamed,
} from '../context.ts';
import { counted, duration, labelled, moment, titled, titledText } from '../labelled.ts';
import { sayStopped } from '../listing.ts';
import { ago, bold, dim, inTime, oneLine, plain, printJson, show, table, wrapped } from '../terminal.ts';
import { cutTo } from '../text-width.ts';
import { reloadGateway } from './gateway.ts';

const defaultLines = 100;

export async function listServers(context: CommandContext): Promise<ExitCode> {
  const rows = await context.ask('mcp.list');
  return show(context, rows, () => formatServers(context, rows));
}

function formatServers({ out, gateway }: CommandContext, rows: readonly ServerRow[]): string {
  const none = 'No MCP servers. Add one: agent mcp add <name> -- <command>, or agent mcp import\n';
  if (rows.length === 0) return withHomeNamed(gateway, none);
  const nowMs = Date.now();
  // A table would cut a reason, and the remedy is at its end.
  const below = out.isTerminal;
  const isTimed = rows.some(({ median_ms: ms }) => ms !== undefined);
  const isMixed = rows.some(({ profile }) => profile !== 'default');
  const servers = table(
    out,
    [
      'SERVER',
      ...(isMixed ? ['PROFILE'] : []),
      'STATE',
      'SINCE',
      'VIA',
      'PROTOCOL',
      'TOOLS',
      // Of the calls of the last hour.
      ...(isTimed ? ['MEDIAN'] : []),
      ...(below ? [] : ['WHY']),
    ],
    rows.map((row) => [
      row.name,
      ...(isMixed ? [row.profile] : []),
      stateWords(row.state),
      ago(row.since, nowMs),
      row.transport,
      row.era ?? '',
      String(row.tools),
      ...(isTimed ? [row.median_ms === undefined ? '' : duration(row.median_ms)] : []),
      ...(below ? [] : [remarksOn(row).join('; ')]),
    ]),
  );
  const remarks = rows.flatMap((row) => remarksOn(row).map((words) => `${shownName(row)}: ${oneLine(words)}`));
  if (!below || remarks.length === 0) return servers;
  return `${servers}\n${remarks.map((words) => `${wrapped(words, out.columns, '  ').join('\n')}\n`).join('')}`;
}

/** The entry, with the state while a gateway runs. */
export async function showServer(context: CommandContext): Promise<ExitCode> {
  const detail = await context.ask('mcp.show', serverChoice(context));
  const rows = await context.ask('mcp.list').catch(() => []);
  const row = rows.find(({ name, profile }) => name === detail.name && profile === detail.profile);
  return show(context, { ...row, ...detail }, () => {
    const { out } = context;
    const state = stateWords(row?.state ?? (detail.enabled ? 'not running' : 'disabled'));
    const head = labelled(out, [
      ['Profile', detail.profile === 'default' ? undefined : detail.profile],
      ['Since', row && moment(row.since, Date.now())],
      ['Why', row && remarksOn(row).map(oneLine).join('\n')],
      ['Tools', row && String(row.tools)],
      ['From', `${detail.file}:${detail.line}`],
      ['Folder', detail.cwd],
      ['Problem', detail.findings.map((finding) => printDiagnostic(finding)).join('\n')],
      ['Risks', detail.lowers.join('\n')],
    ]);
    return titled(out, detail.name, state) + head + titledText(out, 'Entry', JSON.stringify(detail.entry, null, 2));
  });
}

function shownName({ name, profile }: ServerRow): string {
  return oneLine(profile === 'default' ? name : `${name} of profile ${profile}`);
}

/**
 * The unset variables, which often explain the rest, why the server takes no calls and when it is tried again, and which
 * tools are left out.
 */
function remarksOn(row: ServerRow): readonly string[] {
  const next = row.next_at === undefined ? '' : `next attempt ${inTime(row.next_at, Date.now())}`;
  const why = [withoutPlace(row), next].filter((part) => part !== '').join('; ');
  return [...(row.unset ?? []), ...(why === '' ? [] : [why]), ...(row.left_out ?? [])];
}

/** The reason without the server's name, which begins the row. */
function withoutPlace({ name, error = '' }: ServerRow): string {
  const place = `mcp server "${name}": `;
  return error.startsWith(place) ? error.slice(place.length) : error;
}

export async function listTools(context: CommandContext): Promise<ExitCode> {
  const server = context.args[0];
  const params = { ...textFlags(context, 'profile'), ...(server === undefined ? {} : { server }) };
  const isJson = hasFlag(context, 'json');
  // Listed first: a server that connects meanwhile is then in the table. A run may not list servers.
  const servers = isJson || context.gateway.home === undefined ? [] : await context.ask('mcp.list');
  const rows = await context.ask('mcp.tools', params);
  if (isJson) {
    printJson(context, rows);
    return 0;
  }
  // On a terminal, a column with the same value in every row is left out.
  const columns = [
    { head: 'TOOL', cell: (row: ToolRow) => row.name },
    { head: 'SERVER', cell: (row: ToolRow) => row.server, isIdle: server !== undefined },
    {
      head: '',
      cell: (row: ToolRow) => (row.available ? '' : 'unavailable'),
      isIdle: rows.every(({ available }) => available),
    },
    { head: 'DESCRIPTION', cell: (row: ToolRow) => row.description },
  ].filter(({ isIdle = false }) => !(isIdle && context.out.isTerminal));
  const shown = table(
    context.out,
    columns.map(({ head }) => head),
    rows.map((row) => columns.map(({ cell }) => cell(row))),
  );
  // A run may not list the servers.
  const next = context.gateway.home === undefined ? '' : ' `agent mcp list` shows the state of each server.';
  context.out.print(rows.length > 0 ? shown : withHomeNamed(context.gateway, `No tools.${next}\n`));
  const profile = textFlag(context, 'profile') ?? 'default';
  const connecting = servers.filter(
    (row) =>
      row.state === 'connecting' && row.tools === 0 && row.profile === profile && row.name === (server ?? row.name),
  );
  for (const { name } of connecting)
    context.out.complain(`${oneLine(name)} is still connecting; its tools are listed once it is connected.\n`);
  return 0;
}

/** Calls a tool. Ctrl-C cancels the call, also at the server. */
export async function callTool(context: CommandContext): Promise<ExitCode> {
  const [name = '', text = '{}'] = context.args;
  const given = readObject(text);
  if (given === undefined) {
    const names = /^\s*\{/.test(text) ? '' : '; the tool is one word with its server, as `agent mcp tools` lists it';
    return refuse(context, `the arguments must be a JSON object, such as '{"path": "."}'${names}`, 2);
  }
  const client = await connectGateway(context.gateway, true);
  let cancelled = false;
  const cancel = (): void => {
    cancelled = true;
    client.close();
  };
  process.once('SIGINT', cancel);
  let asked: Json | undefined;
  client.onNotification((method, progress) => {
    if (method === 'mcp.waiting' && progress.question !== asked) {
      asked = progress.question;
      context.out.complain(`${oneLine(String(progress.message))}\n`);
    }
    if (method !== 'mcp.progress' || !context.out.isTerminal) return;
    const total = typeof progress.total === 'number' ? ` of ${progress.total}` : '';
    context.out.complain(`${progress.progress}${total} ${oneLine(String(progress.message ?? ''))}\n`);
  });
  try {
    const params = { ...textFlags(context, 'profile'), ...runOf(context.env), name, arguments: given };
    const answer = await askTool(client, params);
    if (!cancelled) return printAnswer(context, answer);
    context.out.complain('Cancelled.\n');
    return 130;
  } finally {
    process.off('SIGINT', cancel);
    client.close();
  }
}

/** A first start may take a minute, such as that of `npx`, which downloads the package. */
export function sayConnecting({ args: [server = ''], out, flags }: CommandContext): void {
  if (out.isTerminal && flags.json === undefined) out.complain(`Connecting to ${oneLine(server)} …\n`);
}

/** Connects once, separately from the daemon's connections, and reports the result. */
export async function testServer(context: CommandContext): Promise<ExitCode> {
  const [server = ''] = context.args;
  sayConnecting(context);
  const report = await context.ask('mcp.test', serverChoice(context));
  if (hasFlag(context, 'json')) printJson(context, report);
  else printReport(context, server, report);
  return report.ok ? 0 : report.needs_login === true ? 4 : 1;
}

export async function showServerLog(context: CommandContext): Promise<ExitCode> {
  if (hasFlag(context, 'limit') && hasFlag(context, 'lines'))
    return refuse(context, '--limit and --lines are the same; give one of them', 2);
  const limit = Number(textFlag(context, 'limit') ?? textFlag(context, 'lines') ?? defaultLines);
  // One more than is shown, to see whether there are more.
  const found = await context.ask('mcp.logs', { ...serverChoice(context), lines: limit + 1 });
  const lines = found.slice(-limit);
  if (hasFlag(context, 'json')) printJson(context, lines);
  else for (const line of lines) context.out.print(`${oneLine(line)}\n`);
  if (found.length > limit)
    sayStopped(context, `The newest ${counted(limit, 'line')}. --limit ${limit * 2} shows more.`);
  return 0;
}

/** Reloads the configuration; with a server's name, reconnects that server. */
export async function reloadServers(context: CommandContext): Promise<ExitCode> {
  const [server] = context.args;
  if (server === undefined && hasFlag(context, 'profile'))
    return refuse(context, '--profile is for one server; name it, or leave --profile out to reload everything', 2);
  if (server === undefined) return reloadGateway(context);
  await context.ask('mcp.reconnect', serverChoice(context));
  context.out.print(
    withHomeNamed(context.gateway, `${oneLine(server)} is being reconnected; see \`agent mcp list\`.\n`),
  );
  return 0;
}

export function printReport(context: CommandContext, server: string, report: ProbeReport): void {
  const { out } = context;
  if (!report.ok) {
    out.complain(`agent: ${oneLine(report.error)}\n`);
    return;
  }
  const tools = report.tools ?? [];
  const left = report.filtered === 0 ? '' : `, ${report.filtered} left out by the filter`;
  out.print(
    `${bold(out, oneLine(server))}  connected in ${report.milliseconds} ms, ${report.era} era, ${tools.length} tools${left}\n`,
  );
  const widest = Math.max(0, ...tools.map(({ name }) => name.length));
  const room = out.isTerminal ? Math.max(1, out.columns - widest - 4) : Number.POSITIVE_INFINITY;
  for (const words of report.left_out ?? []) out.print(`  ${oneLine(words)}\n`);
  for (const { name, description } of tools) {
    out.print(`  ${oneLine(name).padEnd(widest)}  ${dim(out, cutTo(oneLine(description), room))}\n`);
  }
}

function printAnswer(context: CommandContext, answer: Result<'mcp.call'>): ExitCode {
  if (hasFlag(context, 'json')) {
    printJson(context, answer);
    return 'error' in answer || answer.isError ? 1 : 0;
  }
  if ('error' in answer) return refuse(context, `${oneLine(answer.error.message)} [${answer.error.code}]`, 1);
  const { content, structuredContent: structure, isError } = answer;
  for (const block of content) context.out.print(`${plain(formatBlock(block))}\n`);
  const isBare = content.length === 0;
  if (isBare && structure !== undefined) context.out.print(`${plain(JSON.stringify(structure))}\n`);
  else if (isBare && isError) context.out.complain('agent: the tool failed and gave no reason\n');
  return isError ? 1 : 0;
}

/** A content block as text; other types are described. */
function formatBlock(block: JsonObject): string {
  if (block.type === 'text') return String(block.text);
  if (block.type === 'resource_link') return `[${String(block.name ?? 'resource')}] ${String(block.uri)}`;
  if (block.type === 'resource') {
    const resource = block.resource as JsonObject;
    return typeof resource.text === 'string' ? resource.text : `[resource ${String(resource.uri)}]`;
  }
  return `[${String(block.type)} ${String(block.mimeType ?? '')}, ${String(block.data ?? '').length} base64 characters; --json shows it]`;
}

/** The run that started this program, and its trace, so that its calls can be found by it. */
export function runOf({ AGENT_RUN_ID: run, TRACEPARENT: traceparent }: CommandContext['env']) {
  return { ...(run === undefined ? {} : { run }), ...(traceparent === undefined ? {} : { traceparent }) };
}

/**
 * The JSON object of a text; undefined if it is none. An integer that a number cannot hold exactly becomes the text of its
 * digits: a rounded id is another one.
 */
export function readObject(text: string): JsonObject | undefined {
  const value = readJson(text);
  return isJsonObject(value) ? value : undefined;
}
