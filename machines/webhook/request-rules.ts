/**
 * The rule of each state of a request: takes what is known so far; returns what is known after it, an outcome if the request
 * is decided, and what it takes of an allowance. Rules look things up (the route, the body, the rate window) but change
 * nothing; the time and a fresh id are parameters.
 * @see RTE-3 in docs/specification.md
 */

import { cut, type Json, type JsonObject, stringify } from '../base/json.ts';
import type { ProfileName } from '../base/names.ts';
import type { Route } from '../config/route.ts';
import { type BodyRule, sourceOf } from '../config/sources.ts';
import { type ParsedBody, splitItems, unpacked, withoutCredential } from './body.ts';
import type { CompiledRoute } from './compile-route.ts';
import { deliveryIdOf, isPing } from './envelope.ts';
import type { FilterView, ListMembership, Tried } from './filter.ts';
import type { Handshake, HandshakeAnswer } from './handshake.ts';
import type { Needed } from './jwt.ts';
import { isCredentialHeader } from './kept-headers.ts';
import { type SignatureHolder, sameSignature } from './record.ts';
import { reasonStarts } from './reply.ts';
import type { FollowedPlace } from './responses.ts';
import { readTarget } from './routes.ts';
import { readScriptOutcome, type ScriptResult } from './script-outcome.ts';
import type { SignedContent, SignedRequest } from './signature.ts';
import type { TemplateView } from './template.ts';
import type { PlanKind, RequestContext } from './webhook-request.machine.ts';

/** What the rules look up, synchronously. */
export interface RequestFacts {
  readonly maxBodyBytes: () => number;
  readonly findRoute: (path: string) => CompiledRoute | undefined;
  /** False until the subscriptions have been read, since a route may be missing. */
  readonly routesAreRead: () => boolean;
  /** The compiled form of the route that a request began with, even after a reload. */
  readonly compiled: (route: Route) => CompiledRoute;
  readonly headers: (id: string) => Readonly<Record<string, string>>;
  /** The query string of the target, as sent. */
  readonly query: (id: string) => string | undefined;
  readonly body: (id: string) => Uint8Array;
  /** A fetched certificate, as PEM, or set of keys. */
  readonly certificate: (url: string) => string | undefined;
  /** What an event of an array gets from its request; undefined for other requests. */
  readonly partOf: (id: string) => Part | undefined;
  /** The body parsed in the route's body shape, once for all rules. */
  readonly parsed: (id: string, rule?: BodyRule) => ParsedBody;
  /** Seconds until the route's window ends, if it is full. */
  readonly secondsUntilFree: (route: Route, nowMs: number) => number | undefined;
  /** Seconds until the route's allowance of handshakes is available again, if none is left. */
  readonly secondsUntilHandshake: (route: Route, nowMs: number) => number | undefined;
  /**
   * The event that has claimed a signature: another request with it is a duplicate of that event. None for a request that
   * stops before the claim.
   */
  readonly signatureHolder: (digest: string, id: string) => SignatureHolder | undefined;
  readonly list: (profile: ProfileName, file: string) => ListMembership | undefined;
}

/** What a rule cannot look up. */
export interface RuleInput {
  readonly nowMs: number;
  /** For a request without its own id. */
  readonly freshId: string;
}

/** One event of an array, as its request passes it on (SRC-4). */
export interface Part {
  /** From 0. */
  readonly index: number;
  /** Of the request; items without their own id are numbered after it. */
  readonly deliveryId: string;
  readonly scheme: string | undefined;
  readonly signature: SignedContent | undefined;
}

type Known = Partial<RequestContext>;
const nothing: Known = {};
/** The longest body that is read for a possible handshake which is unsigned, or while the window is full. */
const maxHandshakeLength = 16_384;

export function checkSize(context: RequestContext, facts: RequestFacts): Known {
  const declared = context.declaredBytes;
  if (declared === undefined || declared <= facts.maxBodyBytes()) return nothing;
  return { outcome: { kind: 'tooLarge' }, reason: `${reasonStarts.declared}${declared} bytes` };
}

export function findRoute(context: RequestContext, facts: RequestFacts): Known {
  const found = facts.findRoute(context.path);
  if (found === undefined) {
    if (readTarget(context.path).kind !== 'route')
      return { outcome: { kind: 'unknownRoute' }, reason: 'the path is not /webhooks/<route>' };
    // Before the method check: a provider's handshake may be a GET.
    if (!facts.routesAreRead()) {
      return {
        outcome: { kind: 'unavailable' },
        reason: `${reasonStarts.subscriptions}could not be read; \`agent webhook list\` shows why`,
      };
    }
    if (context.method !== 'POST') return { outcome: { kind: 'methodNotAllowed' }, reason: context.method };
    return { outcome: { kind: 'unknownRoute' }, reason: 'no route has this path' };
  }
  const route = found.route;
  const answer = handshakeByHead(context, found, facts);
  if (answer !== undefined) return answer;
  if (context.method !== 'POST') return { outcome: { kind: 'methodNotAllowed' }, reason: context.method };
  if (!route.enabled) {
    return { route, profile: route.profile, outcome: { kind: 'routeDisabled' }, reason: 'the route is disabled' };
  }
  return { route, profile: route.profile };
}

/** A provider's handshake is answered before the rate window, within its own small allowance (SRC-3). */
function handshakeByHead(
  context: RequestContext,
  { route, handshake }: CompiledRoute,
  facts: RequestFacts,
): Known | undefined {
  const answer = handshake?.byHead?.({
    method: context.method,
    query: facts.query(context.id),
    headers: facts.headers(context.id),
  });
  if (answer === undefined || !route.enabled) return undefined;
  return { route, profile: route.profile, ...answered(answer, route, facts, context.receivedAtMs) };
}

/** Takes one from the allowance of handshakes, or returns when one is available again. */
function answered(answer: HandshakeAnswer, route: Route, facts: RequestFacts, nowMs: number): Known {
  // A refused one takes nothing; otherwise anyone could use up the provider's allowance.
  if (answer.status >= 400) return handshakeOutcome(answer);
  return handshakeLimit(route, facts, nowMs) ?? { ...handshakeOutcome(answer), takes: 'handshake' };
}

function handshakeOutcome({ what, ...reply }: HandshakeAnswer): Known {
  return { outcome: { kind: 'handshake', ...reply }, reason: `handshake: ${what}` };
}

/** A refusal if the allowance of handshakes is used up. */
function handshakeLimit(route: Route, facts: RequestFacts, nowMs: number): Known | undefined {
  const seconds = facts.secondsUntilHandshake(route, nowMs);
  return seconds === undefined ? undefined : { outcome: { kind: 'rateLimited', retryAfterSeconds: seconds } };
}

/** While the window is full, a possible handshake is read if one may still be answered. */
export function checkRate(context: RequestContext, facts: RequestFacts): Known {
  const { route, receivedAtMs: nowMs, declaredBytes = Number.POSITIVE_INFINITY } = context;
  if (route === undefined) return nothing;
  const turnedAway = rateVerdict(route, facts, nowMs);
  const { handshake } = facts.compiled(route);
  if (turnedAway.outcome === undefined || (handshake?.byBody ?? handshake?.byUnsigned) === undefined) return turnedAway;
  const mayAnswer = declaredBytes <= maxHandshakeLength && handshakeLimit(route, facts, nowMs) === undefined;
  return mayAnswer ? nothing : turnedAway;
}

/**
 * A window that filled up while the body arrived refuses the request too; only a genuine request takes a slot. One whose
 * signature an event has claimed takes none and ends here: it may be a captured request, which anyone can send (SEC-6).
 */
export function verifySignature(context: RequestContext, facts: RequestFacts, input: RuleInput): Known {
  const route = context.route;
  if (route === undefined) return nothing;
  const { nowMs } = input;
  const { id } = context;
  const { verify, isPinned, claimedBy, handshake } = facts.compiled(route);
  const request: SignedRequest = isPinned
    ? widened(context, facts, nowMs)
    : { headers: facts.headers(id), body: facts.body(id), nowMs };
  if (context.origin === 'owner') {
    const answer = handshakeByBody(request, handshake, '');
    return answer === undefined ? nothing : handshakeOutcome(answer);
  }
  const verdict = verify(request);
  if (verdict.kind === 'refused') {
    const unsigned = unsignedHandshake(request, context, facts, nowMs);
    if (unsigned !== undefined) return unsigned;
    const kind = verdict.isTemporary ? 'unavailable' : 'badSignature';
    return { scheme: verdict.scheme, outcome: { kind }, reason: verdict.why };
  }
  const { scheme, signed } = verdict;
  const turnedAway = rateVerdict(route, facts, nowMs);
  const answer = handshakeByBody(request, handshake, scheme);
  if (answer !== undefined) {
    return { scheme, ...(turnedAway.outcome ? answered(answer, route, facts, nowMs) : handshakeOutcome(answer)) };
  }
  const digest = signed && claimedBy(signed.digest, request.headers);
  const signature = signed === undefined || digest === undefined ? undefined : withDigest(signed, digest);
  const holder = signature && holderOf(signature.digest, context, facts);
  if (signature && holder && isRepeated(signature, holder, route)) {
    const read = parsePayload(context, facts, input);
    return { scheme, ...read, ...duplicateOf(read.deliveryId ?? '', holder, route) };
  }
  if (turnedAway.outcome !== undefined) return turnedAway;
  return { scheme, takes: 'slot', signature };
}

/** Whether a signature is claimed: a route may allow identical bodies, which have the same one unless a time is signed. */
export function isClaimed({ isTimed }: SignedContent, { allowIdenticalBodies }: Route): boolean {
  return isTimed || !allowIdenticalBodies;
}

/**
 * Whether a request repeats the event that has claimed its signature. A route that allows identical bodies runs its own
 * again, but not those of other routes.
 */
export function isRepeated(signature: SignedContent, holder: SignatureHolder, route: Route): boolean {
  return isClaimed(signature, route) || holder.route !== route.name || holder.profile !== route.profile;
}

function withDigest(signed: SignedContent, digest: string): SignedContent {
  return digest === signed.digest ? signed : { ...signed, digest };
}

/** The certificate or the keys to fetch before a request is verified; undefined if there are none. */
export function missingCertificate(context: RequestContext, facts: RequestFacts, nowMs: number): Needed | undefined {
  const { route } = context;
  const needed = route && facts.compiled(route).needed;
  return needed?.(widened(context, facts, nowMs));
}

/** A handshake that its provider does not sign: anyone can send it, so the allowance always applies, and no long body is read. */
function unsignedHandshake(
  { body, payload, query }: SignedRequest,
  { route }: RequestContext,
  facts: RequestFacts,
  nowMs: number,
): Known | undefined {
  const byUnsigned = route && facts.compiled(route).handshake?.byUnsigned;
  const read = byUnsigned && body.length <= maxHandshakeLength ? payload?.() : undefined;
  const answer = read && byUnsigned?.(read, query);
  return route && answer && answered(answer, route, facts, nowMs);
}

/** The event that claimed a signature; for an array, that of its first event if each event has claimed its own. */
function holderOf(digest: string, context: RequestContext, facts: RequestFacts): SignatureHolder | undefined {
  const { route, id } = context;
  if (route === undefined) return undefined;
  const { body } = facts.compiled(route);
  if (body.shape !== 'each') return facts.signatureHolder(digest, id);
  const parsed = facts.parsed(id, body);
  const split = parsed.ok ? splitItems(parsed, body.items) : undefined;
  if (split?.ok !== true) return facts.signatureHolder(digest, id);
  let first: SignatureHolder | undefined;
  for (const index of split.items.keys()) {
    const holder = facts.signatureHolder(partDigest(digest, index), id);
    if (holder === undefined) return undefined;
    first ??= holder;
  }
  return first;
}

/** Each event of an array claims the signature with its index, so that a repeated array runs none of them again (SEC-6). */
export function partDigest(digest: string, index: number): string {
  return `${digest}.${index}`;
}

function handshakeByBody(
  { payload }: SignedRequest,
  handshake: Handshake | undefined,
  scheme: string,
): HandshakeAnswer | undefined {
  const byBody = handshake?.byBody;
  const read = byBody && payload?.();
  return read && byBody(read, scheme);
}

/** What the schemes of a source or a route may read: the entire request. */
function widened({ id, method, path, route }: RequestContext, facts: RequestFacts, nowMs: number): SignedRequest {
  const payload = (): JsonObject | undefined => {
    const parsed = facts.parsed(id, route && facts.compiled(route).body);
    return parsed.ok ? parsed.value : undefined;
  };
  // Listed field by field: a copy of the plain request with more fields would cost as much as its signature.
  return {
    headers: facts.headers(id),
    body: facts.body(id),
    nowMs,
    method,
    path,
    query: facts.query(id),
    payload,
    certificate: facts.certificate,
  };
}

/** Names the event whose signature a request repeats; undefined if it has the same id. */
export function repeatReason(
  deliveryId: string,
  holder: SignatureHolder,
  { name, profile }: Route,
): string | undefined {
  return sameSignature(holder, { deliveryId, route: name, profile });
}

function duplicateOf(deliveryId: string, holder: SignatureHolder, route: Route): Known {
  return { outcome: { kind: 'duplicate', deliveryId }, reason: repeatReason(deliveryId, holder, route) };
}

export function parsePayload(context: RequestContext, facts: RequestFacts, { freshId }: RuleInput): Known {
  const { id, origin, route, scheme, replay } = context;
  if (route === undefined) return nothing;
  if (origin === 'part') return parsePart(context, facts);
  const headers = facts.headers(id);
  const { deliveryId: idOf, eventType, body } = facts.compiled(route);
  const parsed = facts.parsed(id, body);
  const payload = parsed.ok ? parsed.value : undefined;
  const isIdSigned = scheme?.startsWith('standard-webhooks') === true;
  const given = origin === 'replay' ? undefined : idOf(headers, payload, facts.body(id), isIdSigned);
  const deliveryId = given ?? freshId;
  if (!parsed.ok) return { deliveryId, outcome: { kind: 'badBody' }, reason: parsed.why };
  const value = withoutCredential(parsed.value, body);
  const split = body.shape === 'each' && origin !== 'replay' ? splitItems({ ...parsed, value }, body.items) : undefined;
  if (split?.ok === false) {
    const { why, isTooLong } = split;
    return { deliveryId, outcome: isTooLong ? { kind: 'tooLarge', why } : { kind: 'badBody' }, reason: why };
  }
  if (split !== undefined) {
    // Items without an id of their own are numbered by the request, which its sender repeats with the same one.
    const ofRequest = given ?? deliveryIdOf(headers, facts.body(id), isIdSigned) ?? freshId;
    return { deliveryId: ofRequest, payload: { items: split.items }, plan: 'split' };
  }
  const event = replay?.event ?? eventType(headers, value);
  return { deliveryId, payload: unpacked(value, body), event };
}

/** An event of an array has its own id, or its number in the request; an id in a header belongs to the request. */
function parsePart({ id, route }: RequestContext, facts: RequestFacts): Known {
  const part = facts.partOf(id);
  if (route === undefined || part === undefined) return nothing;
  const headers = facts.headers(id);
  const { deliveryId: idOf, eventType } = facts.compiled(route);
  const parsed = facts.parsed(id);
  if (!parsed.ok) return { deliveryId: part.deliveryId, outcome: { kind: 'badBody' }, reason: parsed.why };
  const { scheme, signature, index } = part;
  const deliveryId = idOf({}, parsed.value, facts.body(id), false) ?? `${part.deliveryId}#${index + 1}`;
  const known = { scheme, deliveryId, payload: parsed.value, event: eventType(headers, parsed.value) };
  if (signature === undefined) return known;
  const holder = facts.signatureHolder(signature.digest, id);
  if (holder === undefined || !isRepeated(signature, holder, route)) return { ...known, signature };
  return { ...known, ...duplicateOf(deliveryId, holder, route) };
}

export function matchEvent(context: RequestContext, facts: RequestFacts): Known {
  const { route, payload, event } = context;
  if (route === undefined || payload === undefined || event === undefined) return nothing;
  const compiled = facts.compiled(route);
  if (!compiled.acceptsEvent(event)) {
    return {
      outcome: { kind: 'ignoredEvent', event },
      reason: isPing(event) ? 'ping' : `event ${event} is not among ${route.events.join(', ')}`,
    };
  }
  const verdict = compiled.filters.match(asked(context, { route, payload, event }, facts));
  if (verdict.kind === 'matched') return nothing;
  const reason = unmatchedReason(verdict);
  if (verdict.mayDecideLater) return { outcome: { kind: 'unavailable' }, reason };
  return { outcome: { kind: 'ignoredFilter', route: route.name }, reason };
}

/** What conditions can read of a request. */
function asked(
  { id }: RequestContext,
  { route, payload, event }: { readonly route: Route; readonly payload: JsonObject; readonly event: string },
  facts: RequestFacts,
): FilterView {
  return { payload, event, headers: facts.headers(id), list: (file) => facts.list(route.profile, file) };
}

export function readScript(context: RequestContext, result: ScriptResult): Known {
  const verdict = readScriptOutcome(result, context.payload ?? {});
  if (verdict.kind === 'notBegun') {
    return { outcome: { kind: 'unavailable' }, reason: `${reasonStarts.script}could not be started: ${verdict.why}` };
  }
  if (verdict.kind === 'ignored' || verdict.kind === 'failed') {
    const kind = verdict.kind === 'failed' ? 'ignoredScriptFailed' : 'ignoredScript';
    return { outcome: { kind, route: context.route?.name ?? '' }, reason: `${reasonStarts.script}${verdict.why}` };
  }
  return { payload: verdict.payload, script: verdict.kind };
}

export function renderTexts(context: RequestContext, facts: RequestFacts): Known {
  const { route, payload, event } = context;
  if (route === undefined || payload === undefined || event === undefined) return nothing;
  const compiled = facts.compiled(route);
  const view = { payload, eventType: event };
  const prompt = compiled.prompt.render(view);
  const deliverExtra = compiled.extra.render(view);
  const places = placesFor(compiled, view, asked(context, { route, payload, event }, facts));
  if (places.undecided !== undefined) return { outcome: { kind: 'unavailable' }, reason: places.undecided };
  const groupKey = compiled.groupKey?.(view);
  const onFailure = compiled.notice && {
    target: compiled.notice.target,
    extra: compiled.notice.extra.render(view),
  };
  const plan = planOf(route, groupKey, context.replay?.isDry);
  return { prompt, deliverExtra, deliverTo: places.deliverTo, onFailure, groupKey, plan };
}

/** Returns the entries of a `deliver` list whose conditions hold; `undecided`: why one cannot be decided now (DLV-7). */
function placesFor(
  { deliverTo }: CompiledRoute,
  view: TemplateView,
  asking: FilterView,
): { readonly deliverTo?: readonly FollowedPlace[]; readonly undecided?: string } {
  if (deliverTo === undefined) return {};
  const places: FollowedPlace[] = [];
  for (const { target, when, extra, text, on } of deliverTo) {
    const verdict = when.match(asking);
    if (verdict.kind === 'matched') {
      const texts = text === undefined ? {} : { text: text.map((part) => part.render(view)) };
      places.push({ target, extra: extra.render(view), ...texts, ...(on === undefined ? {} : { on }) });
    } else if (verdict.mayDecideLater) return { undecided: unmatchedReason(verdict, 'when') };
  }
  return { deliverTo: places };
}

/** A coalescing route whose key does not resolve runs at once (COA-1), and so does a dry replay, which joins no batch. */
function planOf(route: Route, groupKey: string | undefined, isDry = false): PlanKind {
  if (isDry) return route.cronJob === undefined ? 'run' : 'cron';
  if (groupKey !== undefined) return 'group';
  // The sender's answer has one outcome, but several deliveries have several, and some senders do not wait.
  const isAwaited = route.deliverTo === undefined && sourceOf(route.sender)?.answerSeconds === undefined;
  if (route.deliverOnly) return isAwaited ? 'direct' : 'run';
  return route.cronJob === undefined ? 'run' : 'cron';
}

function rateVerdict(route: Route, facts: RequestFacts, nowMs: number): Known {
  const seconds = facts.secondsUntilFree(route, nowMs);
  return seconds === undefined ? nothing : { outcome: { kind: 'rateLimited', retryAfterSeconds: seconds } };
}

/** The most characters of a value or operand in a reason. */
const shownLimit = 120;
/** Replaces a credential, in a condition and in a request. */
const hidden = '[redacted]';

/** The most conditions of a group in a reason. */
const maxInner = 3;
const maxReasonLength = 600;

/** Describes which condition failed and what it saw, short enough for a table. */
function unmatchedReason(tried: Tried, key: 'filter' | 'when' = 'filter'): string {
  const text = `${reasonStarts[key]}${triedText(tried)}`;
  return text.length > maxReasonLength ? `${cut(text, maxReasonLength)}…` : text;
}

/** `not (who equals "ada" saw "ada")`, `any of (…; …)`, or one condition with what it saw. */
function triedText({ field, operator, operand, saw, undecided, because, inner }: Tried): string {
  if (inner !== undefined) {
    const conditions = inner.slice(0, maxInner).map(triedText);
    if (inner.length > maxInner) conditions.push(`and ${inner.length - maxInner} more`);
    return `${operator === 'any' ? 'any of' : operator} (${conditions.join('; ')})`;
  }
  const secret = field.startsWith('headers.') && isCredentialHeader(field.slice('headers.'.length));
  const isHidden = secret && typeof operand !== 'boolean' && operator !== 'in_file';
  const condition = `${field} ${operator} ${isHidden ? hidden : shown(operand)}`;
  if (undecided !== undefined) return `${condition} was not tried: ${undecided}`;
  const seen = `${condition} saw ${saw === undefined ? 'nothing' : secret ? hidden : shown(saw)}`;
  return because === undefined ? seen : `${seen}; ${because}`;
}

/** A value may be as big and as deep as a body; only the shown part is formatted. */
function shown(value: Json): string {
  const text = stringify(value, { limit: shownLimit + 1 });
  return text.length > shownLimit ? `${cut(text, shownLimit)}…` : text;
}
