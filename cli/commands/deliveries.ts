/**
 * `agent deliveries …`: deliveries to targets, dead letters, and the targets.
 * @see DLV-4 and CLI-2 in docs/specification.md
 */

import { stateWords, sweptStatuses } from '../../machines/base/status.ts';
import type {
  DeliveryChoice,
  OutgoingDetail,
  OutgoingRow,
  Swept,
  TargetRow,
} from '../../runtime/control/contract/deliveries.ts';
import type { Params } from '../../runtime/control/contract.ts';
import {
  type CommandContext,
  type ExitCode,
  hasFlag,
  type Output,
  queryOf,
  refuse,
  textFlag,
  textFlags,
} from '../context.ts';
import { whole } from '../draw.ts';
import { counted, labelled, moment, routeOf, span, titled, titledText } from '../labelled.ts';
import { showList, showSweep } from '../listing.ts';
import { ago, inTime, oneLine, show, table } from '../terminal.ts';

const progressWords = { accepted: 'that the run was accepted', approval: 'that the run waits for a person' } as const;

export function listDeliveries(context: CommandContext): Promise<ExitCode> {
  return showList<OutgoingRow>(context, {
    read: (ask, query) => ask('deliveries.list', { ...deliveryQuery(context), ...query }),
    keyOf: ({ id }) => id,
    atOf: ({ queued_at }) => queued_at,
    phaseOf: ({ status, attempts }) => `${status} ${attempts}`,
    head: ['STATUS', 'TARGET', 'CHAT', 'ROUTE', 'PROFILE', 'TRIES', 'NEXT', 'ID', 'REASON'],
    cells: (row, nowMs) => [
      stateWords(row.status),
      row.target,
      row.chat_id ?? '',
      row.route,
      row.profile,
      String(row.attempts),
      row.next_try_at === undefined ? '' : inTime(row.next_try_at, nowMs),
      row.id,
      row.reason ?? '',
    ],
    none: 'No deliveries.',
  });
}

export async function showDelivery(context: CommandContext): Promise<ExitCode> {
  const answer = await context.ask('deliveries.show', { id: context.args[0] ?? '' });
  return show(context, answer, () => formatDelivery(context.out, answer));
}

function formatDelivery(out: Output, { record, ...row }: OutgoingDetail): string {
  const nowMs = Date.now();
  const { sent } = record;
  return (
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
    titledText(out, 'Text', record.text)
  );
}

export async function retryDelivery(context: CommandContext): Promise<ExitCode> {
  // During a pause, another delivery may be sent first.
  return change(context, 'deliveries.retry', ({ id, target, paused_until: until, pause_reason: why }) =>
    until === undefined
      ? `Trying ${id} again at ${target} as soon as it has its turn.`
      : `${id} waits at ${target} for a pause that ends ${inTime(until, Date.now())}: ${why ?? ''}`,
  );
}

export async function dropDelivery(context: CommandContext): Promise<ExitCode> {
  return change(context, 'deliveries.drop', (row) => `Dropped ${row.id}: it is not sent to ${row.target} any more.`);
}

function noteOf({ paused_until: until, pause_reason: why, note }: TargetRow, nowMs: number): string {
  const paused = until === undefined ? [] : [`paused, continues ${inTime(until, nowMs)}: ${why ?? ''}`];
  return [...paused, ...(note === undefined ? [] : [note])].join('; ');
}

export async function listTargets(context: CommandContext): Promise<ExitCode> {
  const rows = await context.ask('deliveries.targets');
  return show(context, rows, () =>
    rows.length === 0
      ? 'No targets are configured: texts go to the log, and comments to GitHub by gh. docs/deliveries.md shows how to add one.\n'
      : formatTargets(context.out, rows),
  );
}

function formatTargets(out: Output, rows: readonly TargetRow[]): string {
  const nowMs = Date.now();
  const cells = (row: TargetRow): string[] => [
    row.name,
    row.profile,
    stateWords(row.state),
    ago(row.since, nowMs),
    row.account ?? '',
    row.home_channel ?? '',
    noteOf(row, nowMs),
  ];
  // A column of a narrow terminal would cut off the remedy at the end.
  const errors = rows.flatMap(({ error, profile }) =>
    error === undefined
      ? []
      : `\n${whole(out, oneLine(`${profile === 'default' ? '' : `${profile}: `}${error}`)).join('\n')}\n`,
  );
  const head = ['TARGET', 'PROFILE', 'STATE', 'FOR', 'ACCOUNT', 'HOME', 'NOTE'];
  return [table(out, head, rows.map(cells)), ...errors].join('');
}

/** Changes one delivery by its id, or with --all every matching one: a dead letter, unless --status names another status. */
async function change(
  context: CommandContext,
  method: 'deliveries.retry' | 'deliveries.drop',
  words: (row: OutgoingRow) => string,
): Promise<ExitCode> {
  const [id] = context.args;
  const all = hasFlag(context, 'all');
  if ((id === undefined) === !all) return refuse(context, 'name one delivery, or give --all for every dead letter', 2);
  const stray = all ? undefined : ['target', 'route', 'status', 'since'].find((name) => hasFlag(context, name));
  if (stray !== undefined) return refuse(context, `--${stray} is for --all; beside an id leave it out`, 2);
  const params: Params<typeof method> = {
    ...(all ? chosen(context) : { id: id ?? '' }),
    force: hasFlag(context, 'force'),
    ...textFlags(context, 'reason'),
  };
  const answer = (await context.ask(method, params)) as OutgoingRow | Swept;
  if ('left' in answer) {
    const noun = hasFlag(context, 'status') ? (['delivery', 'deliveries'] as const) : (['dead letter'] as const);
    return showSweep(context, answer, (answer.retried ?? 0) + (answer.dropped ?? 0), (swept) =>
      countWords(swept, noun),
    );
  }
  return show(context, answer, () => `${oneLine(words(answer))}\n`);
}

function countWords({ retried, dropped, left }: Swept, noun: readonly [string, string?]): string {
  const many = (count: number): string => counted(count, ...noun);
  if (retried === undefined) return `Dropped ${many(dropped ?? 0)}.`;
  // After an outage most deliveries still have attempts left.
  const isNone = retried + left === 0 && noun.length === 1;
  const others = isNone ? ' `--status waitingToRetry` tries those that wait for their next attempt.' : '';
  return `Trying ${many(retried)} again.${others}`;
}

function chosen(context: CommandContext): DeliveryChoice {
  const { since, status: _, ...query } = deliveryQuery(context);
  const status = sweptStatuses.find((one) => one === textFlag(context, 'status'));
  if (since === undefined && status === undefined) return { ...query, all: true };
  return {
    ...query,
    ...(since === undefined ? {} : { since }),
    ...(status === undefined ? {} : { status }),
  } as DeliveryChoice;
}

function deliveryQuery(context: CommandContext): Params<'deliveries.list'> {
  return { ...queryOf(context), ...textFlags(context, 'target') };
}
