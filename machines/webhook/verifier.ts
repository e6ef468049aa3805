/**
 * Compiles what a route accepts as a genuine signature: the schemes of its source or its own, else one of five. The first
 * scheme whose place has a value decides; a weaker one is never tried after it.
 * @see SIG-1 to SIG-5, SRC-1 and SRC-2 in docs/specification.md
 */

import type { Route, RouteSecret } from '../config/route.ts';
import type { SignatureScheme } from '../config/signature-scheme.ts';
import { sourceOf, sources } from '../config/sources.ts';
import { compileScheme } from './scheme.ts';
import type { SignatureVerdict, SignatureVerifier, SignedRequest } from './signature.ts';

type Verified = Pick<Route, 'sender' | 'signature' | 'publicUrl'>;

interface NamedScheme {
  /** Its name in the history. */
  readonly name: string;
  readonly scheme: SignatureScheme;
}

const ofBody = { algorithm: 'hmac-sha256', encoding: 'hex', signed: '{body}', key: 'text' } as const;
/** The gateway's own scheme: a sender of its owner should sign by it (SIG-1). */
export const ownScheme: SignatureScheme = {
  ...ofBody,
  at: { header: 'x-webhook-signature-v2' },
  signed: '{timestamp}.{body}',
  timestamp: { at: { header: 'x-webhook-timestamp' }, unit: 's', toleranceSeconds: 300 },
};
const [, gitlabToken] = sources.gitlab.schemes;
/** An alias of GitLab's header, which no message names (DLV-5). */
export const gitlabAlias = 'x-hostb-token';
/** What a route without a source accepts, in this order. */
const five: readonly NamedScheme[] = [
  { name: 'standard-webhooks', scheme: sources['standard-webhooks'].schemes[0] },
  { name: 'github', scheme: sources.github.schemes[0] },
  { name: 'gitlab', scheme: gitlabToken },
  { name: 'gitlab', scheme: { ...gitlabToken, at: { header: gitlabAlias } } },
  { name: 'generic-v2', scheme: ownScheme },
  { name: 'generic-v1', scheme: { ...ofBody, at: { header: 'x-webhook-signature' } } },
];

/** The schemes of the route or its source; undefined if it has neither. */
export function pinnedSchemes({ sender, signature }: Verified): readonly SignatureScheme[] | undefined {
  return signature === undefined ? sourceOf(sender)?.schemes : [signature];
}

/** The schemes by which requests to a route may be signed. */
export function acceptedSchemes(route: Verified): readonly SignatureScheme[] {
  return pinnedSchemes(route) ?? five.map(({ scheme }) => scheme);
}

export function signatureVerifier(route: Verified, secret: RouteSecret): SignatureVerifier {
  if (secret.kind === 'insecure') return verifyNoBrowser;
  const { sender: name = 'declared', publicUrl } = route;
  const pinned = pinnedSchemes(route)?.map((scheme) => ({ name, scheme }));
  return bySecret(secret, (text) => {
    const named = pinned ?? five.map((one) => ({ ...one, scheme: withPlainKey(one.scheme, text) }));
    const verifiers = named.map(({ name, scheme }) => compileScheme(scheme, { name, secret: text, publicUrl }));
    const fallback = pinned === undefined ? undefined : verifiers[0];
    return (request) => {
      for (const verifier of verifiers) if (verifier.applies(request)) return verifier.verify(request);
      return fallback?.verify(request) ?? unrecognised;
    };
  });
}

const unrecognised: SignatureVerdict = { kind: 'refused', why: 'no recognised signature header' };

/** The secret of a route without a source may be any text; it encodes a key only if it is marked. */
function withPlainKey(scheme: SignatureScheme, secret: string): SignatureScheme {
  return secret.startsWith('whsec_') ? scheme : { ...scheme, key: 'text' };
}

/**
 * Tries the secrets of a route in order; if none matches, returns the verdict of the first, unless another may match when the
 * request is sent again (SRC-2).
 */
function bySecret(
  { secret, older = [] }: Extract<RouteSecret, { kind: 'shared' }>,
  verifierOf: (secret: string) => SignatureVerifier,
): SignatureVerifier {
  const first = verifierOf(secret);
  if (older.length === 0) return first;
  const others = older.map(verifierOf);
  return (request) => {
    const verdict = first(request);
    if (verdict.kind === 'genuine') return verdict;
    let refused = verdict;
    for (const [index, other] of others.entries()) {
      const next = other(request);
      if (next.kind === 'genuine') return { ...next, scheme: `${next.scheme} (secret ${index + 2})` };
      if (next.isTemporary) refused = next;
    }
    return refused;
  };
}

const unsigned: SignatureVerdict = { kind: 'genuine', scheme: 'none' };
/**
 * Without a signature, binding to loopback excludes other machines, but not web pages in a browser on this one: any of them,
 * also from another port, can send requests. Browsers add their page's origin to every POST (RFC 6454 section 7) and its
 * relation to the target (Fetch Metadata); other senders add neither.
 */
function verifyNoBrowser({ headers: { origin, 'sec-fetch-site': site } }: SignedRequest): SignatureVerdict {
  if (origin === undefined && site === undefined) return unsigned;
  return { kind: 'refused', why: 'a web page in a browser sent it; a route without a secret accepts none' };
}
