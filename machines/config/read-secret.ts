/**
 * Reads the secret of a route, and judges whether it is strong enough for the listener and fits the sender. Never shows a
 * secret.
 * @see SIG-5, SIG-6 and SEC-6 in docs/specification.md
 */

import type { Json, JsonObject } from '../base/json.ts';
import { unresolvedReference } from './interpolate.ts';
import { doubtfulSecret, hasPublicSecret, type Refuse, type Signing } from './read-signature.ts';
import { type RouteSecret, textsOfSecret } from './route.ts';
import { insecureSecret, weaknessOf } from './secret-strength.ts';
import { sourceOf } from './sources.ts';

/** The listener that receives a route's requests. */
export interface Listener {
  /** Its bind address. */
  readonly host: string;
  /** The global fallback secret. */
  readonly secret?: string;
  /** Where senders reach it. */
  readonly publicUrl?: string | undefined;
  /** Whether a weak secret is only a warning when it is bound outside loopback. */
  readonly allowWeakSecrets?: boolean;
}

export interface SecretContext extends Listener {
  readonly source: 'static' | 'dynamic';
  /** The names that the secret refers to as it is written; absent if it was not interpolated. */
  readonly referred?: readonly string[];
}

export interface WrittenRoute {
  readonly name: string;
  /** With the keys that the schema has rejected, so that what is set can be distinguished from what is absent. */
  readonly written: JsonObject;
  /** Whether the schema has rejected a key. */
  readonly isUnread: (key: string) => boolean;
}

const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '::1']);
/** Text that a header carries unchanged through every HTTP server and proxy. */
const headerSafe = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Returns a usable secret; undefined if there is none, which has a finding then. */
export function readSecret(
  { name, written, isUnread }: WrittenRoute,
  signing: Signing,
  context: SecretContext,
  { refuse, warn }: { readonly refuse: Refuse; readonly warn: Refuse },
): RouteSecret | undefined {
  const secretKey = sourceOf(signing.sender)?.secretKey ?? 'secret';
  const verifyToken = isUnread('verify_token') ? undefined : (written.verify_token as string | undefined);
  // A missing or unusable secret has its own finding.
  const isLacking = secretKey !== 'secret' && (verifyToken === undefined || written.secret !== undefined);
  if (isLacking || isUnread('secret') || isUnread(secretKey)) return undefined;
  const isOwn = written[secretKey] !== undefined;
  const secret = secretOf(written[secretKey], context, refuse);
  if (secret?.kind === 'insecure' && isPublic(context.publicUrl)) {
    warn(
      isOwn ? [secretKey] : [],
      `uses ${insecureSecret} while platforms.webhook.extra.public_url is "${originOf(context.publicUrl)}", so that everyone who reaches that address can send to it; give the route a secret`,
      'insecure-not-loopback',
    );
  }
  if (secret?.kind !== 'shared') return secret;
  // A public one need not be strong.
  for (const text of isOwn && !hasPublicSecret(signing) ? textsOfSecret(secret) : []) {
    const weak = weakOutside({ secret: text, route: name }, context);
    if (weak !== undefined) (weak.severity === 'error' ? refuse : warn)([secretKey], weak.why, weakSecretCode);
  }
  for (const text of textsOfSecret(secret)) {
    const strange = doubtfulSecret(text, signing);
    if (strange === undefined) continue;
    (strange.isCertain ? refuse : warn)(isOwn ? [secretKey] : ['source'], strange.why, 'secret-strange');
  }
  if (isOwn && signing.sender === undefined && signing.signature === undefined && !isHeaderSafe(secret)) {
    warn(['secret'], unsafeSecret, 'secret-not-header-safe');
  }
  return verifyToken === undefined ? secret : { ...secret, verifyToken };
}

function secretOf(given: Json | undefined, context: SecretContext, refuse: Refuse): RouteSecret | undefined {
  const texts = given === undefined ? [context.secret ?? ''] : ([given].flat() as readonly string[]);
  if (given !== undefined && texts.includes('')) {
    refuse(
      ['secret'],
      'has an empty secret; give it one, or drop the key to use the global secret',
      'route-secret-empty',
    );
    return undefined;
  }
  const [secret = '', ...older] = texts;
  if (secret === '') {
    refuse(
      [],
      'has no secret and there is no global one; set its secret, platforms.webhook.extra.secret, or WEBHOOK_SECRET',
      'route-secret-missing',
    );
    return undefined;
  }
  const path = given === undefined ? [] : ['secret'];
  const unset = texts.map(unresolvedReference).find((name) => name !== undefined);
  if (unset !== undefined) {
    refuse(path, whyUnresolved(unset, given, context), 'secret-unresolved');
    return undefined;
  }
  if (!texts.includes(insecureSecret)) return { kind: 'shared', secret, ...(older.length === 0 ? {} : { older }) };
  if (older.length > 0) {
    refuse(
      path,
      `has ${insecureSecret} in a list of secrets, which would let everybody in; drop it`,
      'insecure-in-list',
    );
    return undefined;
  }
  if (loopbackHosts.has(context.host)) return { kind: 'insecure' };
  refuse(
    path,
    `uses ${insecureSecret} while the adapter binds "${context.host}"; bind 127.0.0.1, localhost or ::1, or give the route a secret`,
    'insecure-not-loopback',
  );
  return undefined;
}

/** An unresolved reference as the key would be readable by everyone in the documentation. */
function whyUnresolved(name: string, own: unknown, { source, referred }: SecretContext): string {
  if (own === undefined) return `has no secret of its own and the global one refers to "${name}", which is not set`;
  if (referred !== undefined && !referred.includes(name)) return `has a secret from a variable ${rescanned(name)}`;
  return source === 'dynamic'
    ? `has a secret that refers to "${name}", and references are not read in the subscriptions file; write the secret itself`
    : `has a secret that refers to "${name}", which is not set; set ${name} in the profile's .env or in the environment`;
}

/** Why a reference within the value of a variable is not resolved, after the words for the variable. */
export function rescanned(name: string): string {
  return `whose value holds "\${${name}}", and values of variables are not read for references; write the secret itself into the variable`;
}

/** Whether senders reach a listener on loopback from elsewhere, by a proxy. */
export function isPublic(publicUrl = ''): boolean {
  return URL.canParse(publicUrl) && !loopbackHosts.has(new URL(publicUrl).hostname.replace(/[[\]]/g, ''));
}

/** The address as a message may show it: without a login that the proxy asks for. */
function originOf(publicUrl = ''): string {
  return new URL(publicUrl).origin;
}

export const weakSecretCode = 'secret-weak';

/**
 * Why a secret is too weak for a listener that other machines can reach, as the predicate of a sentence; undefined if it is
 * strong enough or other machines cannot reach the listener. Behind a proxy it is a warning (SEC-6).
 */
export function weakOutside(
  { secret, route }: { readonly secret: string; readonly route?: string | undefined },
  { host, publicUrl, allowWeakSecrets }: Listener,
): { readonly why: string; readonly severity: 'error' | 'warning' } | undefined {
  const weakness = secret === insecureSecret ? undefined : weaknessOf(secret, route);
  const isBound = !loopbackHosts.has(host);
  if (weakness === undefined || !(isBound || isPublic(publicUrl))) return undefined;
  const reached = isBound
    ? `the adapter binds "${host}"`
    : `platforms.webhook.extra.public_url is "${originOf(publicUrl)}"`;
  const cure = isBound
    ? ', bind 127.0.0.1, localhost or ::1, or set platforms.webhook.extra.allow_weak_secrets: true'
    : '';
  return {
    why: `has a secret that ${weakness}, while ${reached}; make one by \`openssl rand -hex 32\`${cure}`,
    severity: isBound && allowWeakSecrets !== true ? 'error' : 'warning',
  };
}

/** The warning about a secret that is unsafe in a header; HMAC schemes are not affected. */
export const unsafeSecret =
  'has a secret that signs well but cannot be relied on as a token (X-Gitlab-Token): headers lose spaces and bytes beyond ASCII at their ends; choose visible ASCII';

/** Whether a secret arrives unchanged if the sender puts it into a header (GitLab's scheme). */
export function isHeaderSafe(secret: RouteSecret): boolean {
  return textsOfSecret(secret).every((text) => headerSafe.test(text));
}
