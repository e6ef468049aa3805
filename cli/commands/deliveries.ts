/**
 * `agent deliveries …`: deliveries to targets, dead letters, and the targets.
 * @see DLV-4 and CLI-2 in docs/specification.md
 */

import { stateWords } from '../../machines/base/status.ts';
import type { OutgoingRow, Params, Swept, TargetRow } from '../../runtime/control/contract.ts';
import type { ExitCode } from '../context.ts';
import { type CommandContext, hasFlag, textFlag } from '../context.ts';
import { whole } from '../draw.ts';
import { queryOf } from '../history-query.ts';
import { counted, labelled, moment, routeOf, span, titled, titledText } from '../labelled.ts';
import { sayWhyNone, showList } from '../listing.ts';
import { ago, inTime, oneLine, printJson, table } from '../terminal.ts';

const progressWords = { accepted: 'that the run was accepted', approval: 'that the run waits for a person' } as const;

export function listSendings(context: CommandContext): Promise<ExitCode> {
  return showList<OutgoingRow>(context, {
    read: (ask, query) => ask('deliveries.list', { ...sendingQuery(context), ...query }),
    keyOf: ({ id }) => id,
    atOf: ({ queued_at }) => queued_at,
    phaseOf: ({ status, attempts }) => `${status} ${attempts}`,
    head: ['STATUS', 'TARGET', 'CHAT', 'ROUTE', 'TRIES', 'NEXT', 'ID', 'REASON'],
    cells: (row, nowMs) => [
      stateWords(row.status),
      row.target,
      row.chat_id ?? '',
      row.route,
      String(row.attempts),
      row.next_try_at === undefined ? '' : inTime(row.next_try_at, nowMs),
      row.id,
      row.reason ?? '',
    ],
    none: 'No deliveries.',
  });
}

export async function showSending(context: CommandContext): Promise<ExitCode> {
  const answer = await context.ask('deliveries.show', { id: context.args[0] ?? '' });
  if (hasFlag(context, 'json')) {
    printJson(context, answer);
    return 0;
  }
  const { out } = context;
  const { record, ...row } = answer;
  const nowMs = Date.now();
  const { sent } = record;
  out.print(
    titled(out, row.id, stateWords(row.status)) +
      labelled(out, [
        ['Target', row.target],
        ['Chat', row.chat_id],
        ['Route', routeOf(row)],
        ['Event', `${row.event}, delivery ${row.delivery_id}`],
        ['Reports', row.failed_run ? `failed run ${row.failed_run}` : row.reports && progressWords[row.reports]],
        ['Queued', moment(row.queued_at, nowMs)],
        ['Tries', row.attempts === 0 ? 'none yet' : String(row.attempts)],
        ['Arrived', sent === undefined ? undefined : `${sent.pieces} of ${counted(sent.of, 'piece')}`],
        ['Next try', row.next_try_at && moment(row.next_try_at, nowMs)],
        ['Ended', row.ended_at && `${moment(row.ended_at, nowMs)}, after ${span(row.queued_at, row.ended_at)}`],
        ['Message', row.message_id],
        ['Reason', row.reason],
        ['Note', record.note],
      ]) +
      titledText(out, 'Text', record.text),
  );
  return 0;
}

export async function retrySending(context: CommandContext): Promise<ExitCode> {
  // During a pause, another delivery may be sent first.
  return change(context, 'deliveries.retry', ({ id, target, paused_until: until, pause_reason: why }) =>
    until === undefined
      ? `Trying ${id} again at ${target} as soon as it has its turn.`
      : `${id} waits at ${target} for a pause that ends ${inTime(until, Date.now())}: ${why ?? ''}`,
  );
}

export async function dropSending(context: CommandContext): Promise<ExitCode> {
  return change(context, 'deliveries.drop', (row) => `Dropped ${row.id}: it is not sent to ${row.target} any more.`);
}

function noteOf({ paused_until: until, pause_reason: why, note }: TargetRow, nowMs: number): string {
  const paused = until === undefined ? [] : [`paused, continues ${inTime(until, nowMs)}: ${why ?? ''}`];
  return [...paused, ...(note === undefined ? [] : [note])].join('; ');
}

export async function listTargets(context: CommandContext): Promise<ExitCode> {
  const rows = await context.ask('deliveries.targets');
  if (hasFlag(context, 'json')) {
    printJson(context, rows);
    return 0;
  }
  if (rows.length === 0) {
    context.out.print('No targets are configured: texts go to the log. docs/deliveries.md shows how to add one.\n');
    return 0;
  }
  const nowMs = Date.now();
  context.out.print(
    table(
      context.out,
      ['TARGET', 'PROFILE', 'STATE', 'FOR', 'ACCOUNT', 'HOME', 'NOTE'],
      rows.map((row) => [
        row.name,
        row.profile,
        stateWords(row.state),
        ago(row.since, nowMs),
        row.account ?? '',
        row.home_channel ?? '',
        noteOf(row, nowMs),
      ]),
    ),
  );
  // A column of a narrow terminal would cut off the remedy at the end.
  for (const { error, profile } of rows) {
    if (error !== undefined)
      context.out.print(
        `\n${whole(context.out, oneLine(`${profile === 'default' ? '' : `${profile}: `}${error}`)).join('\n')}\n`,
      );
  }
  return 0;
}

/** Changes one delivery by its id, or with --all every matching dead letter. */
async function change(
  context: CommandContext,
  method: 'deliveries.retry' | 'deliveries.drop',
  words: (row: OutgoingRow) => string,
): Promise<ExitCode> {
  const [id] = context.args;
  const all = hasFlag(context, 'all');
  if ((id === undefined) === !all) {
    context.out.complain('agent: name one delivery, or give --all for every dead letter\n');
    return 2;
  }
  const params: Params<typeof method> = all
    ? { ...sendingQuery(context), all: true, force: hasFlag(context, 'force'), ...reasonFlag(context) }
    : { id: id ?? '', force: hasFlag(context, 'force'), ...reasonFlag(context) };
  const answer = (await context.ask(method, params)) as OutgoingRow | Swept;
  const { left, refusals } = 'left' in answer ? answer : { left: 0, refusals: [] };
  if (hasFlag(context, 'json')) printJson(context, answer);
  else {
    context.out.print(`${oneLine('left' in answer ? countWords(answer) : words(answer))}\n`);
    for (const { id: one, error, code } of refusals)
      context.out.complain(`agent: ${oneLine(`${one}: ${error} [${code}]`)}\n`);
    if (left > refusals.length) context.out.complain(`agent: and ${left - refusals.length} more\n`);
  }
  if ('left' in answer && !answer.retried && !answer.dropped && left === 0) await sayWhyNone(context);
  return left === 0 ? 0 : 1;
}

function countWords({ retried, dropped, left }: Swept): string {
  const many = (count: number): string => counted(count, 'dead letter');
  const done = retried === undefined ? `Dropped ${many(dropped ?? 0)}.` : `Trying ${many(retried)} again.`;
  return left === 0 ? done : `${done} ${left} could not be touched:`;
}

function sendingQuery(context: CommandContext): Params<'deliveries.list'> {
  const target = textFlag(context, 'target');
  return { ...queryOf(context), ...(target === undefined ? {} : { target }) };
}

/** Why a delivery is dropped; kept in its record. */
function reasonFlag(context: CommandContext): { readonly reason?: string } {
  const reason = textFlag(context, 'reason');
  return reason === undefined ? {} : { reason };
}
