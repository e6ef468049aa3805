/** `agent webhook …`: routes, subscriptions and the history of deliveries. @see SUB-1, SUB-4 and DUR-2 */

import type { JsonObject } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import type { HistoryDetail, HistoryRow, RouteRow } from '../../runtime/control/contract.ts';
import type { ExitCode } from '../context.ts';
import { type CommandContext, hasFlag, textFlag } from '../context.ts';
import { askedEvent, queryOf, tellNextPage } from '../history-query.ts';
import { labelled, moment, reasonOf, routeOf, statusOf, titled, titledText } from '../labelled.ts';
import { ago, bold, oneLine, plain, printJson, table } from '../terminal.ts';

export async function subscribeWebhook(context: CommandContext): Promise<ExitCode> {
  const events = textFlag(context, 'events');
  const chatId = textFlag(context, 'deliver-chat-id');
  const noticeChatId = textFlag(context, 'on-failure-chat-id');
  const record: JsonObject = {
    ...(events === undefined
      ? {}
      : {
          events: events
            .split(',')
            .map((event) => event.trim())
            .filter(Boolean),
        }),
    ...optional('prompt', textFlag(context, 'prompt')),
    ...optional('deliver', textFlag(context, 'deliver')),
    ...(chatId === undefined ? {} : { deliver_extra: { chat_id: chatId } }),
    ...optional('on_failure', textFlag(context, 'on-failure')),
    ...(noticeChatId === undefined ? {} : { on_failure_extra: { chat_id: noticeChatId } }),
    ...(hasFlag(context, 'deliver-only') ? { deliver_only: true } : {}),
    ...optional('cron_job', textFlag(context, 'cron-job')),
    ...optional('description', textFlag(context, 'description')),
  };
  const bound = textFlag(context, 'route-profile');
  const named = textFlag(context, 'profile');
  if (bound !== undefined && named !== undefined && bound !== named) {
    context.out.complain('agent: --route-profile and --profile name two profiles; give one of them\n');
    return 2;
  }
  const profile = bound ?? named;
  const created = await context.ask('webhook.subscribe', {
    name: context.args[0] ?? '',
    record,
    force: hasFlag(context, 'force'),
    ...optional('profile', profile),
  });
  if (hasFlag(context, 'json')) printJson(context, created);
  else {
    context.out.print(
      `${bold(context.out, created.name)}\n  URL     ${created.url}\n  Secret  ${created.secret}\n\nThe secret is shown once. Sign by X-Webhook-Signature-V2, or try it: agent webhook test ${created.name}${profile === undefined || profile === 'default' ? '' : ` --profile ${profile}`}\n`,
    );
    // It is made all the same: what it names may come later.
    if (created.problem !== undefined)
      context.out.complain(`agent: ${oneLine(created.name)} ${oneLine(created.problem)}\n`);
  }
  return 0;
}

export async function listWebhooks(context: CommandContext): Promise<ExitCode> {
  const rows = await context.ask('webhook.list');
  if (hasFlag(context, 'json')) {
    printJson(context, rows);
  } else if (rows.length === 0) {
    context.out.print('No routes. Create one: agent webhook subscribe <name>, or write it into config.yaml.\n');
  } else {
    const switched = rows.some(({ enabled }) => enabled === false);
    context.out.print(
      table(
        context.out,
        ['NAME', ...(switched ? ['STATE'] : []), 'EVENTS', 'DELIVER', 'URL', 'PROBLEM'],
        rows.map((row) => [
          row.name,
          ...(switched ? [stateOf(row)] : []),
          row.events.join(',') || 'all',
          row.deliver,
          row.url,
          row.problem ?? '',
        ]),
      ),
    );
  }
  return 0;
}

/** What cannot be used is neither. */
function stateOf({ enabled }: RouteRow): string {
  if (enabled === undefined) return '';
  return enabled ? 'enabled' : 'disabled';
}

export async function removeWebhook(context: CommandContext): Promise<ExitCode> {
  const name = context.args[0] ?? '';
  await context.ask('webhook.remove', { name, ...optional('profile', textFlag(context, 'profile')) });
  context.out.print(`Removed ${oneLine(name)}.\n`);
  return 0;
}

/** The answer is shown whatever it is; only a 2xx is success. */
export async function testWebhook(context: CommandContext): Promise<ExitCode> {
  const payload = textFlag(context, 'payload');
  const parsed = payload === undefined ? undefined : readJson(payload);
  if (payload !== undefined && parsed === undefined) {
    context.out.complain('agent: --payload is not JSON\n');
    return 2;
  }
  const answer = await context.ask('webhook.test', {
    name: context.args[0] ?? '',
    ...(parsed === undefined ? {} : { payload: parsed }),
    ...optional('sample', textFlag(context, 'sample')),
    ...optional('event', textFlag(context, 'event')),
    ...optional('profile', textFlag(context, 'profile')),
  });
  if (hasFlag(context, 'json')) printJson(context, answer);
  else context.out.print(`HTTP ${answer.status}\n${plain(answer.body)}\n`);
  return answer.status >= 200 && answer.status < 300 ? 0 : 1;
}

export async function listDeliveries(context: CommandContext): Promise<ExitCode> {
  const [id] = context.args;
  if (id !== undefined) {
    const stray = ['limit', 'before', 'status'].find((name) => textFlag(context, name) !== undefined);
    if (stray !== undefined) {
      context.out.complain(`agent: --${stray} is for the list; beside an id --route and --profile choose\n`);
      return 2;
    }
    const found = await context.ask('webhook.delivery', askedEvent(context));
    if (hasFlag(context, 'json')) printJson(context, found);
    else context.out.print(spellDelivery(context, found));
    return 0;
  }
  const rows = await context.ask('webhook.deliveries', queryOf(context));
  if (hasFlag(context, 'json')) {
    printJson(context, rows);
    return 0;
  }
  const nowMs = Date.now();
  const named = rows.some(({ profile }) => profile !== 'default');
  context.out.print(
    table(
      context.out,
      ['AGO', 'STATUS', 'ROUTE', ...(named ? ['PROFILE'] : []), 'EVENT', 'TRIES', 'DELIVERY', 'REASON'],
      rows.map((row) => [
        ago(row.received_at, nowMs),
        statusOf(row),
        row.route,
        ...(named ? [row.profile] : []),
        row.event,
        String(row.attempts),
        row.delivery_id,
        row.alike === undefined ? reasonOf(row) : `${alikeOf(row.alike)}: ${reasonOf(row)}`,
      ]),
    ),
  );
  tellNextPage(
    context,
    rows.map(({ key }) => key),
  );
  return 0;
}

/** Refused requests that are one row; its time is that of the last. */
function alikeOf({ count, first_at: first }: NonNullable<HistoryRow['alike']>): string {
  return `×${count.toLocaleString('en')} since ${first.slice(0, 10)} ${first.slice(11, 16)} UTC`;
}

function spellDelivery({ out }: CommandContext, detail: HistoryDetail): string {
  const { key, delivery_id: id, event, reason, attempts, received_at, record, run, question, alike } = detail;
  const head = labelled(out, [
    ['Route', routeOf(detail)],
    ['Event', event],
    ['Received', moment(received_at, Date.now())],
    ['Alike', alike && `${alikeOf(alike)} from one address, last ${moment(alike.last_at, Date.now())}`],
    ['Signed', record.scheme],
    ['Repeats', record.replayOf],
    ['Run', run === undefined ? undefined : record.work],
    ['Tries', attempts > 1 ? String(attempts) : undefined],
    ['Answer with', question && reasonOf(detail)],
    ['Reason', reason],
    ['Key', key],
    ['Story', `agent inspect why ${key}`],
  ]);
  return titled(out, id, statusOf(detail)) + head + (record.body === '' ? '' : titledText(out, 'Payload', record.body));
}

export async function replayDelivery(context: CommandContext): Promise<ExitCode> {
  const answer = await context.ask('webhook.replay', askedEvent(context));
  if (hasFlag(context, 'json')) printJson(context, answer);
  else context.out.print(`HTTP ${answer.status}\n${plain(answer.body)}\n`);
  return answer.status >= 200 && answer.status < 300 ? 0 : 1;
}

function optional(name: string, value: string | undefined): JsonObject {
  return value === undefined ? {} : { [name]: value };
}
