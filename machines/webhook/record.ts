/**
 * The records in the journal: events, runs, pending batches and deliveries, as plain JSON; the names of claims; and the rows
 * shown to people. An event is written once; its work has its outcome.
 * @see DUR-1, DUR-2 and CON-4 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import type { Spending } from '../agent/spending.ts';
import { defined, type JsonObject } from '../base/json.ts';
import { iso } from '../base/since.ts';
import type { deliveryStatuses, eventStatuses, runStatuses } from '../base/status.ts';
import type { NoticePlace } from '../config/notice-place.ts';
import type { ReportedStep } from '../config/route.ts';
import type { PartlySent, SendOutcome } from '../dispatch/send-outcome.ts';
import type { Batch } from './coalesce.ts';
import type { OutcomeKind } from './reply.ts';

/** A question that a run waits for. Its arguments stay in the gateway. */
export interface ReportedQuestion {
  readonly id: string;
  readonly kind: 'tool' | 'form';
  readonly server: string;
  readonly tool?: string;
  readonly expires_at: string;
}

/** What is reported of a run before it ends. */
export type Progress =
  | { readonly kind: 'accepted'; readonly run: string }
  | { readonly kind: 'approval'; readonly run: string; readonly question: ReportedQuestion };

/** Where a response is sent, rendered for the event. */
export interface ResponsePlace {
  /** The target as configured. */
  readonly target: string;
  readonly extra: JsonObject;
  /** The texts before, between and after each `{response}`; absent: the response alone. */
  readonly text?: readonly string[];
}

export interface EventRecord {
  readonly deliveryId: string;
  readonly route: string;
  readonly profile: string;
  readonly event: string;
  readonly status: (typeof eventStatuses)[number];
  readonly reason?: string | undefined;
  readonly receivedAtMs: number;
  /** The gateway that received it, if others can use the journal too. */
  readonly node?: string | undefined;
  readonly scheme?: string | undefined;
  /** The digest of its signature, if the event has claimed that (SEC-6). */
  readonly signatureDigest?: string | undefined;
  /** The key of the run or delivery that it led to. */
  readonly work?: string | undefined;
  /** The headers that a replay needs; never a signature, token or cookie. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly prompt?: string;
  readonly deliver?: string;
  readonly deliverExtra?: JsonObject;
  /** Where its response is sent instead if the route has a list: the entries whose conditions held (DLV-7). */
  readonly deliverTo?: readonly ResponsePlace[] | undefined;
  /** Where a notice is sent if its run fails, as configured when the event was accepted (DIS-4). */
  readonly onFailure?: NoticePlace | undefined;
  /** The steps of its run that are reported to http in addition to the response (DLV-6). */
  readonly reports?: readonly ReportedStep[] | undefined;
  readonly skills?: readonly string[];
  readonly toolsets?: readonly string[] | undefined;
  readonly model?: string;
  /** The id of the cron job that it fires, or fails to fire. */
  readonly cronJob?: string;
  /** The key of the event that this one repeats. */
  readonly replayOf?: string | undefined;
  /** Of a replay: a person changed its payload, event type or route. */
  readonly isEdited?: true | undefined;
  /** Of a replay: its response is kept in the history and sent to no target. */
  readonly isDry?: true | undefined;
  /** The outcome of a request that led to no work. */
  readonly outcome?: OutcomeKind | undefined;
  readonly told?: RequestDetails | undefined;
  /** The event's trace, in the W3C format. */
  readonly traceparent?: string | undefined;
}

/**
 * Whether the request of an event was kept. Of a refused one and of a firing of a cron job neither headers nor a body are
 * there; an empty body alone may be an event (SRC-4).
 */
export function isRequestKept({ headers, body }: Pick<EventRecord, 'headers' | 'body'>): boolean {
  return body !== '' || Object.keys(headers).length > 0;
}

/** The cron job that was fired, or noted why it was not, by its schedule or by hand; undefined for a request. */
export function firedJob({ route, scheme, outcome, replayOf, told }: EventRecord): string | undefined {
  // A route may be named like a firing; its requests are signed, replayed or handed in, or have an outcome.
  return (scheme ?? outcome ?? replayOf ?? told?.handedIn) === undefined ? /^cron\/(.+)$/s.exec(route)?.[1] : undefined;
}

/** Who submitted an event without the signature that only its sender can make (SUB-4). */
export type Hand = 'the command line' | 'the page';

/** States that an event was submitted, and by whom. */
export function handedInWords(by: Hand): string {
  return `handed in without its signature by ${by}`;
}

/** Details of the request's rules that the rest of its record does not contain; insignificant ones are left out. */
export interface RequestDetails {
  /** How long the body took to arrive. */
  readonly bodyMs?: number | undefined;
  /** How long all of its rules took, up to the claim. */
  readonly checkMs?: number | undefined;
  readonly scriptMs?: number | undefined;
  /** What the script did with the payload. */
  readonly script?: 'replaced' | 'annotated' | undefined;
  readonly groupKey?: string | undefined;
  readonly handedIn?: Hand | undefined;
  /** The key of the earlier event with the same delivery id or signature, which failed and thus released it. */
  readonly repeats?: string;
}

/** With what it used, if the runner reports that. */
export interface RunRecord extends Partial<Spending> {
  /** The event whose payload and texts the run uses: the newest one of a batch. */
  readonly eventKey: string;
  readonly profile: string;
  readonly route: string;
  readonly kind: 'agent' | 'cron';
  readonly status: (typeof runStatuses)[number];
  /** How often the agent has had the prompt, or is about to; 0 while the run waits for the first time. */
  readonly attempt: number;
  /** False on disk from the start of an attempt until its agent gets the prompt. */
  readonly prompted?: false;
  /** How many crashes of the gateway have interrupted it. */
  readonly cutOffs?: number;
  readonly queuedAtMs: number;
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  /** The key of the coalescing group that opened it. */
  readonly group?: string;
  /** How many earlier events of the batch it replaces, whose texts it does not get. */
  readonly superseded?: number;
  /** Keys of the events before the newest whose texts it also gets, in order (`mode: batch`). */
  readonly earlierKeys?: readonly string[];
  /** No agent runs: its response is the text of its batch (`deliver_only`). */
  readonly isDirect?: true;
  /** Its response is kept and not delivered: the run of a dry replay. */
  readonly isDry?: true;
  readonly response?: string;
  readonly reason?: string;
  /** A person dropped all of its deliveries. */
  readonly dropped?: true;
  /** The key of the event with which its sender repeated the delivery after it failed. */
  readonly repeatedBy?: string;
}

export type RunOutcome =
  | { readonly kind: 'responded'; readonly response: string }
  | { readonly kind: 'failed'; readonly reason: string }
  /** The system lacked descriptors, processes or memory to start it; the agent never had the prompt. */
  | { readonly kind: 'notBegun'; readonly reason: string };

export interface GroupRecord {
  readonly profile: string;
  readonly route: string;
  readonly groupKey: string;
  /** Named so on disk. */
  readonly burst: Batch;
}

export interface DeliveryRecord {
  readonly eventKey: string;
  /** The run whose response it is; absent for a direct delivery and for a notice. */
  readonly runKey?: string;
  /** How many deliveries the response has, if several. */
  readonly of?: number;
  readonly failedRun?: string;
  /** The number of this delivery of a response or failed run, from the second on. */
  readonly nth?: number;
  /** The run that it reports before the run has ended. */
  readonly progress?: Progress;
  readonly deliveryId: string;
  readonly profile: string;
  readonly route: string;
  readonly event: string;
  /** The target as configured. */
  readonly target: string;
  readonly status: (typeof deliveryStatuses)[number];
  readonly text: string;
  /** `deliver_extra`, rendered; the target reads `chat_id`, `repo` and so on. */
  readonly extra: JsonObject;
  /** The chat of the last attempt: its own, else the target's home channel. */
  readonly chat?: string;
  readonly queuedAtMs: number;
  /** Its number among all deliveries, independent of the clock. A direct delivery has none, also once its sender has hung up. */
  readonly order?: number;
  /** How often it has been sent. */
  readonly attempts?: number;
  /** The failed attempts, oldest first; of many, the last ones (DUR-2). */
  readonly failed?: readonly FailedAttempt[];
  /** When the last attempt began. */
  readonly startedAtMs?: number;
  /** When it is retried. */
  readonly dueAtMs?: number;
  /** Since when its attempts count: when it was queued, or when a person returned it to the queue. */
  readonly sinceMs?: number;
  /** Attempts spent since then. */
  readonly failures?: number;
  /** When its first attempt since then failed: from then on its chat waits for it. */
  readonly failedSinceMs?: number;
  /** Since when a piece may have arrived without confirmation. */
  readonly unsureSinceMs?: number;
  /** Pieces that were certainly delivered. */
  readonly sent?: PartlySent;
  /** Until when the sender of the event waits for the outcome. */
  readonly answerByMs?: number;
  readonly endedAtMs?: number;
  readonly messageId?: string;
  readonly reason?: string;
  /** Why a person dropped it, or confirmed that it arrived. */
  readonly note?: string;
}

/** A delivery attempt that failed or whose outcome is unknown. */
export interface FailedAttempt {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly kind: Exclude<SendOutcome['kind'], 'delivered'>;
  /** The platform's answer, or why it was not asked. */
  readonly reason: string;
}

/** Sorts deliveries in queue order. Records of an earlier version only have their time, in the same unit. */
export function orderOf({ order, queuedAtMs }: DeliveryRecord): number {
  return order ?? queuedAtMs;
}

interface EventColumns {
  readonly delivery_id: string;
  readonly route: string;
  readonly profile: string;
  readonly event: string;
  readonly reason?: string;
}

interface DroppedColumn {
  /** A person dropped what was to be delivered. Filters and counts take its status, which is `failed`. */
  readonly dropped?: true;
}

interface WorkColumns extends EventColumns {
  readonly id: string;
  readonly queued_at: string;
  readonly ended_at?: string;
}

/** A row of `agent deliveries list --json`. */
export interface DeliveryRow extends WorkColumns {
  readonly target: string;
  readonly failed_run?: string;
  /** What it reports of a run before its end. */
  readonly reports?: Progress['kind'];
  readonly chat_id?: string;
  readonly status: DeliveryRecord['status'];
  readonly attempts: number;
  readonly message_id?: string;
  readonly next_try_at?: string;
}

/** A row of `agent events --json` (CON-4). */
export interface EventSummary extends EventColumns, DroppedColumn {
  readonly status: string;
  readonly received_at: string;
  /** The gateway that received it, if several use the journal. */
  readonly node?: string;
  readonly attempts: number;
  /** The open question of its run, while a person must answer. */
  readonly question?: string;
  /** For a row of several refused requests: how many, the key of the first, and the times of the first and the last. */
  readonly alike?: {
    readonly count: number;
    readonly first_key: string;
    readonly first_at: string;
    readonly last_at: string;
  };
}

/** A row of `agent runs list --json`. */
export interface RunRow extends WorkColumns, DroppedColumn {
  readonly kind: 'agent' | 'cron';
  readonly status: RunRecord['status'];
  readonly attempt: number;
  readonly superseded: number;
  /** How many events' prompts it may contain, if it gets all events of its batch; `superseded` are those before them. */
  readonly events?: number;
  readonly started_at?: string;
  /** The question that it waits for, while a person must answer. */
  readonly question?: string;
}

/**
 * The name under which a delivery id is claimed; parts are escaped so that no two triples share one. Uses `join`, because
 * the name is kept for an hour and the engine stores a concatenated string as the tree of its parts.
 */
export function claimName(profile: string, route: string, deliveryId: string): string {
  return ['delivery', escaped(deliveryId), escaped(profile), escaped(route)].join('/');
}

/** The name prefix of an id's claims, on any route. */
export function claimsOf(deliveryId: string): string {
  return `delivery/${escaped(deliveryId)}/`;
}

/** A delivery id is kept for one hour (IDM-1), and a signature at least as long (SEC-6). */
export const claimLifeMs = 3_600_000;

/** The names that an event claims: first its delivery id, then its signature if it has one (IDM-1, SEC-6). */
export function claimNames({
  profile,
  route,
  deliveryId,
  signatureDigest,
}: Pick<EventRecord, 'profile' | 'route' | 'deliveryId' | 'signatureDigest'>): readonly string[] {
  const ofId = claimName(profile, route, deliveryId);
  return signatureDigest === undefined ? [ofId] : [ofId, signatureClaim(signatureDigest)];
}

export type SignatureHolder = Pick<EventRecord, 'deliveryId' | 'route' | 'profile'>;

/** Names the event that claimed the signature; undefined if it has the same id, which is explanation enough. */
export function sameSignature(
  holder: SignatureHolder,
  { deliveryId, route, profile }: SignatureHolder,
): string | undefined {
  // What happens in a profile is shown in that profile alone (PRF-1).
  if (holder.profile !== profile)
    return `same signature as a delivery of profile "${holder.profile}"; give each profile a secret of its own`;
  if (holder.deliveryId === deliveryId && holder.route === route) return undefined;
  return `same signature as delivery ${holder.deliveryId}${holder.route === route ? '' : ` of route "${holder.route}"`}`;
}

/** The name under which a signature is claimed, for all routes of all profiles: they may share a secret. */
export function signatureClaim(digest: string): string {
  return `signature/${digest}`;
}

/** The name under which a replay of several claims its event: another gateway may replay the same ones. */
export function replayClaim(eventKey: string): string {
  return `replay/${eventKey}`;
}

/**
 * Whether an event repeats an earlier one's id, which belongs to the earlier one. A duplicate with another reason repeats a
 * signature under its own id (SEC-6).
 */
export function repeatsId({ status, reason }: { readonly status?: unknown; readonly reason?: unknown }): boolean {
  return status === 'duplicate' && (reason === undefined || reason === 'duplicate');
}

/** The longest group key that is used unchanged in a record's key; the store limits its keys. */
const maxGroupKeyLength = 120;
/** U+0000, and unpaired surrogates. */
const unstorable = /[\0\p{Cs}]/u;

/** The key of a coalescing group's record. A digest replaces a group key that is too long or that Postgres cannot store. */
export function groupName(profile: string, route: string, groupKey: string): string {
  const isPlain = groupKey.length <= maxGroupKeyLength && !unstorable.test(groupKey);
  return `${escaped(profile)}/${escaped(route)}/${isPlain ? groupKey : digestOf(groupKey)}`;
}

/** The row of an event, with the outcome of its work, if any. */
export function eventSummary(event: EventRecord, work: RunRecord | DeliveryRecord | undefined): EventSummary {
  const handedIn = event.told?.handedIn;
  const reason = work?.reason ?? event.reason ?? (handedIn && handedInWords(handedIn));
  return defined({
    delivery_id: event.deliveryId,
    route: event.route,
    profile: event.profile,
    event: event.event,
    status: eventStatus(event, work),
    dropped: isDropped(work),
    reason,
    received_at: iso(event.receivedAtMs),
    node: event.node,
    attempts: attemptsOf(work),
  });
}

export function runRow(id: string, run: RunRecord, event: EventRecord | undefined): RunRow {
  return defined({
    id,
    delivery_id: event?.deliveryId ?? run.eventKey,
    route: run.route,
    profile: run.profile,
    event: event?.event ?? 'unknown',
    kind: run.kind,
    status: run.status,
    dropped: isDropped(run),
    attempt: run.attempt,
    superseded: run.superseded ?? 0,
    events: run.earlierKeys && run.earlierKeys.length + 1,
    reason: run.reason,
    queued_at: iso(run.queuedAtMs),
    started_at: isoOf(run.startedAtMs),
    ended_at: isoOf(run.endedAtMs),
  });
}

/** `chat` is where it would be sent now; the chat of an actual attempt takes precedence. */
export function deliveryRow(id: string, delivery: DeliveryRecord, chat?: string): DeliveryRow {
  const { extra, reason, messageId, dueAtMs, endedAtMs } = delivery;
  const place = delivery.chat ?? (isOver(delivery) ? undefined : chat) ?? extra.chat_id;
  return defined({
    id,
    delivery_id: delivery.deliveryId,
    target: delivery.target,
    failed_run: delivery.failedRun,
    reports: delivery.progress?.kind,
    chat_id: typeof place === 'string' || typeof place === 'number' ? String(place) : undefined,
    route: delivery.route,
    profile: delivery.profile,
    event: delivery.event,
    status: delivery.status,
    attempts: attemptsOfDelivery(delivery),
    reason,
    message_id: messageId,
    queued_at: iso(delivery.queuedAtMs),
    next_try_at: isoOf(dueAtMs),
    ended_at: isoOf(endedAtMs),
  });
}

/**
 * Whether an ended run releases the delivery id of its event, so that the sender's next delivery runs: it failed, was
 * finally interrupted, or a person dropped its delivery. A dead letter keeps the id: its text can still be sent (IDM-2).
 */
export function releasesId({ status, dropped }: RunRecord, delivery: DeliveryRecord | undefined): boolean {
  if (status === 'interrupted') return true;
  if (status !== 'failed') return false;
  return delivery?.of === undefined ? (delivery?.status ?? 'dropped') === 'dropped' : dropped === true;
}

/** Whether the event's sender still waits for the outcome as its answer. */
export function isWaitedFor({ answerByMs }: DeliveryRecord): boolean {
  return answerByMs !== undefined;
}

/** The record once its sender has left: it is retried like the delivery of a run. One that has ended stays as it is. */
export function unawaited(record: DeliveryRecord): DeliveryRecord {
  if (isOver(record) || !isWaitedFor(record)) return record;
  const { answerByMs: _, ...rest } = record;
  return rest;
}

/** Whether a delivery needs no further work by the gateway. */
export function isOver({ status }: DeliveryRecord): boolean {
  return status !== 'queued' && status !== 'sending' && status !== 'waitingToRetry';
}

/**
 * A direct message is marked on disk as being sent before its turn, so that claim and mark are one commit. People see where
 * it really is.
 */
export function asSeen(record: DeliveryRecord, living: unknown): DeliveryRecord {
  return record.status === 'sending' && living === 'queued' ? { ...record, status: 'queued' } : record;
}

/** The status that a delivery gives its run or event. */
export function outcomeOf({ status }: DeliveryRecord): 'delivering' | 'delivered' | 'failed' | 'unknown' {
  switch (status) {
    case 'queued':
    case 'sending':
    case 'waitingToRetry':
      return 'delivering';
    case 'deadLettered':
    case 'dropped':
      return 'failed';
    default:
      return status;
  }
}

/**
 * The status that an event shows: that of its work, or its own while it has none or its run is queued. One that fired no cron
 * job, such as a paused one, is over: nothing follows.
 */
export function eventStatus(event: EventRecord, work: RunRecord | DeliveryRecord | undefined): string {
  if (work === undefined || work.status === 'queued') {
    return event.work === undefined && event.status === 'cron' ? 'ignored' : event.status;
  }
  return 'attempt' in work ? work.status : outcomeOf(work);
}

function isDropped(work: RunRecord | DeliveryRecord | undefined): true | undefined {
  if (work === undefined) return undefined;
  return 'attempt' in work ? work.dropped : work.status === 'dropped' || undefined;
}

function attemptsOf(work: RunRecord | DeliveryRecord | undefined): number {
  if (work === undefined) return 0;
  return 'attempt' in work ? work.attempt : attemptsOfDelivery(work);
}

/** Records of an earlier version do not count attempts. */
function attemptsOfDelivery({ attempts, status }: DeliveryRecord): number {
  return attempts ?? (status === 'queued' ? 0 : 1);
}

function digestOf(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

const special = /[%/]/;

function escaped(part: string): string {
  return special.test(part) ? part.replaceAll('%', '%25').replaceAll('/', '%2F') : part;
}

function isoOf(atMs: number | undefined): string | undefined {
  return atMs === undefined ? undefined : iso(atMs);
}
