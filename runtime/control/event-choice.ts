/** Parses the parameters that select a route, events, runs or deliveries. @see DUR-2 in docs/specification.md */

import { defined, type JsonObject } from '../../machines/base/json.ts';
import { rowLimit } from '../../machines/base/row-limits.ts';
import { timeMs } from '../../machines/base/since.ts';
import { givenText, invalidParameter, textOf } from './command.ts';
import type { EventChoice, HistoryQuery } from './contract/choices.ts';
import { refuse } from './contract/refusal.ts';
import { type AskedRoute, profileOf } from './home-view.ts';

export function askedRoute(params: JsonObject): AskedRoute {
  const name = textOf(params, 'name');
  return params.profile === undefined ? { name } : { name, profile: profileOf(params.profile) };
}

export function choiceOf(params: JsonObject): EventChoice {
  return defined({ route: givenText(params, 'route'), profile: givenText(params, 'profile') });
}

/** The filters of a list. @throws Refusal `params-missing` if one is no text, or `since` is not a time */
export function queryOf(params: JsonObject): HistoryQuery {
  const since = givenText(params, 'since');
  if (since !== undefined && Number.isNaN(timeMs(since))) return invalidParameter(params, 'since', 'an ISO 8601 time');
  const filters = { before: givenText(params, 'before'), status: givenText(params, 'status'), since };
  return { limit: rowLimit(params.limit), ...choiceOf(params), ...defined(filters) };
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
