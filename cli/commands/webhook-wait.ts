/**
 * Waits for the first event of a new subscription. Explains refused requests as they come and shows a handshake.
 * @see SUB-4 and SRC-5 in docs/specification.md
 */

import { stateWords } from '../../machines/base/status.ts';
import { ConnectionLost, type ControlClient } from '../../runtime/control/client.ts';
import type { HistoryRow } from '../../runtime/control/contract/events.ts';
import { NotRunning } from '../call.ts';
import { agentOf, type CommandContext, hasFlag, withHomeNamed } from '../context.ts';
import { pausesOf } from '../follow.ts';
import { oneLine, printJsonLine } from '../terminal.ts';

interface AwaitedRoute {
  readonly name: string;
  readonly profile: string;
}

const pollMs = 500;
const newest = 50;
/** Rows of a route that are not accepted events. */
const passedOver: ReadonlySet<string> = new Set(['refused', 'ignored', 'duplicate']);

/** The keys of the route's rows before the wait. */
export async function rowsBefore(client: ControlClient, route: AwaitedRoute): Promise<Set<string>> {
  return new Set((await rowsOf(client, route)).map(({ key }) => key));
}

/**
 * Prints new rows until an event is accepted. Rejects with NotRunning when the gateway ends.
 * @param known Keys of rows that are not printed; printed rows are added.
 */
export async function waitForEvent(
  context: CommandContext,
  client: ControlClient,
  route: AwaitedRoute,
  known: Set<string>,
): Promise<void> {
  const pause = pausesOf(client);
  for (;;) {
    const rows = await rowsOf(client, route).catch((thrown: unknown) => {
      throw thrown instanceof ConnectionLost && !thrown.isHung ? new NotRunning(context.gateway) : thrown;
    });
    const fresh = rows.filter(({ key }) => !known.has(key));
    for (const row of fresh.reverse()) {
      known.add(row.key);
      if (hasFlag(context, 'json')) printJsonLine(context, row);
      else for (const line of await linesOf(context, client, route, row)) context.out.print(`${line}\n`);
      if (!passedOver.has(row.status)) return;
    }
    await pause(pollMs);
  }
}

/** The rows of the route, and requests at a path like its own: its URL may have been mistyped at the sender. */
async function rowsOf(client: ControlClient, { name, profile }: AwaitedRoute): Promise<readonly HistoryRow[]> {
  const [own, refused] = await Promise.all([
    client.ask('webhook.deliveries', { route: name, profile, limit: newest }),
    client.ask('webhook.deliveries', { status: 'refused', limit: newest }),
  ]);
  const strays = refused.filter((row) => isStray(row) && /webhook/i.test(row.route));
  return [...own, ...strays].sort((one, other) => (one.key < other.key ? 1 : -1));
}

/** Whether the request reached no route; its row has the path. */
function isStray({ route }: HistoryRow): boolean {
  return route.startsWith('/');
}

async function linesOf(
  { gateway }: CommandContext,
  client: ControlClient,
  route: AwaitedRoute,
  row: HistoryRow,
): Promise<readonly string[]> {
  const { key, status, event, reason } = row;
  const why = reason === undefined ? '' : `: ${oneLine(reason)}`;
  // By its key: a sender chooses the delivery id, which a shell would interpret.
  if (!passedOver.has(status)) return [`Came: ${oneLine(event)}. See it by: ${agentOf(gateway)} events show ${key}`];
  const shown = status === 'ignored' ? await client.ask('webhook.delivery', { id: key, handshake: true }) : undefined;
  if (shown?.record.outcome === 'handshake')
    return [oneLine(reason ?? ''), ...(shown.record.body === '' ? [] : [`  ${oneLine(shown.record.body)}`])];
  if (status !== 'refused') return [`${stateWords(status)}${why}`];
  if (isStray(row)) return [`refused at ${oneLine(row.route)}${why}`];
  const { refusals } = await client.ask('webhook.doctor', route);
  const findings = refusals.find((one) => one.key === key)?.findings ?? [];
  return [`refused${why}`, ...findings.map(({ text }) => `→ ${oneLine(withHomeNamed(gateway, text))}`)];
}
