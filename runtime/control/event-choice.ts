/** Which of the events, runs or deliveries a command means, as its parameters say it. @see DUR-2 in docs/specification.md */

import type { JsonObject } from '../../machines/base/json.ts';
import { rowLimit } from '../../machines/base/row-limits.ts';
import type { EventChoice, HistoryQuery } from './contract.ts';
import { Refusal } from './refusal.ts';

export function choiceOf({ route, profile }: JsonObject): EventChoice {
  return {
    ...(typeof route === 'string' ? { route } : {}),
    ...(typeof profile === 'string' ? { profile } : {}),
  };
}

/** What a list is narrowed by. @throws Refusal `params-missing` if `since` is no time */
export function queryOf(params: JsonObject): HistoryQuery {
  const { limit, before, status, since } = params;
  if (since !== undefined && Number.isNaN(Date.parse(String(since)))) {
    throw new Refusal('params-missing', `since "${String(since)}" must be an ISO 8601 time`);
  }
  return {
    limit: rowLimit(limit),
    ...choiceOf(params),
    ...(typeof before === 'string' ? { before } : {}),
    ...(typeof status === 'string' ? { status } : {}),
    ...(typeof since === 'string' ? { since } : {}),
  };
}

/** The id with what it was narrowed by, for messages. */
export function spellChoice(id: string, { route, profile }: EventChoice): string {
  const ofRoute = route === undefined ? '' : ` of route "${route}"`;
  return `"${id}"${ofRoute}${profile === undefined ? '' : ` of profile "${profile}"`}`;
}
