/**
 * `agent events replay`: processes an event again, with its own payload or one that a person gives or edits. A dry replay
 * delivers nothing; its response is printed here.
 * @see DUR-2 and CLI-6 in docs/specification.md
 */

import { readFileSync, rmSync } from 'node:fs';
import { indentedJson } from '../../machines/base/indented-json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import { replayedStatuses } from '../../machines/base/status.ts';
import type { ReplayEdit } from '../../runtime/control/contract/events.ts';
import type { Result } from '../../runtime/control/contract.ts';
import {
  askedEvent,
  type CommandContext,
  type ExitCode,
  hasFlag,
  queryOf,
  refuse,
  textFlag,
  textFlags,
  withHomeNamed,
} from '../context.ts';
import { makeDraft, openEditor } from '../editor.ts';
import { counted } from '../labelled.ts';
import { showSweep } from '../listing.ts';
import { oneLine, plain, printJson } from '../terminal.ts';
import { endOfEvent } from './events.ts';

export async function replayEvent(context: CommandContext): Promise<ExitCode> {
  const all = hasFlag(context, 'all');
  if ((context.args[0] === undefined) === !all)
    return refuse(context, 'name one event, or give --all and --status for every event with this status', 2);
  const strays = all ? ['edit', 'payload', 'event', 'dry'] : ['status', 'since'];
  const stray = strays.find((name) => hasFlag(context, name));
  if (stray !== undefined)
    return refuse(context, `--${stray} is for ${all ? 'one event; beside' : '--all; without'} --all leave it out`, 2);
  if (all) return replayAll(context);
  const file = textFlag(context, 'payload');
  if (file !== undefined && hasFlag(context, 'edit'))
    return refuse(context, '--edit and --payload both give the payload; use one of them', 2);
  const asked = file === undefined ? await editedPayload(context) : fileText(file);
  if ('why' in asked) return refuse(context, oneLine(asked.why), 1);
  const edit: ReplayEdit = { ...textFlags(context, 'event'), ...(hasFlag(context, 'dry') ? { dry: true } : {}) };
  const answer = await context.ask('webhook.replay', { ...askedEvent(context), ...asked, ...edit });
  const isTaken = answer.status >= 200 && answer.status < 300;
  const ended = edit.dry && isTaken ? await endOfEvent(context, answer.key) : undefined;
  if (hasFlag(context, 'json')) {
    printJson(context, ended === undefined ? answer : { ...answer, response: ended.response ?? null });
  } else {
    context.out.print(`HTTP ${answer.status}\n${plain(answer.body)}\n`);
    if (!isTaken)
      context.out.complain(
        `agent: ${withHomeNamed(context.gateway, `\`agent inspect why ${answer.key}\` has the reason`)}\n`,
      );
    if (ended !== undefined) context.out.print(`\n${plain(ended.response ?? ended.verdict.text)}\n`);
  }
  return isTaken && ended?.verdict.tone !== 'failed' ? 0 : 1;
}

async function replayAll(context: CommandContext): Promise<ExitCode> {
  const status = replayedStatuses.find((one) => one === textFlag(context, 'status'));
  if (status === undefined)
    return refuse(context, `--all needs --status, which is one of ${replayedStatuses.join(', ')}`, 2);
  const answer = await context.ask('events.replayAll', { ...queryOf(context), status });
  return showSweep(context, answer, answer.replayed, allWords);
}

function allWords({ replayed, replayed_before: before, with_response: responded }: Result<'events.replayAll'>): string {
  const were = (count: number): string => (count === 1 ? 'was' : 'were');
  const have = (count: number): string => (count === 1 ? 'has a response' : 'have responses');
  return [
    `Replayed ${counted(replayed, 'event')}.`,
    ...(before === 0 ? [] : [`${before} ${were(before)} replayed before.`]),
    ...(responded === 0 ? [] : [`${responded} ${have(responded)}, for \`agent deliveries retry --all\`.`]),
  ].join(' ');
}

interface NoPayload {
  readonly why: string;
}

interface Payload {
  /** The key of the event whose payload was edited: by now its id or `latest` may mean another one. */
  readonly id?: string;
  readonly payload?: string;
}

/** The edited payload; nothing without --edit. */
async function editedPayload(context: CommandContext): Promise<Payload | NoPayload> {
  if (!hasFlag(context, 'edit')) return {};
  const {
    key,
    record,
    payload = record.body,
  } = await context.ask('webhook.delivery', {
    ...askedEvent(context),
    acts: true,
  });
  const before = indented(payload);
  const draft = makeDraft((number) => `${context.home}/event.draft-${number}.json`, before);
  try {
    const problem = await openEditor(context, draft);
    if (problem !== undefined) return { why: `${problem}; nothing was replayed` };
    const text = readFileSync(draft, 'utf8');
    return text === before ? { why: 'the payload is unchanged; nothing was replayed' } : { id: key, payload: text };
  } finally {
    rmSync(draft, { force: true });
  }
}

function fileText(file: string): Payload | NoPayload {
  try {
    return { payload: readFileSync(file, 'utf8') };
  } catch (thrown) {
    const { code = 'unreadable' } = thrown as { readonly code?: string };
    return { why: `--payload ${file}: cannot be read (${code})` };
  }
}

/** What is not edited stays as the sender wrote it. */
function indented(body: string): string {
  return readJson(body) === undefined ? body : `${indentedJson(body)}\n`;
}
