/**
 * Explains why a request to a route was refused: a missing header, another provider's headers, a clock, a changed body, an
 * address, a secret in another form. Tries each usual change on its own and reports one that would match. A finding contains
 * no secret, computed signature or text of the sender.
 * @see SRC-5 in docs/specification.md
 */

import { profileOption } from '../base/names.ts';
import { shellWord } from '../base/shell-word.ts';
import { stateWords } from '../base/status.ts';
import { apiKeyWords, readSigning } from '../config/read-signature.ts';
import { type Route, type RouteWithSecret, textsOfSecret } from '../config/route.ts';
import type { Place, SignatureScheme } from '../config/signature-scheme.ts';
import { bodyRuleOf, type Source, type SourceName, sourceNames, sourceOf, sources } from '../config/sources.ts';
import { compressedBy, parseBody } from './body.ts';
import { otherTopic } from './certificate.ts';
import { declarations, written } from './declarations.ts';
import { handshakeRefusals } from './handshake.ts';
import { jwtFaults } from './jwt.ts';
import type { Outcome } from './reply.ts';
import { statedTime, statedTimeMs } from './scheme.ts';
import { mismatch, placeText, readerOf, type SignedRequest } from './signature.ts';
import {
  addressChanges,
  bodyChanges,
  type Case,
  type Change,
  coversBody,
  schemeForms,
  secretReadings,
  withBody,
} from './usual-changes.ts';
import { acceptedSchemes, gitlabAlias, signatureVerifier } from './verifier.ts';

export interface RefusedRequest {
  /** The key of its row in the history. */
  readonly key: string;
  readonly receivedAtMs: number;
  readonly kind: Outcome['kind'];
  readonly reason: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly query: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined if it was too long to keep. */
  readonly body: Uint8Array | undefined;
}

export interface Finding {
  /** Stable, for scripts; docs/sources.md lists them. */
  readonly code: FindingCode;
  readonly text: string;
  /** Only possible with the secret or a captured request (SEC-8). */
  readonly proven?: true;
}

type FindingCode =
  | 'body-changed'
  | 'body-not-kept'
  | 'clock-skew'
  | 'differs'
  | 'handshake-token'
  | 'header-missing'
  | 'header-repeated'
  | 'other-provider'
  | 'other-refusal'
  | 'passes-now'
  | 'scheme-differs'
  | 'secret-kind'
  | 'secret-shape'
  | 'timestamp-unfit'
  | 'url-differs';

const proven = true;

const bodyNotKept: Finding = {
  code: 'body-not-kept',
  text: 'The body was too long to keep, so its signature cannot be checked again.',
};

/** Returns at least one finding, the most likely cause first. */
export function diagnoseRefusal(refused: RefusedRequest, definition: RouteWithSecret): readonly Finding[] {
  const { kind, reason = stateWords(kind) } = refused;
  if (kind === 'handshake') return [handshakeFinding(refused, definition)];
  if (kind !== 'badSignature' || definition.secret.kind === 'insecure') return [otherRefusal(reason)];
  const request = requestOf(refused, definition.route);
  const used = acceptedSchemes(definition.route).find(({ at }) => readerOf(at)(request) !== undefined);
  const foreign = otherProviders(request, definition, used);
  if (used === undefined) {
    // A signature in a body that was not kept may have been there.
    const isLost = refused.body === undefined && isInBody(acceptedSchemes(definition.route));
    const declared = foreign.some((one) => one.proven) ? [] : declaredFindings(request, definition);
    if (declared.length > 0) return declared;
    return [...foreign, isLost ? bodyNotKept : missingHeader(definition.route, request), ...secretKind(definition)];
  }
  return [...foreign, ...judged(refused, { definition, request, scheme: used })];
}

function otherRefusal(reason: string): Finding {
  return { code: 'other-refusal', text: `It was not the signature: ${reason}.` };
}

function judged(refused: RefusedRequest, given: Case): readonly Finding[] {
  const { definition, request, scheme } = given;
  const { reason = '' } = refused;
  const time = statedTimeMs(scheme, request);
  const inTime: Case = { ...given, request: { ...request, nowMs: time ?? request.nowMs } };
  const repeated = repeatedHeader(inTime);
  if (repeated !== undefined) return [repeated];
  if (scheme.jwt !== undefined) return [tokenFinding(given, reason), ...secretKind(definition)];
  if (scheme.timestamp !== undefined && time === undefined)
    return [{ code: 'timestamp-unfit', text: timestampText(scheme, request) }];
  if (scheme.id !== undefined && readerOf(scheme.id)(request) === undefined)
    return [{ code: 'header-missing', text: `${capital(placeText(scheme.id))} is missing; the signature covers it.` }];
  const skew = skewFinding(given, time);
  if (refused.body === undefined) return [...skew, bodyNotKept, ...secretKind(definition)];
  if (isGenuine(definition, inTime.request)) {
    const text = 'Its signature matches the secret that the route has now.';
    const [late] = skew;
    return late === undefined
      ? [{ code: 'passes-now', text, proven }]
      : [{ ...late, text: `${late.text} The signature itself matches.`, proven }];
  }
  const causes = [
    ...provenBy('secret-shape', inTime, secretReadings(inTime)),
    ...provenBy('scheme-differs', inTime, schemeForms(inTime)),
    ...provenBy('body-changed', inTime, bodyChanges(inTime)),
    ...addressFindings(inTime),
  ];
  const compressed = coversBody(scheme) && causes.length === 0 ? compressedBy(request.headers) : undefined;
  if (compressed !== undefined) causes.push({ code: 'body-changed', text: `${capital(compressed)}.` });
  const kinds = secretKind(definition);
  if (causes.length > 0 || skew.length + kinds.length > 0) return [...causes, ...skew, ...kinds];
  return [{ code: 'differs', text: differsText(scheme, reason, definition.route) }];
}

/** No key is at hand, so a token is judged by what it states. */
function tokenFinding(given: Case, reason: string): Finding {
  const { definition, request, scheme } = given;
  const { route } = definition;
  const whyNow = (changed: RouteWithSecret): string | undefined => {
    const verdict = signatureVerifier(changed.route, changed.secret)(request);
    return verdict.kind === 'genuine' || verdict.isTemporary ? undefined : verdict.why;
  };
  const why = whyNow(definition);
  if (why === undefined) {
    return reason === mismatch.signature || reason === jwtFaults.key
      ? { code: 'differs', text: `${capital(reason)}. Another sender made the token.` }
      : { code: 'passes-now', text: 'What its token states fits the route and the secret that it has now.' };
  }
  if ([jwtFaults.expired, jwtFaults.early].some((start) => why.startsWith(start)))
    return {
      code: 'clock-skew',
      text: `${capital(why)}. It was delayed or sent again, or one of the clocks is wrong.`,
    };
  const { title, secret: right, page } = sourceOf(route.sender) as Source;
  if (why === jwtFaults.audience && scheme.jwt?.secretIs === 'email') {
    const found = addressChanges(given).find((one) => whyNow(one.definition ?? definition) !== why);
    const address = `${route.publicUrl}${request.path}`;
    const text = `${capital(why)} than ${address}. At ${title} leave the audience empty, or make it this address; if it posts to another one, set platforms.webhook.extra.public_url.`;
    return { code: 'url-differs', text: found?.text ?? text };
  }
  const isOfSecret = why === jwtFaults.audience || why === jwtFaults.email;
  // If the audience is the address instead, another issuer signs.
  const isOfAddress = why === jwtFaults.issuer && scheme.jwt?.secretIs === 'audience';
  const or = isOfAddress ? `, or the authentication audience at ${title} is not Project Number` : '';
  const cure = isOfSecret ? `The route’s secret must be ${right.is}: ${page}` : `Another sender made this one${or}.`;
  return { code: 'differs', text: `${capital(why)}. ${cure}` };
}

function differsText(scheme: SignatureScheme, reason: string, { sender, publicUrl }: Route): string {
  const { algorithm, signed, form } = scheme;
  const source = sourceOf(sender);
  const ofSecret = source === undefined ? '' : ` The route’s secret must be ${source.secret.is}: ${source.page}`;
  const isToken = algorithm === 'token';
  const why = capital(reason || 'the signature differs');
  // Any other reason already says what to do, unless it was the secret.
  if (!['', mismatch.signature, mismatch.token].includes(reason))
    return `${why}.${reason === otherTopic ? ofSecret : ''}`;
  if (isToken)
    return `${why}. It depends on neither the body nor the clock, so the secret is another one than the sender’s.${ofSecret}`;
  // No changes can be tried without the certificate.
  if (form === 'sns')
    return `${why}. It covers the fields of the message and no secret, so they were changed on their way, or Amazon did not send them.`;
  if (form === 'paypal')
    return `${why}. It covers the id of the webhook and the body, so the secret is another id, or the body was changed on its way.${ofSecret}`;
  const changes = [...(coversBody(scheme) ? ['the body'] : []), ...(signed.includes('{url}') ? ['the address'] : [])];
  const isHmacKey = algorithm.startsWith('hmac-');
  const tried = [
    ...(changes.length === 0 ? [] : [`no usual change of ${changes.join(' or ')}`]),
    ...(isHmacKey ? ['no other form of the secret'] : []),
  ];
  const secret = isHmacKey
    ? 'the secret is another one than the sender’s'
    : 'the secret is not the sender’s public key';
  const address = signed.includes('{url}')
    ? `, the sender posts to another address than ${publicUrl} (platforms.webhook.extra.public_url)`
    : '';
  const body = coversBody(scheme) ? ', or the body was changed on its way' : '';
  return `${why}. ${capital(tried.join(' and '))} would match, so ${secret}${address}${body}.${ofSecret}`;
}

function requestOf(refused: RefusedRequest, route: Route): SignedRequest {
  const { headers, receivedAtMs: nowMs, method, path, query, body = new Uint8Array() } = refused;
  return withBody({ headers, body, nowMs, method, path, query }, body, bodyRuleOf(route));
}

function isGenuine({ route, secret }: RouteWithSecret, request: SignedRequest): boolean {
  return signatureVerifier(route, secret)(request).kind === 'genuine';
}

/** The finding of the first change with which the request would match. */
function provenBy(code: FindingCode, { definition, request }: Case, changes: readonly Change[]): readonly Finding[] {
  const found = changes.find((one) => isGenuine(one.definition ?? definition, one.request ?? request));
  return found === undefined ? [] : [{ code, text: found.text, proven }];
}

/** What a route without a source could declare, so that the request would match. */
function declaredFindings(request: SignedRequest, definition: RouteWithSecret): readonly Finding[] {
  if (definition.route.sender !== undefined) return [];
  const found = declarations(request).find((signature) => {
    const read = readSigning({ signature }, { unread: () => false }, () => {});
    const nowMs = (read.signature && statedTimeMs(read.signature, request)) ?? request.nowMs;
    return isGenuine({ ...definition, route: { ...definition.route, ...read } }, { ...request, nowMs });
  });
  if (found === undefined) return [];
  const { source, name, profile } = definition.route;
  const cure =
    source === 'dynamic'
      ? `after \`agent webhook edit ${shellWord(name)}${profileOption(profile)} --signature ${shellWord(JSON.stringify(found))}\``
      : `with \`signature: ${written(found)}\` on the route`;
  return [{ code: 'scheme-differs', text: `It would match ${cure}.`, proven }];
}

function missingHeader(route: Route, request: SignedRequest): Finding {
  const { headers } = request;
  const schemes = acceptedSchemes(route);
  const source = sourceOf(route.sender);
  const { unsignedBy } = source ?? {};
  const places = [...new Set(schemes.map(({ at }) => placeText(at)))];
  const cure =
    route.sender === undefined && route.signature === undefined
      ? 'Name the provider by `source:`, declare the sender’s signature or token by `signature:`, or let it sign with X-Webhook-Signature-V2.'
      : unsignedBy !== undefined && headers[unsignedBy.header] !== undefined
        ? unsignedBy.cure
        : (unreadBody(route, request, schemes) ?? cureOfMissing(schemes, source));
  const [only = '', ...others] = places;
  const what =
    others.length === 0
      ? `${capital(only)} is missing`
      : `The request has no signature: neither ${places.filter((place) => !place.includes(gitlabAlias)).join(' nor ')}`;
  return { code: 'header-missing', text: `${what}. ${cure}` };
}

/** Why no field of the body was found: it could not be read. */
function unreadBody(
  route: Route,
  { headers, body }: SignedRequest,
  schemes: readonly SignatureScheme[],
): string | undefined {
  if (!isInBody(schemes)) return undefined;
  const parsed = parseBody(body, headers, bodyRuleOf(route));
  return parsed.ok ? undefined : `No field was read: ${parsed.why}.`;
}

function isInBody(schemes: readonly SignatureScheme[]): boolean {
  return schemes.every(({ at }) => 'field' in at);
}

/** When the sender sends it, and how it may have been lost. */
function cureOfMissing([scheme]: readonly SignatureScheme[], source: Source | undefined): string {
  const sender = source?.title ?? 'The sender';
  const always = `${sender} sends it with each request${scheme?.jwt?.secretIs === 'email' ? ' of a subscription that authenticates' : ''}`;
  if (scheme === undefined || 'header' in scheme.at) {
    const when =
      source === undefined || source.secret.typed ? `${sender} sends it where the webhook there has a secret` : always;
    return `${when}; a proxy may have dropped it.`;
  }
  if ('query' in scheme.at) return `It belongs to the address that ${source?.title ?? 'the sender'} was given.`;
  if (source?.secret.typed) return `${sender} sends it where it was given one.`;
  return `${always}: another sender made this one, or the body was changed on its way.`;
}

/** Other providers whose signature the request has; only the matching one, if any would match. */
function otherProviders(
  request: SignedRequest,
  definition: RouteWithSecret,
  used: SignatureScheme | undefined,
): readonly Finding[] {
  const { route } = definition;
  const candidates = sourceNames.filter((name) => {
    if (name === route.sender) return false;
    const { schemes, event }: Source = sources[name];
    const present = schemes.find(({ at }) => 'header' in at && readerOf(at)(request) !== undefined);
    if (present === undefined || !('header' in present.at) || present.at.header === 'authorization') return false;
    // A header that several providers use is no evidence unless the event's header matches too.
    const isShared = used !== undefined && 'header' in used.at && used.at.header === present.at.header;
    const own = event.flat().filter((place) => 'header' in place);
    const isOwn = own.some((place) => readerOf(place)(request) !== undefined);
    return isShared ? isOwn && route.sender !== undefined : own.length === 0 || isOwn;
  });
  const time = (name: SourceName): number => {
    const times = (sources[name].schemes as readonly SignatureScheme[]).map((one) => statedTimeMs(one, request));
    return times.find((one) => one !== undefined) ?? request.nowMs;
  };
  const { signature: _, ...unsigned } = route;
  const changed = (name: SourceName): RouteWithSecret => ({ ...definition, route: { ...unsigned, sender: name } });
  const fitting = candidates.filter((name) => isGenuine(changed(name), { ...request, nowMs: time(name) }));
  const [named] = fitting.length > 0 ? fitting : candidates;
  if (named === undefined) return [];
  const has = route.sender === undefined ? 'names no source' : `has source: ${route.sender}`;
  const rest =
    fitting.length > 0
      ? `With source: ${named} this request would match.`
      : `With source: ${named} the secret must be ${sources[named].secret.is}.`;
  const text = `These are ${sources[named].title}’s headers; this route ${has}. ${rest}`;
  return [{ code: 'other-provider', text, ...(fitting.length > 0 ? { proven } : {}) }];
}

function skewFinding(
  { scheme: { timestamp }, request: { nowMs }, definition }: Case,
  time: number | undefined,
): readonly Finding[] {
  if (timestamp === undefined || time === undefined) return [];
  const skew = Math.floor(nowMs / 1_000) - Math.floor(time / 1_000);
  if (Math.abs(skew) <= timestamp.toleranceSeconds) return [];
  // Milliseconds where seconds belong have too many digits; seconds where milliseconds belong look long past.
  if (timestamp.unit === 'ms' && Math.abs(nowMs - time * 1_000) <= timestamp.toleranceSeconds * 1_000) {
    const cure = definition.route.signature === undefined ? '' : ' Write unit: s in signature.timestamp.';
    return [{ code: 'timestamp-unfit', text: `The request’s time is in Unix seconds, not milliseconds.${cure}` }];
  }
  const allowed = `${timestamp.toleranceSeconds} s are allowed`;
  const text =
    skew > 0
      ? `The request’s time is ${skew} s behind this machine’s clock; ${allowed}. It was delayed or sent again, or one of the clocks is wrong.`
      : `The request’s time is ${-skew} s ahead of this machine’s clock; ${allowed}. One of the clocks is wrong.`;
  return [{ code: 'clock-skew', text }];
}

function timestampText(scheme: SignatureScheme, request: SignedRequest): string {
  const { timestamp, at } = scheme;
  if (timestamp === undefined) return '';
  const where = 'part' in timestamp.at ? `the part ${timestamp.at.part}= of ${placeText(at)}` : placeText(timestamp.at);
  if (statedTime(scheme, request) === undefined) return `${capital(where)} is missing; the signature covers it.`;
  const unit = { s: 'Unix seconds without a fraction', ms: 'Unix milliseconds', iso: 'the form of RFC 3339' }[
    timestamp.unit
  ];
  return `${capital(where)} is not in ${unit}.`;
}

/** Repeated headers are joined by a comma and a space. */
function repeatedHeader({ definition, request, scheme }: Case): Finding | undefined {
  const { at, part, list, timestamp, id, algorithm } = scheme;
  const places: readonly Place[] = [at, ...(timestamp === undefined || 'part' in timestamp.at ? [] : [timestamp.at])];
  for (const place of [...places, ...(id === undefined ? [] : [id])]) {
    if (!('header' in place)) continue;
    const value = readerOf(place)(request) ?? '';
    const pieces = value.split(', ');
    // A list of parts in one header has commas too; two times in it come from two headers.
    const isList = place === at && part !== undefined && list !== 'spaces';
    const label = timestamp !== undefined && 'part' in timestamp.at ? `${timestamp.at.part}=` : undefined;
    const isTwice = isList
      ? label !== undefined && pieces.filter((one) => one.startsWith(label)).length > 1
      : pieces.length > 1;
    if (!isTwice) continue;
    const name = place.header.toLowerCase();
    const fits = pieces.some((one) => {
      const single = { ...request, headers: { ...request.headers, [name]: one } };
      const time = statedTimeMs(scheme, single) ?? request.nowMs;
      return isGenuine(definition, { ...single, nowMs: time });
    });
    if (algorithm === 'token' && !fits) continue;
    const rest = fits ? ' One of them alone would match.' : '';
    return {
      code: 'header-repeated',
      text: `${capital(placeText(place))} came more than once: a proxy adds a second one, or two senders share it.${rest}`,
      ...(fits ? { proven } : {}),
    };
  }
  return undefined;
}

function addressFindings(given: Case): readonly Finding[] {
  if (!given.scheme.signed.includes('{url}')) return [];
  if (given.definition.route.publicUrl !== undefined) return provenBy('url-differs', given, addressChanges(given));
  return [
    { code: 'url-differs', text: 'Its signature covers the public address: set platforms.webhook.extra.public_url.' },
  ];
}

function secretKind({ route, secret }: RouteWithSecret): readonly Finding[] {
  const source = sourceOf(route.sender);
  const texts = textsOfSecret(secret);
  for (const text of texts) {
    const known = apiKeyWords(text);
    if (known === undefined) continue;
    const wanted = source === undefined ? 'a signing secret' : source.secret.is;
    return [{ code: 'secret-kind', text: `The route’s secret looks like ${known}; it must be ${wanted}.` }];
  }
  const { looks, is } = source?.secret ?? {};
  if (looks === undefined || texts.some((text) => looks.test(text))) return [];
  return [{ code: 'secret-kind', text: `The route’s secret does not look like ${is}.` }];
}

function handshakeFinding({ query, reason = '' }: RefusedRequest, { route, secret }: RouteWithSecret): Finding {
  const code = 'handshake-token';
  const asked = new URLSearchParams(query ?? '');
  const title = sourceOf(route.sender)?.title;
  if (reason.includes(handshakeRefusals.otherWebhook))
    return { code, text: `Each webhook of ${title} has a secret of its own. Subscribe another route for this one.` };
  if (reason.includes(handshakeRefusals.noCode))
    return {
      code,
      text: `Give ${title} the complete address that \`agent webhook subscribe\` printed, with its code.`,
    };
  if (reason.includes(handshakeRefusals.unconfirmed)) return otherRefusal(reason);
  if (!reason.includes(handshakeRefusals.wrongToken))
    return { code, text: 'The provider asked for leave to send with another code than the route’s secret.' };
  const given = asked.get('hub.verify_token') ?? '';
  const wanted = secret.kind === 'shared' ? secret.verifyToken : undefined;
  if (wanted === undefined)
    return { code, text: 'The route has no verify_token. Choose one, and type the same in at the provider.' };
  if (given === '') return { code, text: 'The handshake came without hub.verify_token.' };
  if (asked.get('hub.mode') !== 'subscribe')
    return { code, text: 'The handshake came with another hub.mode than subscribe.' };
  if (given === wanted) return { code, text: 'Its token matches the verify_token that the route has now.', proven };
  if (given.trim() === wanted.trim())
    return { code, text: 'The verify_token would match without the white space around it.', proven };
  if (textsOfSecret(secret).includes(given))
    return { code, text: 'The handshake came with the route’s secret where its verify_token belongs.', proven };
  return {
    code,
    text: 'The handshake came with another token than the route’s verify_token. Type the same in at the provider.',
  };
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
