/**
 * `agent chat`: a session with the model in the terminal, over the control socket: the answer as it arrives, tool calls and
 * their questions. Ctrl-C ends the turn, or the session if there is no turn.
 * @see CLI-4 in docs/specification.md
 */

import { readText, updateFileLocked } from '../../actors/files.ts';
import { homePaths } from '../../machines/config/profile.ts';
import type { ControlClient } from '../../runtime/control/client.ts';
import type { ApprovalRow } from '../../runtime/control/contract/approvals.ts';
import type { ChatOpened } from '../../runtime/control/contract/chat.ts';
import { connectGateway } from '../call.ts';
import { createLines, type Lines } from '../chat/lines.ts';
import { askQuestion } from '../chat/questions.ts';
import { type ChatScreen, createScreen } from '../chat/screen.ts';
import { runSlashCommand } from '../chat/slash-commands.ts';
import { agentOf, type CommandContext, type ExitCode, refuse, textFlags } from '../context.ts';
import { counted } from '../labelled.ts';
import { bold, oneLine } from '../terminal.ts';

/** How many lines of earlier sessions are kept. */
const keptLines = 500;
const noModel = 'chat-no-model';

export async function chat(context: CommandContext): Promise<ExitCode> {
  const paths = homePaths(context.home);
  const client = await connectGateway(context.gateway);
  try {
    const opened = await client.ask('chat.open', textFlags(context, 'profile'));
    const historyFile = `${paths.state}/chat-history`;
    const isTerminal = process.stdin.isTTY === true && context.out.isTerminal;
    const history = isTerminal ? linesIn(await readText(historyFile)) : [];
    const kept = (said: string, text?: string): string => [said, ...linesIn(text)].slice(0, keptLines).join('\n');
    // At once: a terminal that is closed ends the chat in the middle. A home that takes no files does not.
    const remember = async (said: string): Promise<void> => {
      if (isTerminal) await updateFileLocked(historyFile, (text) => `${kept(said, text)}\n`).catch(() => {});
    };
    return await converse(context, { client, opened, isTerminal, history, remember });
  } catch (thrown) {
    const { code, message } = thrown as { readonly code?: unknown; readonly message: string };
    if (code !== noModel) throw thrown;
    return refuse(context, `${message} [${noModel}]`, 4);
  } finally {
    client.close();
  }
}

function linesIn(text = ''): readonly string[] {
  return text.split('\n').filter(Boolean);
}

interface Session {
  readonly client: ControlClient;
  readonly opened: ChatOpened;
  readonly isTerminal: boolean;
  /** Newest first. */
  readonly history: readonly string[];
  /** Adds a message to the history of later chats. */
  readonly remember: (said: string) => Promise<void>;
}

interface LiveTurn {
  readonly ended: AbortController;
  /** Tools called that have not answered yet. */
  readonly calls: Map<string, string>;
  isCancelling: boolean;
  questions: Promise<void>;
}

async function converse(context: CommandContext, session: Session): Promise<ExitCode> {
  const { client, opened, isTerminal, history, remember } = session;
  const { out, gateway } = context;
  const agent = agentOf(gateway);
  const screen = createScreen(out, isTerminal);
  const lines = createLines({ isTerminal, history });
  let turn: LiveTurn | undefined;
  let hasFailed = false;
  /** Leaving during a turn does not wait for it. */
  let leave: () => void = () => {};
  const left = new Promise<ExitCode>((resolve) => {
    leave = () => resolve(0);
  });

  client.on('chat.event', (event) => {
    if (event.kind === 'call') turn?.calls.set(String(event.id), String(event.tool));
    if (event.kind === 'result') turn?.calls.delete(String(event.id));
    screen.event(event);
  });
  client.on('approvals.asked', (row) => {
    if (row.profile === opened.profile) asked(row);
  });

  async function command(line: string): Promise<'stay' | 'leave'> {
    const next = await runSlashCommand(line, { client, opened, screen, out });
    if (next === 'leave') leave();
    return next;
  }

  /** Asks a question of this turn at once; a question of other work is only announced. */
  function asked(row: ApprovalRow): void {
    const { id, kind, tool, server, run, call } = row;
    const now = turn;
    // A run may wait for the same tool meanwhile; a chat's own questions are of no run.
    const isOurs =
      now !== undefined && run === undefined && [...now.calls.values()].some((name) => comesFrom(name, row));
    if (isTerminal && isOurs) {
      const ports = { lines, screen, ask: client.ask, agent, command, signal: now.ended.signal };
      now.questions = now.questions.then(() => askQuestion(id, ports));
    } else if (isTerminal || isOurs) {
      const what = oneLine(`${tool ?? kind} of ${server}${call === undefined ? '' : `: ${call}`}`);
      const [wanted, values] =
        kind === 'form' ? ['an answer', `${isTerminal ? '' : ' --values'} <json>`] : ['a yes', ''];
      const how = `${isTerminal ? '/approve' : `${agent} approvals approve`} ${id}${values}`;
      lines.aside(() => screen.note(`  ${id} waits for ${wanted}: ${what}; ${how}`));
    }
  }

  async function say(text: string): Promise<void> {
    turn = { ended: new AbortController(), calls: new Map(), isCancelling: false, questions: Promise.resolve() };
    try {
      const outcome = await client.ask('chat.say', { session: opened.session, text });
      if (outcome.outcome === 'failed') hasFailed = true;
      turn.ended.abort();
      await turn.questions;
      screen.outcome(outcome);
    } finally {
      turn.ended.abort();
      turn = undefined;
    }
  }

  lines.onInterrupt((typed, isAsking) => {
    if (turn === undefined) {
      if (typed === '') lines.close();
      else lines.clear();
    } else if (turn.isCancelling) leave();
    else {
      turn.isCancelling = true;
      if (isAsking) out.print('\n');
      screen.note('  stopping; once more to leave');
      client.ask('chat.cancel', { session: opened.session }).catch(() => {});
    }
  });
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.once(signal, () => leave());
  await client.ask('approvals.watch');
  if (isTerminal) greet(screen, context, opened);

  let isOver = false;
  const talk = async (): Promise<ExitCode> => {
    for (;;) {
      const text = await nextText(lines, isTerminal ? bold(out, '› ') : '');
      if (text === undefined) return hasFailed && !isTerminal ? 1 : 0;
      if (text === '') continue;
      if (!text.startsWith('/')) {
        await remember(text.replaceAll('\n', ' '));
        await say(text);
      } else if ((await command(text)) === 'leave') return 0;
    }
  };
  const gone = client.closed.then((): ExitCode => {
    if (!isOver) out.complain('agent: the gateway closed the session\n');
    return isOver ? 0 : 1;
  });
  // On a terminal, the end of the input means leave; a pipe has sent everything.
  if (isTerminal) lines.onClose(() => (turn === undefined ? undefined : leave()));
  const code = await Promise.race([talk().catch((thrown) => ended(thrown, screen)), gone, left]);
  isOver = true;
  lines.close();
  if (isTerminal) screen.say('');
  return code;
}

/** An approval names its tool; a form names only its server. */
function comesFrom(call: string, { tool, server }: Pick<ApprovalRow, 'tool' | 'server'>): boolean {
  if (tool !== undefined) return call === tool;
  return call.startsWith(`mcp__${server.replace(/\W/g, '_')}__`);
}

function ended(thrown: unknown, screen: ChatScreen): ExitCode {
  // The closed session is reported elsewhere.
  if ((thrown as { readonly code?: unknown }).code === 'gateway-gone') return 1;
  screen.note(`  ${oneLine(thrown instanceof Error ? thrown.message : String(thrown))}`);
  return 1;
}

function greet(screen: ChatScreen, { out }: CommandContext, { model, profile, tools }: ChatOpened): void {
  const where = profile === 'default' ? '' : ` of profile ${oneLine(profile)}`;
  screen.say(
    `${bold(out, oneLine(model))}${where}, ${counted(tools, 'tool')}. /help lists the commands; Ctrl-C stops a turn, then leaves.`,
  );
}

/** A line that ends in a backslash continues in the next one. */
async function nextText(lines: Lines, prompt: string): Promise<string | undefined> {
  const parts: string[] = [];
  for (;;) {
    const line = await lines.next(parts.length === 0 ? prompt : '  ');
    if (line === undefined) return parts.length === 0 ? undefined : parts.join('\n').trim();
    if (!line.endsWith('\\')) return [...parts, line].join('\n').trim();
    parts.push(line.slice(0, -1));
  }
}
