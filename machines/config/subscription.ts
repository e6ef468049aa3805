/**
 * The dynamic subscriptions as their file holds them: routes by name. A broken record is skipped and reported; a file
 * that is no JSON object is a fault.
 * @see SUB-1, SUB-2 and SUB-3 in docs/specification.md
 */

import { type Fault, fault } from '../base/fault.ts';
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { dynamicRoutePattern } from '../base/names.ts';
import { samePath } from './document.ts';
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

/** Reads one record, so that a new one is held to the same rules before it is written. All findings come at once. */
export function readSubscription(
  name: string,
  record: Json,
  context: SubscriptionContext,
):
  | { readonly ok: true; readonly value: RouteWithSecret }
  | { readonly ok: false; readonly problems: readonly SubscriptionProblem[] } {
  const problems: SubscriptionProblem[] = [];
  if (!dynamicRoutePattern.test(name)) {
    const message = `the name "${name}" must be lower-case letters, digits, "-" and "_", beginning with a letter or digit`;
    problems.push({ name, message, code: 'subscription-name' });
  }
  const unfit = validate(routeSchema, record);
  for (const { message, code } of unfit) problems.push({ name, message, code });
  if (!isJsonObject(record)) return { ok: false, problems };
  const unread = new Set(unfit.map(({ path }) => String(path[0])));
  const read = readRoute(name, record, { ...context, source: 'dynamic', unread });
  for (const { path, message, code } of read.ok ? [] : read.findings) {
    // What the schema has said of this very place is not said twice.
    if (!unfit.some((one) => samePath(one.path, path))) problems.push({ name, message, code });
  }
  return read.ok && problems.length === 0 ? { ok: true, value: read.value } : { ok: false, problems };
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
