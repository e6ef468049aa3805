/**
 * Asks the person in a chat a question that waits for them: yes or no to a call, or the fields of a form. Any other answer
 * to yes or no repeats the question, after a slash command too; only an explicit yes grants a call, or sends a form in which
 * nothing was entered.
 * @see TRU-3, SRV-1, SEC-7 and CLI-4 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, scalarText } from '../../machines/base/json.ts';
import { inQuotes, shownJson, withoutGaps, wordsOfServer } from '../../machines/base/shown-json.ts';
import { choicesOf, type FormChoice } from '../../machines/mcp/elicitation-values.ts';
import type { ApprovalDetail } from '../../runtime/control/contract/approvals.ts';
import type { Ask } from '../../runtime/control/contract.ts';
import { oneLine, plain } from '../terminal.ts';
import type { Lines } from './lines.ts';
import type { ChatScreen } from './screen.ts';

interface QuestionPorts {
  readonly lines: Pick<Lines, 'answer'>;
  readonly screen: Pick<ChatScreen, 'say' | 'set' | 'note'>;
  readonly ask: Ask;
  /** How a command to run next begins. */
  readonly agent: string;
  /** Runs a slash command; resolves with whether the person leaves. */
  readonly command: (line: string) => Promise<'stay' | 'leave'>;
  readonly signal: AbortSignal;
}

const maxDetailLength = 4_000;
const maxChoices = 50;

/** Asks the person and answers the gateway. Ends without an answer if the question was settled elsewhere. */
export async function askQuestion(id: string, ports: QuestionPorts): Promise<void> {
  const row = await ports.ask('approvals.show', { id }).catch(() => undefined);
  if (row === undefined) return;
  for (;;) {
    const given = row.kind === 'form' ? await fillIn(row, ports) : await yesOrNo(row, ports);
    if (given === undefined) return;
    try {
      await ports.ask('approvals.answer', { id, by: 'chat', ...given });
      return;
    } catch (thrown) {
      ports.screen.note(`  ${oneLine(thrown instanceof Error ? thrown.message : String(thrown))}`);
      if ((thrown as { readonly code?: unknown }).code !== 'approval-values') return;
    }
  }
}

interface Given {
  readonly grant: boolean;
  readonly values?: JsonObject;
}

async function yesOrNo(
  { id, tool, server, message, detail }: ApprovalDetail,
  ports: QuestionPorts,
): Promise<Given | undefined> {
  const { screen, agent } = ports;
  screen.say(`? ${oneLine(tool ?? '')} of ${oneLine(server)} wants a yes`);
  const shown = plain(withoutGaps(shownJson(detail ?? {})));
  screen.say(shown.slice(0, maxDetailLength).replace(/^/gm, '    '));
  const left = shown.length - maxDetailLength;
  // A harmless beginning must not hide the rest of a long call.
  if (left > 0) screen.set(`${left} more characters are not shown; ${agent} approvals show ${id} shows them all`);
  const words = oneLine(wordsOfServer(server, message, 'tool'));
  if (words !== '') screen.set(words);
  return confirm(id, 'allow it?', ports);
}

async function confirm(id: string, question: string, ports: QuestionPorts): Promise<Given | undefined> {
  for (;;) {
    const line = await ports.lines.answer(`  ${question} [y/n] `, ports.signal);
    if (line === undefined) return undefined;
    const word = line.trim();
    if (/^y(es)?$/i.test(word) || word === '/approve' || word === `/approve ${id}`) return { grant: true };
    if (/^no?$/i.test(word) || word === '/deny' || word === `/deny ${id}`) return { grant: false };
    if (word.startsWith('/') && (await ports.command(word)) === 'leave') return undefined;
  }
}

async function fillIn(
  { id, server, message, detail }: ApprovalDetail,
  ports: QuestionPorts,
): Promise<Given | undefined> {
  const { screen, lines, signal } = ports;
  screen.say(`? ${oneLine(wordsOfServer(server, message, 'form'))}`);
  const { properties, required } = isJsonObject(detail) ? detail : {};
  const needed: readonly Json[] = Array.isArray(required) ? required : [];
  const values: Record<string, Json> = {};
  for (const [name, field] of Object.entries(isJsonObject(properties) ? properties : {})) {
    const known = isJsonObject(field) ? field : {};
    const isList = known.type === 'array';
    const choices = (isList && isJsonObject(known.items) ? choicesOf(known.items) : choicesOf(known)) ?? [];
    const shown = choices.slice(0, maxChoices);
    for (const [index, choice] of shown.entries()) screen.say(`    ${index + 1}. ${quoted(choice.title)}`);
    if (choices.length > maxChoices) screen.set(`${choices.length - maxChoices} more choices are not shown`);
    const isNeeded = needed.includes(name) && known.default === undefined;
    const empty = isNeeded ? 'decline' : defaultWords(known.default, choices);
    const hint = `(${isList ? 'several: 1, 2; ' : ''}empty: ${empty})`;
    const line = await lines.answer(`  ${quoted(String(known.title ?? name))} ${hint} `, signal);
    if (line === undefined) return undefined;
    if (line.trim() === '') {
      if (isNeeded) return { grant: false };
      continue;
    }
    values[name] = readField(line.trim(), known, choices);
  }
  // Without a field that must be filled in, no line of the person has agreed or declined.
  const given = Object.keys(values).length > 0 ? { grant: true } : await confirm(id, 'send it so?', ports);
  return given?.grant ? { grant: true, values } : given;
}

/** What an empty line means: the gateway sends a field's default, by the titles of its choices here. */
function defaultWords(value: Json | undefined, choices: readonly FormChoice[]): string {
  if (value === undefined) return 'leave out';
  const values: readonly Json[] = Array.isArray(value) ? value : [value];
  const titles = values.map((one) => choices.find((choice) => choice.value === one)?.title ?? scalarText(one));
  return titles.length === 0 ? 'none' : quoted(titles.join(', ')) || '“”';
}

/** Quotes text of the asking server, so that it cannot pose as part of the question (SEC-7). */
function quoted(text: string): string {
  return oneLine(inQuotes(text));
}

/** Several choices of a list are separated by commas. The gateway rejects what does not fit the field. */
function readField(line: string, { type }: JsonObject, choices: readonly FormChoice[]): Json {
  if (type === 'array') return line.split(',').map((one) => chosen(one.trim(), choices));
  if (choices.length > 0) return chosen(line, choices);
  if ((type === 'number' || type === 'integer') && Number.isFinite(Number(line))) return Number(line);
  if (type === 'boolean' && /^(y|yes|true|n|no|false)$/i.test(line)) return /^[yt]/i.test(line);
  return line;
}

/** A choice can be given by its value, its title or its number. */
function chosen(line: string, choices: readonly FormChoice[]): string {
  const found =
    choices.find(({ value }) => value === line) ??
    choices.find(({ title }) => title === line) ??
    (/^\d+$/.test(line) ? choices[Number(line) - 1] : undefined);
  return found?.value ?? line;
}
