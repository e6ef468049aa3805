/**
 * Records the decision about each request: one log line (accepted ones share lines), a row in the history if the event
 * was ignored or repeats an id, and a row in memory if it was refused or repeats a signature. Refusals are kept in memory
 * only, so third parties cannot fill the disk.
 * @see DUR-2, SEC-8 and OBS-1 in docs/specification.md
 */

import type { LogLevel } from '../../actors/ports.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { cut } from '../../machines/base/json.ts';
import { stateWords } from '../../machines/base/status.ts';
import type { Route } from '../../machines/config/route.ts';
import { deliveryIdOf } from '../../machines/webhook/envelope.ts';
import type { EventRecord } from '../../machines/webhook/record.ts';
import { type Outcome, statusOf } from '../../machines/webhook/reply.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import { senderOf } from '../http/sender.ts';
import { type AcceptedLinePorts, createAcceptedLines } from './accepted-lines.ts';
import {
  addressIn,
  claimOfReplay,
  fieldOf,
  type LiveRequest,
  replayed,
  requestDetailsOf,
  textOf,
} from './exchanges.ts';
import { createLastRefusals, type LastRefusals, type RefusalPorts } from './last-refusals.ts';
import { createRefusedRequests, type RefusedRequests } from './refused-requests.ts';

export interface Decisions {
  /** Records the end of a request; `live` is its row in the table of exchanges. */
  decided(context: RequestContext, live: LiveRequest | undefined): void;
  readonly refused: Pick<RefusedRequests, 'newestFirst' | 'withId'>;
  /** The last refused requests of a route as they came, newest first. */
  readonly lastRefused: LastRefusals['of'];
  /** Writes the pending line of this second. */
  close(): void;
}

interface DecisionPorts extends AcceptedLinePorts, RefusalPorts {
  readonly keeper: JournalKeeper;
  /** The headers of a route's request that the journal keeps. */
  readonly keptHeaders: (route: Route, headers: EventRecord['headers']) => EventRecord['headers'];
  /** Redacts secrets: people read the reason in the record. */
  readonly redact: (text: string) => string;
}

/** The live request, and the parts of it that are kept. */
interface Kept extends Pick<DecisionPorts, 'redact'>, Pick<EventRecord, 'headers' | 'body' | 'node'> {
  readonly live: LiveRequest | undefined;
}

/** Bounds an id of a refused request, and a path that names no route: both may be of any length. */
const maxUntrustedIdLength = 200;
/** Bounds an address that a header names: each sender of a refused request is kept by its address. */
const maxAddressLength = 64;

/** Characters of a handshake that are kept in memory for a person. */
const maxShownLength = 500;

/** Outcomes whose event is already in the journal: by the claim, or as the event that it repeats. */
const journalled: ReadonlySet<string> = new Set([
  'accepted',
  'coalesced',
  'cron',
  'delivered',
  'deliveryFailed',
  'split',
]);
/** Outcomes whose work runs later and logs its own end. */
const accepted: ReadonlySet<string> = new Set(['accepted', 'coalesced', 'cron', 'split']);
const passedOver: ReadonlySet<string> = new Set([
  'ignoredEvent',
  'ignoredFilter',
  'ignoredScript',
  'ignoredScriptFailed',
  'duplicate',
]);

/** Whether such a request is recorded, and counted, by its sender: refused and repeated ones are. */
export function isRecordedBySender({ kind }: Outcome): boolean {
  return kind === 'duplicate' || !(journalled.has(kind) || passedOver.has(kind));
}

export function createDecisions(ports: DecisionPorts): Decisions {
  const { log, keeper, keptHeaders, redact } = ports;
  const refused = createRefusedRequests();
  const last = createLastRefusals(ports);
  const lines = createAcceptedLines(ports);

  return {
    refused,
    lastRefused: last.of,
    close: lines.close,
    decided(request, live) {
      const context = named(request, live, redact);
      const kept = { live, redact, node: keeper.node() };
      const outcome = context.outcome;
      if (outcome === undefined) {
        log.log(
          'info',
          'webhook abandoned: the client left before its body was complete',
          fieldsOf(context, undefined),
        );
        return;
      }
      const kind = outcome.kind;
      const status = statusOf(outcome);
      // With a reason no work follows, for example because the cron job is paused.
      if (accepted.has(kind) && context.reason === undefined)
        lines.add(`webhook ${kind}`, context.route, () => fieldsOf(context, status));
      else log.log(levelOf(context), `webhook ${stateWords(kind)}`, fieldsOf(context, status));
      // Work that a stopping gateway left behind is in the journal too, by its claim.
      if (journalled.has(kind) || context.work !== undefined) return;
      // The event is in the history with its other replay.
      if (kind === 'duplicate' && context.replay !== undefined) return;
      // Anyone who captured a request can repeat it endlessly: count it in memory. Its body is already on disk.
      if (kind === 'duplicate' && context.prompt === undefined) {
        const event = eventOf(context, 'duplicate', { ...kept, headers: {}, body: '' });
        refused.add(context.id, event, { ...context, address: addressOf(live) });
        return;
      }
      if (passedOver.has(kind)) {
        const recordedAs = kind === 'duplicate' ? 'duplicate' : 'ignored';
        const headers = context.route === undefined ? {} : keptHeaders(context.route, live?.headers ?? {});
        const event = eventOf(context, recordedAs, { ...kept, headers, body: (live && textOf(live)) ?? '' });
        // Neither awaited nor retried: the record of an ignored event may be lost.
        const put = { kind: 'put', collection: 'events', key: context.id, value: event } as const;
        keeper.submit([...claimOfReplay(context), put], () => {});
        return;
      }
      // A handshake need not be signed, so it is kept in memory too.
      const isAnswered = kind === 'handshake' && status < 300;
      const shown = kind === 'handshake' ? outcome.shownField : undefined;
      const body = shown === undefined || live === undefined ? '' : cut(fieldOf(live, shown), maxShownLength);
      const event = eventOf(context, isAnswered ? 'ignored' : 'refused', { ...kept, headers: {}, body });
      const address = addressOf(live);
      refused.add(context.id, event, { ...context, address });
      last.add(context, live, address);
    },
  };
}

/** A proxy on this machine appends the sender last (as in RFC 7239 §7.4); earlier entries may be forged by the sender. */
function addressOf(live: LiveRequest | undefined): string {
  const address = live === undefined ? '' : addressIn(live);
  if (senderOf(address) !== undefined) return address;
  const forwarded = live?.headers['x-forwarded-for']?.split(',').at(-1)?.trim().slice(0, maxAddressLength);
  // A slice keeps all of the header in memory.
  return forwarded ? Buffer.from(forwarded).toString() : address;
}

/** A request that is refused unread has an unverified id; it is kept because its sender will refer to it. */
function named(
  context: RequestContext,
  live: LiveRequest | undefined,
  redact: DecisionPorts['redact'],
): RequestContext {
  if (context.deliveryId !== undefined || live === undefined) return context;
  const given = deliveryIdOf(live.headers, live.body);
  return given === undefined ? context : { ...context, deliveryId: redact(given).slice(0, maxUntrustedIdLength) };
}

/** A refused request is recorded without headers and body. */
function eventOf(
  context: RequestContext,
  status: EventRecord['status'],
  { live, redact, headers, body, node }: Kept,
): EventRecord {
  const reason = context.reason ?? context.outcome?.kind;
  return {
    deliveryId: context.deliveryId ?? context.id,
    route: context.route?.name ?? context.path,
    profile: context.route?.profile ?? 'default',
    event: context.event ?? 'unknown',
    status,
    reason: reason === undefined ? undefined : redact(reason),
    receivedAtMs: context.receivedAtMs,
    node,
    headers,
    body,
    scheme: context.scheme,
    outcome: context.outcome?.kind,
    told: requestDetailsOf(context, live, context.receivedAtMs),
    ...replayed(context),
  };
}

function fieldsOf(context: RequestContext, status: number | undefined): Record<string, unknown> {
  return {
    delivery_id: context.deliveryId,
    request: context.id,
    route: context.route?.name,
    profile: context.route?.profile,
    event: context.event,
    scheme: context.scheme,
    reason: context.reason,
    path: context.route === undefined ? cut(context.path, maxUntrustedIdLength) : undefined,
    status,
  };
}

/** A ping is a platform's test message, so it is logged at debug level (EVT-1). */
function levelOf(context: RequestContext): LogLevel {
  switch (context.outcome?.kind) {
    case 'ignoredEvent':
      return context.reason === 'ping' ? 'debug' : 'info';
    case 'handshake':
      return statusOf(context.outcome) < 400 ? 'info' : 'warn';
    // With a reason, the signature was used before under another id: a captured request, or a secret shared too widely.
    case 'duplicate':
      return context.reason === undefined ? 'info' : 'warn';
    case 'deliveryFailed':
    case 'unavailable':
      return 'error';
    case 'badSignature':
    case 'unknownRoute':
    case 'rateLimited':
    case 'badBody':
    case 'tooLarge':
    case 'ignoredScriptFailed':
      return 'warn';
    default:
      return 'info';
  }
}
