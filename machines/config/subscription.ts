/**
 * The dynamic subscriptions as their file holds them: routes by name. A broken record is skipped and reported; a file
 * that is no JSON object is a fault.
 * @see SUB-1, SUB-2 and SUB-3 in docs/specification.md
 */

import { type Fault, fault } from '../base/fault.ts';
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { dynamicRoutePattern } from '../base/names.ts';
import { type RouteContext, readRoute } from './read-route.ts';
import { type RouteWithSecret, routeSchema } from './route.ts';
import { validate } from './validate.ts';

export interface SubscriptionProblem {
  readonly name: string;
  readonly message: string;
  readonly code: string;
}

export type SubscriptionsRead =
  | {
      readonly ok: true;
      readonly routes: readonly RouteWithSecret[];
      readonly problems: readonly SubscriptionProblem[];
    }
  | { readonly ok: false; readonly fault: Fault };

export type SubscriptionContext = Omit<RouteContext, 'source'>;

export function readSubscriptions(text: string, context: SubscriptionContext): SubscriptionsRead {
  const records = parseRecords(text);
  if (records === undefined) {
    return {
      ok: false,
      fault: fault(
        'subscriptions-corrupt',
        'webhook_subscriptions.json is not a JSON object; mend it or move it away — the last good subscriptions stay in force and nothing overwrites it',
      ),
    };
  }
  const routes: RouteWithSecret[] = [];
  const problems: SubscriptionProblem[] = [];
  for (const [name, record] of Object.entries(records)) {
    const read = readSubscription(name, record, context);
    if (read.ok) routes.push(read.value);
    else problems.push(...read.problems);
  }
  return { ok: true, routes, problems };
}

/** Reads one record, so that a new one is held to the same rules before it is written. */
export function readSubscription(
  name: string,
  record: Json,
  context: SubscriptionContext,
):
  | { readonly ok: true; readonly value: RouteWithSecret }
  | { readonly ok: false; readonly problems: readonly SubscriptionProblem[] } {
  const problem = (message: string, code: string): SubscriptionProblem => ({ name, message, code });
  if (!dynamicRoutePattern.test(name)) {
    const message = `the name "${name}" must be lower-case letters, digits, "-" and "_", beginning with a letter or digit`;
    return { ok: false, problems: [problem(message, 'subscription-name')] };
  }
  const unfit = validate(routeSchema, record);
  if (unfit.length > 0) return { ok: false, problems: unfit.map(({ message, code }) => problem(message, code)) };
  const read = readRoute(name, record as JsonObject, { ...context, source: 'dynamic' });
  if (read.ok) return { ok: true, value: read.value };
  return { ok: false, problems: read.findings.map(({ message, code }) => problem(message, code)) };
}

/** The text of the file with a record set, or taken out where there is none. */
export function editSubscriptions(text: string, name: string, record: JsonObject | undefined): string {
  const { [name]: _, ...others } = parseRecords(text) ?? {};
  return `${JSON.stringify(record === undefined ? others : { ...others, [name]: record }, null, 2)}\n`;
}

function parseRecords(text: string): JsonObject | undefined {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
