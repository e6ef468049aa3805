/**
 * The commands about deliveries to targets: list, retry and drop them, and list the targets.
 * @see CLI-2 and DLV-4 in docs/specification.md
 */

import { cut, defined, type JsonObject } from '../../machines/base/json.ts';
import { rowLimit } from '../../machines/base/row-limits.ts';
import { sweptStatuses } from '../../machines/base/status.ts';
import { type FailureGrouping, failureGroupings } from '../../machines/dispatch/failure-groups.ts';
import type { FailureView } from '../dispatch/failure-view.ts';
import { type Commands, givenText, invalidParameter, ofDaemon, optionalText, textOf } from './command.ts';
import type { DeliveryQuery, FailureChoice, OutgoingRow, Sweep, SweepQuery, Swept } from './contract/deliveries.ts';
import { queryOf } from './event-choice.ts';

export const deliveryCommands = {
  'deliveries.list': ofDaemon(({ deliveryService }, params) => deliveryService.list(deliveryQueryOf(params))),
  'deliveries.show': ofDaemon(({ deliveryService }, params) => deliveryService.show(textOf(params, 'id'))),
  'deliveries.retry': ofDaemon(async ({ deliveryService, failures }, params) => {
    const how = { force: params.force === true };
    const ids = await chosenIds(failures, params);
    if (ids !== undefined) return deliveryService.retryEach(ids, how);
    return answerOf(
      'retried',
      isOfSeveral(params)
        ? await deliveryService.retryAll(sweepQueryOf(params), how)
        : await deliveryService.retry(textOf(params, 'id'), how),
    );
  }),

  'deliveries.drop': ofDaemon(async ({ deliveryService, failures }, params) => {
    const ids = await chosenIds(failures, params);
    if (ids !== undefined) return deliveryService.dropEach(ids, reasonOf(params));
    return answerOf(
      'dropped',
      isOfSeveral(params)
        ? await deliveryService.dropAll(sweepQueryOf(params), reasonOf(params))
        : await deliveryService.drop(textOf(params, 'id'), reasonOf(params)),
    );
  }),

  'deliveries.confirm': ofDaemon(async ({ deliveryService, failures }, params) =>
    deliveryService.confirmEach((await chosenIds(failures, params)) ?? idsOf(params), reasonOf(params)),
  ),
  'deliveries.progress': ofDaemon(({ failures }, params) => failures.progress(idsOf(params))),
  'failures.groups': ofDaemon(({ failures }, params) => failures.groups(failureChoiceOf(params), groupingOf(params))),
  'failures.list': ofDaemon(({ failures }, params) => {
    const page = defined({ key: optionalText(params, 'key'), before: optionalText(params, 'cursor') });
    return failures.list(failureChoiceOf(params), { ...page, limit: rowLimit(params.limit) });
  }),

  'deliveries.targets': ofDaemon(({ deliveryService }) => deliveryService.targets()),
} satisfies Partial<Commands>;

function isOfSeveral({ id, all, since, status }: JsonObject): boolean {
  return all === true || (id === undefined && (since ?? status) !== undefined);
}

function sweepQueryOf(params: JsonObject): SweepQuery {
  const { status: _, limit: __, ...query } = deliveryQueryOf(params);
  if (params.status === undefined) return query;
  const status = sweptStatuses.find((one) => one === params.status);
  return status === undefined ? invalidParameter(params, 'status', sweptStatuses.join(', ')) : { ...query, status };
}

function answerOf(name: 'retried' | 'dropped', answer: OutgoingRow | Sweep): OutgoingRow | Swept {
  if (!('done' in answer)) return answer;
  const { done, ...rest } = answer;
  return { [name]: done, ...rest };
}

function deliveryQueryOf(params: JsonObject): DeliveryQuery {
  return { ...queryOf(params), ...defined({ target: givenText(params, 'target') }) };
}

/** The given ids, or those of the given failure group; undefined if neither is given. */
async function chosenIds(failures: FailureView, params: JsonObject): Promise<readonly string[] | undefined> {
  if (params.ids !== undefined) return idsOf(params);
  const key = optionalText(params, 'key');
  return key === undefined ? undefined : failures.idsOf(key, failureChoiceOf({ ...params, state: 'open' }));
}

function idsOf(params: JsonObject): readonly string[] {
  const { ids } = params;
  if (Array.isArray(ids) && ids.every((id) => typeof id === 'string')) return ids;
  return invalidParameter(params, 'ids', 'a list of ids');
}

/** Stored and shown with the record; long enough for typed text. */
const maxReasonLength = 500;

function reasonOf(params: JsonObject): string | undefined {
  const reason = optionalText(params, 'reason')?.trim();
  return reason === undefined || reason === '' ? undefined : cut(reason, maxReasonLength);
}

function failureChoiceOf(params: JsonObject): FailureChoice {
  const { state } = params;
  const { profile, since } = queryOf(params);
  if (state !== undefined && state !== 'open' && state !== 'dropped')
    return invalidParameter(params, 'state', 'open or dropped');
  return { state: state ?? 'open', ...defined({ profile, since }) };
}

function groupingOf(params: JsonObject): FailureGrouping {
  const { by = 'cause' } = params;
  return failureGroupings.find((one) => one === by) ?? invalidParameter(params, 'by', failureGroupings.join(', '));
}
