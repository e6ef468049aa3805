/** `agent events …`: the events that came, each with its outcome. @see DUR-2, CLI-5 and CLI-6 in docs/specification.md */

import type { HistoryDetail, HistoryRow } from '../../runtime/control/contract.ts';
import { type CommandContext, type ExitCode, hasFlag } from '../context.ts';
import { askedEvent } from '../history-query.ts';
import { labelled, moment, reasonOf, routeOf, statusOf, titled, titledText } from '../labelled.ts';
import { showList } from '../listing.ts';
import { printJson } from '../terminal.ts';

export function listEvents(context: CommandContext): Promise<ExitCode> {
  return showList<HistoryRow>(context, {
    read: (ask, query) => ask('webhook.deliveries', query),
    keyOf: ({ key }) => key,
    atOf: ({ received_at }) => received_at,
    phaseOf: (row) => `${statusOf(row)} ${row.attempts}`,
    head: ['STATUS', 'ROUTE', 'PROFILE', 'EVENT', 'TRIES', 'DELIVERY', 'REASON'],
    cells: (row) => [
      statusOf(row),
      row.route,
      row.profile,
      row.event,
      String(row.attempts),
      row.delivery_id,
      row.alike === undefined ? reasonOf(row) : `${alikeOf(row.alike)}: ${reasonOf(row)}`,
    ],
    none: 'No events.',
  });
}

export async function showEvent(context: CommandContext): Promise<ExitCode> {
  const found = await context.ask('webhook.delivery', askedEvent(context));
  if (hasFlag(context, 'json')) printJson(context, found);
  else context.out.print(formatEvent(context, found));
  return 0;
}

/** The earlier `agent webhook deliveries`, which lists or, given an id, shows. */
export async function listOrShowEvent(context: CommandContext): Promise<ExitCode> {
  if (context.args[0] === undefined) return listEvents(context);
  const stray = ['limit', 'before', 'since', 'status', 'follow'].find((name) => hasFlag(context, name));
  if (stray === undefined) return showEvent(context);
  context.out.complain(`agent: --${stray} is for the list; beside an id --route and --profile choose\n`);
  return 2;
}

/** Refused requests that are one row; its time is that of the last. */
function alikeOf({ count, first_at: first }: NonNullable<HistoryRow['alike']>): string {
  return `×${count.toLocaleString('en')} since ${first.slice(0, 10)} ${first.slice(11, 16)} UTC`;
}

function formatEvent({ out }: CommandContext, detail: HistoryDetail): string {
  const { key, delivery_id: id, event, reason, attempts, received_at, record, run, question, alike } = detail;
  const head = labelled(out, [
    ['Route', routeOf(detail)],
    ['Event', event],
    ['Received', moment(received_at, Date.now())],
    ['Alike', alike && `${alikeOf(alike)} from one address, last ${moment(alike.last_at, Date.now())}`],
    ['Signed', record.scheme],
    [
      'Repeats',
      record.replayOf && `${record.replayOf}${record.isEdited ? ', edited' : ''}${record.isDry ? ', dry' : ''}`,
    ],
    ['Run', run === undefined ? undefined : record.work],
    ['Tries', attempts > 1 ? String(attempts) : undefined],
    ['Answer with', question && reasonOf(detail)],
    ['Reason', reason],
    ['Key', key],
    ['Story', `agent inspect why ${key}`],
  ]);
  return titled(out, id, statusOf(detail)) + head + (record.body === '' ? '' : titledText(out, 'Payload', record.body));
}
