/**
 * Reads the file of dynamic subscriptions: routes by name. A broken record is skipped and reported; a file that is not a
 * JSON object is a fault. So is an empty file, which an interrupted writer leaves; `{}` means none.
 * @see SUB-1, SUB-2 and SUB-3 in docs/specification.md
 */

import { type Fault, fault } from '../base/fault.ts';
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { dynamicRoutePattern } from '../base/names.ts';
import type { Pieces } from '../base/pieces.ts';
import { deepestJson, isTooDeep, readJson } from '../base/read-json.ts';
import { samePath } from './document.ts';
import { type RouteContext, readRoute } from './read-route.ts';
import { recordTexts } from './record-texts.ts';
import { type RouteWithSecret, routeSchema } from './route.ts';
import { enterRoute, type GrowingBook, type RouteBook } from './route-book.ts';
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
      readonly book: RouteBook<RouteWithSecret>;
      readonly problems: readonly SubscriptionProblem[];
      /** The routes that are new or changed. */
      readonly fresh: readonly RouteWithSecret[];
      readonly known: KnownRecords;
    }
  | { readonly ok: false; readonly fault: Fault };

/** What was read from each record, with its text. */
export type KnownRecords = ReadonlyMap<string, { readonly text: string; readonly read: SubscriptionRead }>;

type SubscriptionRead =
  | { readonly ok: true; readonly value: RouteWithSecret }
  | { readonly ok: false; readonly problems: readonly SubscriptionProblem[] };

export type SubscriptionContext = Omit<RouteContext, 'source'>;

const corrupt = fault(
  'subscriptions-corrupt',
  'webhook_subscriptions.json is not a JSON object; correct it, write {} for none, or move it away; until then nothing overwrites it, and the last good subscriptions apply, or after a start none, and their senders get 503',
);

/**
 * Reads the file record by record, so that the caller can pause after each.
 * @param known What was read before in the same context: a record with the same text is not read again, and its route is the
 * same object.
 */
export function* readingSubscriptions(
  text: string,
  context: SubscriptionContext,
  known?: KnownRecords,
): Pieces<SubscriptionsRead> {
  const found = new Map<string, { readonly text: string; readonly read: SubscriptionRead }>();
  const records = recordTexts(text);
  for (let next = records.next(); ; next = records.next()) {
    if (next.done === true) {
      if (!next.value) return { ok: false, fault: corrupt };
      break;
    }
    const { name, text: written } = next.value;
    const before = known?.get(name);
    const same = before?.text === written;
    const record = same ? undefined : readJson(written);
    if (!same && record === undefined) return { ok: false, fault: corrupt };
    const read =
      record === undefined
        ? before?.read
        : isTooDeep(written)
          ? { ok: false as const, problems: [tooDeep(name)] }
          : readSubscription(name, record, context);
    // Stored with the newest text, so that a slice of an older file does not keep it in memory.
    if (read !== undefined) found.set(name, { text: written, read });
    yield undefined;
  }
  const routes: RouteWithSecret[] = [];
  const book: GrowingBook<RouteWithSecret> = new Map();
  const fresh: RouteWithSecret[] = [];
  const problems: SubscriptionProblem[] = [];
  for (const [name, { read }] of found) {
    if (!read.ok) problems.push(...read.problems);
    else {
      routes.push(read.value);
      enterRoute(book, read.value);
      if (known?.get(name)?.read !== read) fresh.push(read.value);
    }
    yield undefined;
  }
  return { ok: true, routes, book, problems, fresh, known: found };
}

function tooDeep(name: string): SubscriptionProblem {
  return { name, message: `it is nested more than ${deepestJson} deep; take levels out`, code: 'json-depth' };
}

/** Reads one record, so that a new one is checked by the same rules before it is written. Returns all findings at once. */
export function readSubscription(name: string, record: Json, context: SubscriptionContext): SubscriptionRead {
  const problems: SubscriptionProblem[] = [];
  if (!dynamicRoutePattern.test(name)) {
    const message = `the name "${name}" must be lower-case letters, digits, "-" and "_", beginning with a letter or digit`;
    problems.push({ name, message, code: 'subscription-name' });
  }
  const invalid = isJsonObject(record)
    ? validate(routeSchema, record)
    : [{ path: [], message: `the record of "${name}" must be an object with the keys of a route`, code: 'wrong-type' }];
  for (const { message, code } of invalid) problems.push({ name, message, code });
  if (!isJsonObject(record)) return { ok: false, problems };
  const unread = new Set(invalid.map(({ path }) => String(path[0])));
  const read = readRoute(name, record, { ...context, source: 'dynamic', unread });
  for (const { path, message, code } of read.ok ? [] : read.findings) {
    // What the schema has reported for this path is not reported again.
    if (!invalid.some((one) => samePath(one.path, path))) problems.push({ name, message, code });
  }
  return read.ok && problems.length === 0 ? { ok: true, value: read.value } : { ok: false, problems };
}

/** The file's text with a record set or, if it is undefined, removed. Other records stay as they are written. */
export function editSubscriptions(text: string, name: string, record: JsonObject | undefined): string {
  const members = [...recordTexts(text)]
    .filter((one) => one.name !== name)
    .map((one) => `  ${JSON.stringify(one.name)}: ${one.text}`);
  if (record !== undefined) {
    members.push(`  ${JSON.stringify(name)}: ${JSON.stringify(record, null, 2).replaceAll('\n', '\n  ')}`);
  }
  return members.length === 0 ? '{}\n' : `{\n${members.join(',\n')}\n}\n`;
}
