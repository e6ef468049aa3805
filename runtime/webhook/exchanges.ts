/**
 * The live side of the requests under way: what cannot lie in a machine's context because it is a socket, bytes or a
 * secret. One row per request, keyed by its id, gone when the request ends.
 */

import type { ClaimDelivery, Opened } from '../../actors/webhook/claim-delivery.ts';
import { lookUp, scalarText } from '../../machines/base/json.ts';
import type { BodyRule } from '../../machines/config/sources.ts';
import { decodeBody, type ParsedBody, parseBody } from '../../machines/webhook/body.ts';
import type { EventRecord, Hand, Told } from '../../machines/webhook/record.ts';
import type { Outcome } from '../../machines/webhook/reply.ts';
import type { Part } from '../../machines/webhook/request-rules.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import type { Exchange } from '../http/front.ts';
import type { TracedSpan } from '../observe/tracing.ts';

export interface LiveRequest {
  readonly exchange: Exchange;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the client, asked while the exchange knows it; empty where no client sent it. */
  readonly address: string;
  body: Buffer;
  /** The body decoded, once somebody asked for it. */
  text: string | undefined;
  /** The body read, once somebody asked for it. */
  parsed: ParsedBody | undefined;
  /** What the claim opened, until the wards are told. */
  opened: Opened;
  /** How long the body and the script were waited for, in milliseconds. */
  bodyMs: number;
  scriptMs: number;
  /** Where traces are made. */
  span: TracedSpan | undefined;
  /** It ends before anything is claimed. */
  readonly checksOnly?: true | undefined;
  /** Who handed it in without a signature. */
  readonly handedIn?: Hand | undefined;
  /** Where it is an event of an array. */
  readonly part?: LivePart;
}

/** The ways from an event of an array to the request that brought it. */
export interface LivePart extends Part {
  /** Claims with the other events, once each of them is ready or decided. */
  readonly claim: ClaimDelivery;
  /** Only the first answer counts. */
  readonly answered: (outcome: Outcome, reason?: string) => void;
}

export interface Exchanges {
  readonly size: number;
  get(id: string): LiveRequest | undefined;
  set(id: string, live: LiveRequest): unknown;
  delete(id: string): boolean;
  clear(): void;
}

const noBody = Buffer.alloc(0);
const notReplayed = { replayOf: undefined };
const nothing: Opened = { kind: 'nothing' };
const ended: ParsedBody = { ok: false, why: 'the request has ended' };

export function liveRequest(exchange: Exchange, body: Buffer = noBody): LiveRequest {
  return {
    exchange,
    headers: exchange.head.headers,
    address: exchange.address ?? '',
    body,
    text: undefined,
    parsed: undefined,
    opened: nothing,
    bodyMs: 0,
    scriptMs: 0,
    span: undefined,
  };
}

/** What a record says of the request beyond its own fields; undefined where there is nothing to say. */
export function toldOf(
  { script, groupKey, receivedAtMs }: RequestContext,
  live: LiveRequest | undefined,
  nowMs: number,
): Told | undefined {
  const bodyMs = live?.bodyMs ?? 0;
  const scriptMs = live?.scriptMs ?? 0;
  // A clock that was set back meanwhile measures nothing.
  const checkMs = Math.max(0, nowMs - receivedAtMs);
  const handedIn = live?.handedIn;
  const isPlain = script === undefined && groupKey === undefined && handedIn === undefined;
  if (isPlain && checkMs === 0 && bodyMs === 0 && scriptMs === 0) return undefined;
  return {
    bodyMs: bodyMs || undefined,
    checkMs: checkMs || undefined,
    scriptMs: scriptMs || undefined,
    script,
    groupKey,
    handedIn,
  };
}

/** The fields of an event's record that say what it replays. */
export function replayed({ replay }: RequestContext): Pick<EventRecord, 'replayOf' | 'isEdited' | 'isDry'> {
  if (replay === undefined) return notReplayed;
  return { replayOf: replay.of, isEdited: replay.isEdited, isDry: replay.isDry };
}

/** The decoded body; undefined where it is not UTF-8. Decoded once for all who ask. */
export function textOf(live: LiveRequest): string | undefined {
  live.text ??= decodeBody(live.body);
  return live.text;
}

/** The payload, or why there is none. Read once: a request has one route, and a route one rule of bodies. */
export function parsedOf(live: LiveRequest | undefined, rule?: BodyRule): ParsedBody {
  if (live === undefined) return ended;
  // The headers are those of the array; an event of it is JSON.
  live.parsed ??= parseBody(textOf(live), live.part === undefined ? live.headers : {}, rule);
  return live.parsed;
}

/** The text of a field of a body that is an object; empty where it has none. */
export function fieldOf(live: LiveRequest, path: string): string {
  const parsed = parsedOf(live);
  return parsed.ok ? scalarText(lookUp(parsed.value, path)) : '';
}
