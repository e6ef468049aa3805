/** Parses the parameters that select a route, events, runs or deliveries. @see DUR-2 in docs/specification.md */

import type { JsonObject } from '../../machines/base/json.ts';
import { rowLimit } from '../../machines/base/row-limits.ts';
import { timeMs } from '../../machines/base/since.ts';
import { textOf } from './command.ts';
import type { EventChoice, HistoryQuery } from './contract/choices.ts';
import { refuse } from './contract/refusal.ts';
import { type AskedRoute, profileOf } from './home-view.ts';

export function askedRoute(params: JsonObject): AskedRoute {
  const name = textOf(params, 'name');
  return params.profile === undefined ? { name } : { name, profile: profileOf(params.profile) };
}

export function choiceOf({ route, profile }: JsonObject): EventChoice {
  return {
    ...(typeof route === 'string' ? { route } : {}),
    ...(typeof profile === 'string' ? { profile } : {}),
  };
}

/** The filters of a list. @throws Refusal `params-missing` if `since` is not a time */
export function queryOf(params: JsonObject): HistoryQuery {
  const { limit, before, status, since } = params;
  if (since !== undefined && Number.isNaN(timeMs(String(since)))) {
    return refuse('params-missing', `since "${String(since)}" must be an ISO 8601 time`);
  }
  return {
    limit: rowLimit(limit),
    ...choiceOf(params),
    ...(typeof before === 'string' ? { before } : {}),
    ...(typeof status === 'string' ? { status } : {}),
    ...(typeof since === 'string' ? { since } : {}),
  };
}

export function unknownDelivery(id: string, choice: EventChoice): never {
  return refuse(
    'delivery-unknown',
    `no event ${formatChoice(id, choice)} is in the history; \`agent events\` lists them`,
  );
}

/** The id with its filters, for messages. */
export function formatChoice(id: string, { route, profile }: EventChoice): string {
  const ofRoute = route === undefined ? '' : ` of route "${route}"`;
  return `"${id}"${ofRoute}${profile === undefined ? '' : ` of profile "${profile}"`}`;
}
