/**
 * Compiles a route into the functions that a request needs, so that no request has to parse a template, a filter or a key.
 * @see RTE-1 in docs/specification.md
 */

import { noticePlace } from '../config/notice-place.ts';
import {
  type FollowedStep,
  type Route,
  type RouteDelivery,
  type RouteSecret,
  type RouteWithSecret,
  textsOfSecret,
} from '../config/route.ts';
import type { SignatureScheme } from '../config/signature-scheme.ts';
import { type Answer, type BodyRule, bodyRuleOf, type Source, sourceOf } from '../config/sources.ts';
import { certificateUrl, certifiedContent } from './certificate.ts';
import { compileCoalesceKey } from './coalesce.ts';
import { eventMatcher, type IdReader, idReader, type TypeReader, typeReader } from './envelope.ts';
import { compileFilters, type FilterMatcher } from './filter.ts';
import { compileAddressCheck, compileHandshake, type Handshake } from './handshake.ts';
import { compileToken, type Needed } from './jwt.ts';
import { compileKeptHeaders } from './kept-headers.ts';
import { claimLifeMs } from './record.ts';
import { digestOf, type SignatureVerifier, type SignedRequest } from './signature.ts';
import {
  type CompiledExtra,
  type CompiledTemplate,
  compileExtra,
  compilePrompt,
  compileTemplate,
  type TemplateView,
} from './template.ts';
import { pinnedSchemes, signatureVerifier } from './verifier.ts';

export interface CompiledRoute {
  readonly route: Route;
  readonly verify: SignatureVerifier;
  /** Whether only the schemes of the route or its source are accepted, which may read the entire request. */
  readonly isPinned: boolean;
  /** The certificate or the keys that a request needs beyond what is at hand; absent if none are used. */
  readonly needed?: ((request: SignedRequest) => Needed | undefined) | undefined;
  /** Absent if the provider has none. */
  readonly handshake?: Handshake | undefined;
  /** The answer to accepted and ignored events, if the provider requires a specific one. */
  readonly answer?: Answer | undefined;
  readonly body: BodyRule;
  readonly eventType: TypeReader;
  readonly deliveryId: IdReader;
  /** The claim of a genuine signature: its digest, unless equal bodies are different events (SEC-6). */
  readonly claimedBy: (digest: string, headers: Readonly<Record<string, string>>) => string;
  /** How long the claim is kept, in milliseconds: as long as the signature is valid (SEC-6). */
  readonly claimedForMs: number;
  readonly acceptsEvent: (type: string) => boolean;
  readonly filters: FilterMatcher;
  /** Selects the headers of a request that the journal stores. */
  readonly keptHeaders: (headers: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
  readonly prompt: CompiledTemplate;
  readonly extra: CompiledExtra;
  /** The compiled entries of a `deliver` list; absent if `deliver` is one target. */
  readonly deliverTo?: readonly CompiledDelivery[] | undefined;
  /** Absent if the route has no run of its own that can fail, or no `on_failure`. */
  readonly notice?: { readonly target: string; readonly extra: CompiledExtra } | undefined;
  /** Renders the coalescing key; absent if the route does not coalesce. */
  readonly groupKey?: ((view: TemplateView) => string | undefined) | undefined;
}

interface CompiledDelivery {
  readonly target: string;
  readonly when: FilterMatcher;
  readonly extra: CompiledExtra;
  /** The template parts around each `{response}`. */
  readonly text?: readonly CompiledTemplate[] | undefined;
  readonly on?: readonly FollowedStep[] | undefined;
}

/** Filters were checked when the route was read; should compiling fail here, nothing matches. */
const matchNothing: FilterMatcher = {
  lists: [],
  headers: [],
  match: () => ({ kind: 'unmatched', path: [], field: '', operator: '', operand: null, saw: undefined }),
};

export function compileRoute({ route, secret }: RouteWithSecret): CompiledRoute {
  const filters = matcherOf(route.filters);
  const deliverTo = route.deliverTo?.map(compileDelivery);
  const source = sourceOf(route.sender);
  const pinned = pinnedSchemes(route);
  // A direct delivery has no run, and a cron job has its own `on_failure`.
  const notice = route.deliverOnly || route.cronJob !== undefined ? undefined : noticePlace(route);
  return {
    route,
    verify: signatureVerifier(route, secret),
    isPinned: pinned !== undefined,
    needed: neededReader(route, secret),
    handshake: handshakeOf(route, source, secret),
    answer: source?.answer,
    body: bodyRuleOf(route),
    eventType: typeReader(source),
    deliveryId: idReader(route, source),
    claimedBy: claimReader(route, source),
    claimedForMs: Math.max(claimLifeMs, ...(pinned ?? []).map(genuineMs)),
    acceptsEvent: eventMatcher(route.events),
    filters,
    keptHeaders: compileKeptHeaders([
      ...filters.headers,
      ...(deliverTo ?? []).flatMap(({ when }) => when.headers),
      ...headersOf(source),
    ]),
    prompt: compilePrompt(route.prompt),
    extra: compileExtra(route.deliverExtra),
    deliverTo,
    notice: notice && { target: notice.target, extra: compileExtra(notice.extra) },
    groupKey: route.coalesce && compileCoalesceKey(route.coalesce.key),
  };
}

function handshakeOf(route: Route, source: Source | undefined, secret: RouteSecret): Handshake | undefined {
  if (source?.handshake !== undefined) return compileHandshake(source.handshake, secret, route);
  const { at } = route.signature ?? {};
  return at !== undefined && 'query' in at ? compileAddressCheck(at.query, secret) : undefined;
}

function matcherOf(conditions: Route['filters']): FilterMatcher {
  const compiled = compileFilters(conditions);
  return compiled.ok ? compiled.value : matchNothing;
}

function compileDelivery({ to, extra, when, text, on }: RouteDelivery): CompiledDelivery {
  return {
    target: to,
    when: matcherOf(when),
    extra: compileExtra(extra),
    text: text?.split('{response}').map((part) => compileTemplate(part)),
    on,
  };
}

/** Nothing is fetched for a request that cannot be genuine, such as one of another topic, because anyone can send that. */
function neededReader({ sender, publicUrl }: Route, secret: RouteSecret): CompiledRoute['needed'] {
  const { form, jwt } = sourceOf(sender)?.schemes[0] ?? {};
  const texts = textsOfSecret(secret);
  if (jwt !== undefined) {
    const tokens = texts.map((text) => compileToken(jwt, { name: '', secret: text, publicUrl }));
    return (request) => tokens.map(({ needed }) => needed(request)).find(Boolean);
  }
  if (form !== 'paypal' && form !== 'sns') return undefined;
  return (request) => {
    if (texts.every((text) => 'why' in certifiedContent(form, request, text))) return undefined;
    const url = certificateUrl(form, request);
    return url === undefined || request.certificate?.(url) !== undefined ? undefined : { url };
  };
}

/** The headers with the event's type and its body's format, which a replay reads again. */
function headersOf(source: Source | undefined): readonly string[] {
  const ofType = (source?.event.flat() ?? []).flatMap((place) => ('header' in place ? [place.header] : []));
  return [...ofType, ...(source?.body?.dataBy === undefined ? [] : [source.body.dataBy])];
}

/**
 * An unsigned type distinguishes equal bodies only if the route lists it, so that a captured request runs at most once for
 * each of a few types.
 */
function claimReader({ events }: Route, source: Source | undefined): CompiledRoute['claimedBy'] {
  if (source?.sendsBodyTwice !== true) return (digest) => digest;
  const type = typeReader(source);
  const listed = new Set(events);
  return (digest, headers) => {
    const given = type(headers, {});
    return listed.has(given) ? digestOf(Buffer.from(`${digest} ${given}`, 'utf8')) : digest;
  };
}

/** From the first to the last moment at which a signed time is within the tolerance, before or after the clock. */
function genuineMs({ timestamp }: SignatureScheme): number {
  return 2 * (timestamp?.toleranceSeconds ?? 0) * 1_000;
}
