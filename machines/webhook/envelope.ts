/**
 * Reads an event's type and delivery id from headers and payload, and matches the type against the route's list. Supports
 * the headers of GitHub and GitLab, and the places that a source names.
 * @see EVT-1, EVT-2 and IDM-2 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import type { Route } from '../config/route.ts';
import type { Place } from '../config/signature-scheme.ts';
import type { Source } from '../config/sources.ts';
import { digestOf, readerOf, type SignedRequest, visibleAscii } from './signature.ts';

/** Lower-case names; values are bytes as Latin-1 text. */
type Headers = Readonly<Record<string, string>>;

/** A header's real name takes precedence over its alias (docs/specification.md, names). */
const eventHeaders = ['x-github-event', 'x-hosta-event', 'x-gitlab-event', 'x-hostb-event'] as const;
const deliveryHeaders = ['x-github-delivery', 'x-hosta-delivery', 'webhook-id', 'x-request-id'] as const;
const signedFirst = ['webhook-id', ...deliveryHeaders] as const;
/** An id is written to disk, into the log and into tables many times; a longer one counts as absent. */
const maxIdLength = 1_024;
const typeFields = ['event_type', 'type'] as const;
/** A type is used in answers, tables and a run's environment; longer or multi-line text is not a type. */
const maxTypeLength = 256;
const control = /\p{Cc}/u;
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** A header's value as UTF-8 text, with U+FFFD for invalid bytes. */
export function headerText(value: string): string {
  return visibleAscii.test(value) ? value : utf8.decode(Buffer.from(value, 'latin1'));
}

export type TypeReader = (headers: Headers, payload: JsonObject) => string;

/** Reads the type from the source's place; without a source, or if it is not there, from the known senders' places. */
export function typeReader(source: Source | undefined): TypeReader {
  if (source === undefined) return eventTypeOf;
  const { eventKeyBeside: beside } = source;
  const readers = source.event.map((one) => (Array.isArray(one) ? one : [one as Place]).map(readerOf));
  return (headers, payload) => {
    const request = withoutBody(headers, payload);
    for (const places of readers) {
      let type = '';
      for (const read of places) {
        const text = headerText(read(request) ?? '');
        type += type === '' || text === '' ? text : `.${text}`;
      }
      if (isType(type)) return type;
    }
    const key = beside && Object.keys(payload).find((one) => one !== beside && isType(one));
    return key ?? 'unknown';
  };
}

const emptyBody = new Uint8Array();

function withoutBody(headers: Headers, payload: JsonObject | undefined): SignedRequest {
  return { headers, body: emptyBody, nowMs: 0, payload: () => payload };
}

export function eventTypeOf(headers: Headers, payload: JsonObject): string {
  for (const name of eventHeaders) {
    const value = headers[name];
    if (value === undefined) continue;
    const type = headerText(value);
    if (isType(type)) return type;
  }
  for (const field of typeFields) {
    const value = Object.hasOwn(payload, field) ? payload[field] : undefined;
    if (typeof value === 'string' && isType(value)) return value;
  }
  return 'unknown';
}

function isType(text: string): boolean {
  return text !== '' && text.length <= maxTypeLength && !control.test(text);
}

/**
 * The sender's delivery id; undefined if there is none or it is empty. An id beyond visible ASCII may have lost bytes, so
 * that two ids look alike: with a digest of the body appended, a repeated delivery keeps its id and different events never
 * share one.
 */
export function deliveryIdOf(headers: Headers, body: Uint8Array, isIdSigned = false): string | undefined {
  for (const name of isIdSigned ? signedFirst : deliveryHeaders) {
    const value = headers[name];
    if (value !== undefined && value !== '' && value.length <= maxIdLength) return idOf(value, body);
  }
  return undefined;
}

function idOf(value: string, body: Uint8Array): string {
  return visibleAscii.test(value) ? value : `${headerText(value)}~${digestOf(body)}`;
}

/** @param isIdSigned whether the signature covers `webhook-id`, which then takes precedence over unsigned headers */
export type IdReader = (
  headers: Headers,
  payload: JsonObject | undefined,
  body: Uint8Array,
  isIdSigned: boolean,
) => string | undefined;

/** Reads the id from the route's or its source's place; without either, from the known senders' places (IDM-2). */
export function idReader({ deliveryIdAt }: Pick<Route, 'deliveryIdAt'>, source: Source | undefined): IdReader {
  const places = deliveryIdAt === undefined ? source?.id : [deliveryIdAt];
  if (places === undefined) return (headers, _, body, isIdSigned) => deliveryIdOf(headers, body, isIdSigned);
  const readers = places.map((one) => [one].flat().map(readerOf));
  const isByBody = deliveryIdAt === undefined && source?.bodyDiffersBy !== undefined;
  return (headers, payload, body) => {
    const request = withoutBody(headers, payload);
    for (const parts of readers) {
      const texts = parts.map((read) => read(request));
      const value = texts.includes(undefined) ? undefined : texts.join(' ');
      if (value !== undefined && value.length <= maxIdLength) return idOf(value, body);
    }
    return isByBody ? digestOf(body) : undefined;
  };
}

/** Compiles a route's list of events; an empty list matches all. */
export function eventMatcher(events: readonly string[]): (type: string) => boolean {
  if (events.length === 0) return () => true;
  const accepted = new Set(events.flatMap((event) => [event, canonical(event)]));
  return (type) => accepted.has(type) || accepted.has(canonical(type));
}

/** GitHub's event for a newly registered webhook. */
export function isPing(type: string): boolean {
  return type === 'ping';
}

/** GitLab's display form in lower case: `Merge Request Hook` becomes `merge_request`. */
function canonical(type: string): string {
  if (!type.endsWith(' Hook')) return type;
  return type.slice(0, -' Hook'.length).toLowerCase().replaceAll(' ', '_');
}
