/**
 * The slash commands of a chat, as data. They act on the session and are never sent to the model.
 * @see CLI-4, LIF-12, TRU-3 and SEC-7 in docs/specification.md
 */

import { nearest } from '../../machines/config/nearest.ts';
import type { ControlClient } from '../../runtime/control/client.ts';
import type { ChatOpened } from '../../runtime/control/contract/chat.ts';
import { contentOf } from '../commands/approvals.ts';
import { readObject } from '../commands/mcp.ts';
import type { Output } from '../context.ts';
import { oneLine, table } from '../terminal.ts';
import type { ChatScreen } from './screen.ts';

interface SlashPorts {
  readonly client: Pick<ControlClient, 'ask'>;
  readonly opened: ChatOpened;
  readonly screen: ChatScreen;
  readonly out: Output;
}

interface SlashCommand {
  readonly name: string;
  readonly args: string;
  readonly help: string;
  readonly run: (rest: string, ports: SlashPorts) => Promise<void>;
}

const slashCommands: readonly SlashCommand[] = [
  { name: 'tools', args: '', help: 'List the tools that the model is offered.', run: listTools },
  {
    name: 'approve',
    args: '[id] [json]',
    help: 'Approve a question; without an id, list those that wait.',
    run: (rest, ports) => (rest === '' ? listQuestions(ports) : answer(rest, true, ports)),
  },
  { name: 'deny', args: 'id', help: 'Deny a question.', run: (rest, ports) => answer(rest, false, ports) },
  {
    name: 'reload-mcp',
    args: '',
    help: 'Read the configuration again and apply its servers.',
    run: reloadServers,
  },
  { name: 'new', args: '', help: 'Start a new conversation.', run: forget },
  { name: 'help', args: '', help: 'Show this.', run: showHelp },
  { name: 'exit', args: '', help: 'Leave; Ctrl-D does too.', run: () => Promise.resolve() },
];

export async function runSlashCommand(line: string, ports: SlashPorts): Promise<'stay' | 'leave'> {
  const [, name = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(line) ?? [];
  if (name === 'exit' || name === 'quit') return 'leave';
  const command = slashCommands.find((one) => one.name === name);
  if (command === undefined) {
    const near = nearest(
      name,
      slashCommands.map((one) => one.name),
    );
    const meant = near === undefined ? '/help lists them' : `did you mean /${near}?`;
    ports.screen.note(`  there is no command /${oneLine(name)}; ${meant}`);
    return 'stay';
  }
  try {
    await command.run(rest.trim(), ports);
  } catch (thrown) {
    ports.screen.note(`  ${oneLine(thrown instanceof Error ? thrown.message : String(thrown))}`);
  }
  return 'stay';
}

async function listTools(_: string, { client, opened, screen, out }: SlashPorts): Promise<void> {
  const rows = await client.ask('chat.tools', { session: opened.session });
  if (rows.length === 0) screen.note('  no tools');
  else screen.say(tableOf(out, ['TOOL', 'WHAT IT DOES'], rows, ['name', 'description']));
}

async function listQuestions({ client, screen, out }: SlashPorts): Promise<void> {
  const waiting = await client.ask('approvals.list');
  const rows = waiting.map((row) => ({ ...row, message: contentOf(row) }));
  if (rows.length === 0) screen.note('  nothing waits for a yes');
  else screen.say(tableOf(out, ['ID', 'WHAT', 'SERVER', 'MESSAGE'], rows, ['id', 'tool', 'server', 'message']));
}

async function answer(rest: string, grant: boolean, { client, screen }: SlashPorts): Promise<void> {
  const [, id = '', json = ''] = /^(\S*)\s*([\s\S]*)$/.exec(rest) ?? [];
  const values = json === '' ? {} : readObject(json);
  if (id === '' || values === undefined) {
    screen.note(id === '' ? '  name the question; /approve lists them' : '  the values must be a JSON object');
    return;
  }
  await client.ask('approvals.answer', { id, grant, values, by: 'chat' });
  screen.note(grant ? `  approved ${oneLine(id)}` : `  denied ${oneLine(id)}`);
}

async function reloadServers(_: string, { client, opened, screen, out }: SlashPorts): Promise<void> {
  await client.ask('gateway.reload');
  const rows = (await client.ask('mcp.list')).filter(({ profile }) => profile === opened.profile);
  screen.note('  read again');
  if (rows.length > 0)
    screen.say(tableOf(out, ['SERVER', 'STATE', 'TOOLS', 'WHY'], rows, ['name', 'state', 'tools', 'error']));
}

async function forget(_: string, { client, opened, screen }: SlashPorts): Promise<void> {
  await client.ask('chat.new', { session: opened.session });
  screen.note('  new conversation');
}

function showHelp(_: string, { screen }: SlashPorts): Promise<void> {
  const heads = slashCommands.map(({ name, args }) => `/${name} ${args}`.trim());
  const width = Math.max(...heads.map(({ length }) => length));
  const lines = slashCommands.map(({ help }, index) => `  ${(heads[index] ?? '').padEnd(width)}  ${help}`);
  screen.say([...lines, '  A line that ends in \\ continues in the next one.'].join('\n'));
  return Promise.resolve();
}

function tableOf<Row>(
  out: Output,
  head: readonly string[],
  rows: readonly Row[],
  keys: readonly (keyof Row)[],
): string {
  const cells = rows.map((row) => keys.map((key) => oneLine(String(row[key] ?? ''))));
  return table(out, head, cells).trimEnd();
}
