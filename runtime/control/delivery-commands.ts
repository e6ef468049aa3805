/**
 * The commands about deliveries to targets: looking at them, trying them again, giving them up, and the targets themselves.
 * @see CLI-2 and DLV-4 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import { rowLimit } from '../../machines/base/row-limits.ts';
import type { Command, CommandHost } from './commands.ts';
import { Refusal } from './refusal.ts';
import type { DeliveryDesk, SendingQuery, Sweep } from './view.ts';

export const deliveryCommands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['deliveries.list', asking((desk, params) => desk.list(queryOf(params)))],
  ['deliveries.show', asking((desk, params) => desk.show(idOf(params)))],
  [
    'deliveries.retry',
    asking(async (desk, params) =>
      params.all === true
        ? sweepOf('retried', await desk.retryAll(queryOf(params)))
        : desk.retry(idOf(params), { force: params.force === true }),
    ),
  ],
  [
    'deliveries.drop',
    asking(async (desk, params) =>
      params.all === true ? sweepOf('dropped', await desk.dropAll(queryOf(params))) : desk.drop(idOf(params)),
    ),
  ],
  ['deliveries.targets', asking((desk) => desk.targets())],
]);

function sweepOf(name: 'retried' | 'dropped', { done, left, refusals }: Sweep): JsonObject {
  return { [name]: done, left, refusals: refusals.map((one) => ({ ...one })) };
}

function asking(run: (desk: DeliveryDesk, params: JsonObject) => unknown): Command {
  return { access: 'daemon', run: async (params, host) => run(deskOf(host), params) };
}

function deskOf({ daemon }: CommandHost): DeliveryDesk {
  if (daemon === undefined)
    throw new Refusal('gateway-not-running', 'the gateway is not running; start it with `agent gateway`');
  return daemon.sendings;
}

function idOf({ id }: JsonObject): string {
  if (typeof id === 'string' && id !== '') return id;
  throw new Refusal('params-missing', 'the parameter "id" is missing');
}

function queryOf({ limit, route, profile, status, target, before }: JsonObject): SendingQuery {
  return {
    limit: rowLimit(limit),
    ...(typeof route === 'string' ? { route } : {}),
    ...(typeof profile === 'string' ? { profile } : {}),
    ...(typeof status === 'string' ? { status } : {}),
    ...(typeof target === 'string' ? { target } : {}),
    ...(typeof before === 'string' ? { before } : {}),
  };
}
