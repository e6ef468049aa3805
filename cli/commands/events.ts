/** `agent events …`: the received events, each with its outcome. @see DUR-2, CLI-5 and CLI-6 in docs/specification.md */

import { setTimeout as wait } from 'node:timers/promises';
import { formatQuery } from '../../machines/base/event-query.ts';
import { rowLimit } from '../../machines/base/row-limits.ts';
import type { HistoryQuery } from '../../runtime/control/contract/choices.ts';
import type { HistoryDetail, HistoryRow } from '../../runtime/control/contract/events.ts';
import type { Ask, Result } from '../../runtime/control/contract.ts';
import { agentOf, askedEvent, type CommandContext, type ExitCode, hasFlag, refuse, textFlag } from '../context.ts';
import { labelled, moment, reasonOf, routeOf, statusOf, titled, titledText } from '../labelled.ts';
import { showList } from '../listing.ts';
import { show } from '../terminal.ts';

const pollMs = 500;

export async function listEvents(context: CommandContext): Promise<ExitCode> {
  const text = textFlag(context, 'search');
  if (text !== undefined && hasFlag(context, 'status')) {
    return refuse(context, '--status is for the list; in a search write status:failed', 2);
  }
  const agent = agentOf(context.gateway);
  return showList<HistoryRow>(context, {
    read: (ask, query) => (text === undefined ? ask('webhook.deliveries', query) : search(ask, text, query)),
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
      row.alike === undefined ? reasonOf(row, agent) : `${alikeOf(row.alike)}: ${reasonOf(row, agent)}`,
    ],
    none: 'No events.',
  });
}

/** Reads page by page until there are enough rows or the complete history was searched. */
async function search(ask: Ask, text: string, query: Partial<HistoryQuery>): Promise<readonly HistoryRow[]> {
  const { route, profile, before, since, limit } = query;
  const filters = {
    ...(route === undefined ? {} : { route: [route] }),
    ...(profile === undefined ? {} : { profile: [profile] }),
  };
  const asked = {
    q: `${text} ${formatQuery({ texts: [], filters })}`,
    range: since === undefined ? 'all' : `${since}..`,
  };
  const rows: HistoryRow[] = [];
  const max = rowLimit(limit);
  for (let cursor = before; ; ) {
    const found = await ask('events.search', {
      ...asked,
      limit: max - rows.length,
      ...(cursor === undefined ? {} : { cursor }),
    });
    // The search range begins a few seconds before `since`.
    rows.push(...found.rows.filter(({ received_at }) => since === undefined || received_at >= since));
    cursor = found.cursor;
    if (cursor === undefined || rows.length >= max) return rows;
  }
}

/** Exits with 1 after `--wait` unless the event was delivered, so that a script can go on by the code alone. */
export async function showEvent(context: CommandContext): Promise<ExitCode> {
  const found = await context.ask('webhook.delivery', { ...askedEvent(context), handshake: true });
  if (!hasFlag(context, 'wait')) return show(context, found, () => formatEvent(context, found));
  const { verdict } = await endOfEvent(context, found.key);
  const ended = await context.ask('webhook.delivery', { id: found.key, handshake: true });
  show(context, ended, () => formatEvent(context, ended));
  if (ended.status === 'coalesced') context.out.complain(`${verdict.text}\n`);
  return ended.status === 'delivered' ? 0 : 1;
}

/** Waits until nothing of an event is under way; says each question that its run waits for, and that it is held. */
export async function endOfEvent(context: CommandContext, id: string): Promise<Result<'events.open'>> {
  for (let said: string | undefined; ; ) {
    const opened = await context.ask('events.open', { id });
    if (opened.ended !== undefined) return opened;
    const { question, verdict } = opened;
    const held = verdict.tone === 'needsUser' ? verdict.text : undefined;
    const waits = question === undefined ? held : `The run waits for a person: \`agent approvals show ${question}\`.`;
    if (waits !== undefined && waits !== said) context.out.complain(`${waits}\n`);
    said = waits;
    await wait(pollMs);
  }
}

/** The earlier `agent webhook deliveries`: lists, or shows one event if an id is given. */
export async function listOrShowEvent(context: CommandContext): Promise<ExitCode> {
  if (context.args[0] === undefined) return listEvents(context);
  const stray = ['search', 'limit', 'before', 'since', 'status', 'follow'].find((name) => hasFlag(context, name));
  if (stray === undefined) return showEvent(context);
  return refuse(context, `--${stray} is for the list; beside an id --route and --profile choose`, 2);
}

/** Refused requests combined into one row; its time is that of the last. */
function alikeOf({ count, first_at: first }: NonNullable<HistoryRow['alike']>): string {
  return `×${count.toLocaleString('en')} since ${first.slice(0, 10)} ${first.slice(11, 16)} UTC`;
}

function formatEvent({ out, gateway }: CommandContext, detail: HistoryDetail): string {
  const { key, delivery_id: id, event, reason, attempts, received_at, node, record, run, question, alike } = detail;
  const { payload = record.body } = detail;
  const head = labelled(out, [
    ['Route', routeOf(detail)],
    ['Event', event],
    ['Received', moment(received_at, Date.now())],
    ['Alike', alike && `${alikeOf(alike)} from one address, last ${moment(alike.last_at, Date.now())}`],
    ['Node', node],
    ['Signed', record.scheme],
    [
      'Repeats',
      record.replayOf && `${record.replayOf}${record.isEdited ? ', edited' : ''}${record.isDry ? ', dry' : ''}`,
    ],
    ['Run', run === undefined ? undefined : record.work],
    ['Tries', attempts > 1 ? String(attempts) : undefined],
    ['Answer with', question && reasonOf(detail, agentOf(gateway))],
    ['Reason', reason],
    ['Key', key],
    ['Why', `${agentOf(gateway)} inspect why ${key}`],
  ]);
  return titled(out, id, statusOf(detail)) + head + (payload === '' ? '' : titledText(out, 'Payload', payload));
}
