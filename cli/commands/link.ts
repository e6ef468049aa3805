/**
 * `agent link …`: opens an add-server link in a dialog, and registers the scheme with the desktop. Nothing is written
 * without a yes.
 * @see LNK-1, LNK-2, LNK-3 and SEC-2 in docs/specification.md
 */

import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { userHomeFolder } from '../../actors/user-home.ts';
import { shownJson, shownText, withoutGaps } from '../../machines/base/shown-json.ts';
import type { AddServerContext, AddServerEvent, AddVerdict } from '../../machines/mcp/add-server.machine.ts';
import { readInstallLink } from '../../machines/mcp/install-link.ts';
import { loweredGuards } from '../../machines/mcp/link-guards.ts';
import { runLinkDialog } from '../../runtime/mcp/link-dialog.ts';
import { type CommandContext, type ExitCode, hasFlag, profileFlag, refuse, textFlag } from '../context.ts';
import { bold, oneLine } from '../terminal.ts';
import { mainUrl } from '../version.ts';

const run = promisify(execFile);
const desktopFile = 'agent-gateway-link.desktop';
const scheme = 'x-scheme-handler/agent';

export async function openLink(context: CommandContext): Promise<ExitCode> {
  const { out } = context;
  const reading = readInstallLink(context.args[0] ?? '');
  if (reading.kind === 'refused') {
    return refuse(context, `${oneLine(reading.message)} [${reading.code}]`, 1);
  }
  if (process.stdin.isTTY !== true) {
    out.print(describe(context, { ...reading.link, why: null }));
    return refuse(context, 'adding a server needs a person at a terminal; nothing was written', 4);
  }
  const typed = createInterface({ input: process.stdin });
  const lines = typed[Symbol.asyncIterator]();
  // Input typed ahead answers the question; the end of the input means no.
  const question: Question = async (prompt) => {
    process.stderr.write(prompt);
    const line = await lines.next();
    return line.done === true ? '' : line.value.trim();
  };
  try {
    const outcome = await runLinkDialog(
      reading.link,
      { home: context.home, profile: profileFlag(context) },
      {
        ask: ({ mustRename, context: dialog }) => ask(context, question, mustRename, dialog),
        write: ({ name }) => write(context, name),
      },
    );
    switch (outcome.kind) {
      case 'added':
        out.print(`Added ${oneLine(outcome.name)}. A running gateway connects it by itself.\n`);
        return 0;
      case 'cancelled':
        out.print('Nothing was added.\n');
        return 1;
      case 'refused':
        return refuse(context, oneLine(outcome.why), 1);
    }
  } finally {
    typed.close();
  }
}

/** Registers this program as the desktop's handler of agent:// links, or removes that. */
export async function registerLinks(context: CommandContext): Promise<ExitCode> {
  const { out } = context;
  if (process.platform !== 'linux')
    return refuse(context, 'the scheme is registered through xdg-utils, which this system does not have', 1);
  const data = context.env.XDG_DATA_HOME || join(userHomeFolder(), '.local', 'share');
  const folder = join(data, 'applications');
  const file = join(folder, desktopFile);
  if (hasFlag(context, 'undo')) {
    await rm(file, { force: true });
    out.print(`Removed ${file}.\n`);
    return 0;
  }
  await mkdir(folder, { recursive: true });
  const main = fileURLToPath(mainUrl());
  // The desktop has not the environment of this shell.
  const isNamed = (textFlag(context, 'home') ?? context.env.AGENT_HOME) !== undefined;
  const home = isNamed ? ['--home', quoted(context.home)] : [];
  const words = [quoted(process.execPath), quoted(main), ...home, 'link', 'open', '%u'];
  await writeFile(file, desktopEntry(words.join(' ')));
  try {
    await run('xdg-mime', ['default', desktopFile, scheme]);
  } catch (thrown) {
    const why = oneLine(String((thrown as Error).message));
    return refuse(context, `${file} is written, but xdg-mime did not take it: ${why}`, 1);
  }
  out.print(`Registered agent:// links (${file}). Undo with \`agent link register --undo\`.\n`);
  return 0;
}

/** Adds the server as the page does, so that it is in the audit log. */
async function write(context: CommandContext, name: string): Promise<AddVerdict> {
  try {
    const asked = { url: context.args[0] ?? '', name, profile: profileFlag(context) };
    const { not_in_force: why } = await context.ask('link.add', asked);
    if (why !== undefined) context.out.complain(`agent: it is written and not in force: ${oneLine(why)}\n`);
    return { kind: 'added' };
  } catch (thrown) {
    const { code, message } = thrown as Error & { readonly code?: string };
    return code === 'link-name' ? { kind: 'taken' } : { kind: 'failed', why: message };
  }
}

type Question = (prompt: string) => Promise<string>;

async function ask(
  context: CommandContext,
  question: Question,
  mustRename: boolean,
  dialog: AddServerContext,
): Promise<AddServerEvent> {
  context.out.print(describe(context, dialog));
  if (mustRename) {
    const name = await question('Another name (empty: cancel): ');
    return name === '' ? { type: 'link.cancel' } : { type: 'link.rename', name };
  }
  const answer = (await question('Add it? [y]es, [r]ename, [N]o: ')).toLowerCase();
  if (answer === 'y' || answer === 'yes') return { type: 'link.confirm' };
  if (answer === 'r' || answer === 'rename') return { type: 'link.rename', name: await question('Name: ') };
  return { type: 'link.cancel' };
}

/** The name and the complete config; marks a command as one, and each guard that the entry lowers. */
function describe({ out }: CommandContext, { name, config, why }: AddServerContext): string {
  const lines = [`A link asks to add the MCP server ${bold(out, oneLine(name))}:`, ''];
  lines.push(
    ...withoutGaps(shownJson(config))
      .split('\n')
      .map((line) => `  ${line}`),
    '',
  );
  if (typeof config.command === 'string') {
    lines.push(
      bold(out, 'It runs a command on this computer, with your rights. Add it only if you trust its source.'),
      '',
    );
  }
  for (const words of loweredGuards(config)) lines.push(bold(out, oneLine(withoutGaps(shownText(words)))), '');
  if (why !== null) lines.push(oneLine(why), '');
  return `${lines.join('\n')}\n`;
}

function desktopEntry(exec: string): string {
  return [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Agent Gateway: add an MCP server',
    `Exec=${exec}`,
    'Terminal=true',
    'NoDisplay=true',
    `MimeType=${scheme};`,
    '',
  ].join('\n');
}

/**
 * Quotes a word of an Exec line and escapes what the desktop entry specification reserves. A backslash is doubled, because
 * the escapes of a text are read before those of a quoted word.
 */
function quoted(word: string): string {
  return `"${word
    .replace(/["`$\\]/g, '\\$&')
    .replaceAll('\\', '\\\\')
    .replaceAll('%', '%%')}"`;
}
