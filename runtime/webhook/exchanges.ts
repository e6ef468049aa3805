/**
 * The live data of the requests in progress, which a chart's context cannot hold: sockets, bytes and secrets. One row per
 * request, keyed by its id, removed when the request ends.
 */

import type { Write } from '../../actors/store/journal.ts';
import type { ClaimDelivery, Opened } from '../../actors/webhook/claim-delivery.ts';
import { lookUp, scalarText, stringify } from '../../machines/base/json.ts';
import type { BodyRule } from '../../machines/config/sources.ts';
import { isMultipart, type ParsedBody, parseBody, withoutCredential } from '../../machines/webhook/body.ts';
import { decodeBody } from '../../machines/webhook/charset.ts';
import {
  claimLifeMs,
  type EventRecord,
  type Hand,
  type RequestDetails,
  replayClaim,
} from '../../machines/webhook/record.ts';
import type { Outcome } from '../../machines/webhook/reply.ts';
import type { Part } from '../../machines/webhook/request-rules.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import type { BodyAccount } from '../http/body-budget.ts';
import type { Exchange } from '../http/http-server.ts';
import type { TracedSpan } from '../observe/tracing.ts';
import type { NextId } from '../system/ids.ts';
import type { WorkPools } from '../system/work-pools.ts';

export interface LiveRequest {
  readonly exchange: Exchange;
  readonly headers: Readonly<Record<string, string>>;
  /** The client's address, once it was asked for. @see addressIn */
  address: string | undefined;
  body: Buffer;
  /** The memory of the body, released once that is verified. */
  account: BodyAccount | undefined;
  /** The decoded body, after the first use. */
  text: string | undefined;
  /** The parsed body, after the first use. */
  parsed: ParsedBody | undefined;
  /** The work that the claim opened, until it is spawned. */
  opened: Opened;
  /** Time spent reading the body and running the script, in milliseconds. */
  bodyMs: number;
  scriptMs: number;
  /** Undefined unless traces are made. */
  span: TracedSpan | undefined;
  /** Set if the request ends before its claim. */
  readonly checksOnly?: true | undefined;
  /** The tool that submitted it without a signature. */
  readonly handedIn?: Hand | undefined;
  /** Set for an event of an array. */
  readonly part?: LivePart;
}

/** Connects an event of an array with the request that brought the array. */
export interface LivePart extends Part {
  /** Claims together with the other events, once each of them is ready or decided. */
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

/** What spawning a request takes. */
export interface SpawnPorts {
  readonly exchanges: Exchanges;
  readonly pools: () => WorkPools;
  readonly nextId: NextId;
  readonly nowMs: () => number;
}

const emptyBody = Buffer.alloc(0);
const notReplayed = { replayOf: undefined };
const nothing: Opened = { kind: 'nothing' };
const ended: ParsedBody = { ok: false, why: 'the request has ended' };

export function liveRequest(exchange: Exchange, body: Buffer = emptyBody): LiveRequest {
  return {
    exchange,
    headers: exchange.head.headers,
    address: undefined,
    body,
    account: undefined,
    text: undefined,
    parsed: undefined,
    opened: nothing,
    bodyMs: 0,
    scriptMs: 0,
    span: undefined,
  };
}

/**
 * The client's address; empty if no client sent the request, and if it was not asked for before the answer or before the
 * client left.
 */
export function addressIn(live: LiveRequest): string {
  live.address ??= live.exchange.address ?? '';
  return live.address;
}

/** The annotation of an event's record; undefined if it would be empty. */
export function requestDetailsOf(
  { script, groupKey, receivedAtMs }: RequestContext,
  live: LiveRequest | undefined,
  nowMs: number,
): RequestDetails | undefined {
  const bodyMs = live?.bodyMs ?? 0;
  const scriptMs = live?.scriptMs ?? 0;
  // Zero if the clock was set back meanwhile.
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

export function replayed({ replay }: RequestContext): Pick<EventRecord, 'replayOf' | 'isEdited' | 'isDry'> {
  if (replay === undefined) return notReplayed;
  return { replayOf: replay.of, isEdited: replay.isEdited, isDry: replay.isDry };
}

/** The claim by which two gateways that replay several events keep one replay of each. */
export function claimOfReplay({ id, replay }: RequestContext): readonly Write[] {
  if (replay?.isOnce === undefined) return [];
  return [{ kind: 'claim', name: replayClaim(replay.of), value: { eventKey: id }, forMs: claimLifeMs }];
}

/** The decoded body; undefined if it is not UTF-8. Decoded once. */
export function textOf(live: LiveRequest): string | undefined {
  live.text ??= decodeBody(live.body);
  return live.text;
}

/** The payload, or why there is none. Parsed once: a request has one route, and a route one body rule. */
export function parsedOf(live: LiveRequest | undefined, rule?: BodyRule): ParsedBody {
  if (live === undefined) return ended;
  if (live.parsed !== undefined) return live.parsed;
  // The headers are those of the array; each of its events is JSON.
  const headers = live.part === undefined ? live.headers : {};
  const hasFiles = isMultipart(headers);
  const parsed = parseBody(hasFiles ? live.body : textOf(live), headers, rule);
  live.parsed = parsed;
  // The text is what the journal keeps: of files no bytes. An array is not kept, only its events, which have no credential.
  if (parsed.ok && (hasFiles || (rule?.omit !== undefined && rule.shape !== 'each')))
    live.text = stringify(rule === undefined ? parsed.value : withoutCredential(parsed.value, rule));
  return parsed;
}

/** The text of a field of an object body; empty if the field is missing. */
export function fieldOf(live: LiveRequest, path: string): string {
  const parsed = parsedOf(live);
  return parsed.ok ? scalarText(lookUp(parsed.value, path)) : '';
}
