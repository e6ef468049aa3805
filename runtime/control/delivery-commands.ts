/**
 * The commands about deliveries to targets: looking at them, trying them again, giving them up, and the targets themselves.
 * @see CLI-2 and DLV-4 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import { type Commands, ofDaemon, textOf } from './command.ts';
import type { OutgoingRow, SendingQuery, Sweep, Swept } from './contract.ts';
import { queryOf } from './event-choice.ts';

export const deliveryCommands = {
  'deliveries.list': ofDaemon(({ sendings }, params) => sendings.list(sendingQueryOf(params))),
  'deliveries.show': ofDaemon(({ sendings }, params) => sendings.show(textOf(params, 'id'))),
  'deliveries.retry': ofDaemon(async ({ sendings }, params) =>
    answerOf(
      'retried',
      params.all === true
        ? await sendings.retryAll(sendingQueryOf(params))
        : await sendings.retry(textOf(params, 'id'), { force: params.force === true }),
    ),
  ),

  'deliveries.drop': ofDaemon(async ({ sendings }, params) =>
    answerOf(
      'dropped',
      params.all === true ? await sendings.dropAll(sendingQueryOf(params)) : await sendings.drop(textOf(params, 'id')),
    ),
  ),

  'deliveries.targets': ofDaemon(({ sendings }) => sendings.targets()),
} satisfies Partial<Commands>;

function answerOf(name: 'retried' | 'dropped', answer: OutgoingRow | Sweep): OutgoingRow | Swept {
  if (!('done' in answer)) return answer;
  const { done, ...rest } = answer;
  return { [name]: done, ...rest };
}

function sendingQueryOf(params: JsonObject): SendingQuery {
  const { target } = params;
  return { ...queryOf(params), ...(typeof target === 'string' ? { target } : {}) };
}
