/**
 * Decides which requests the inspector's listener answers. Checks Host and Origin, the session of the cookie, the proof of
 * the session's key for everything but the page's files, and a monitor's token. The method and the rights of the session
 * are checked elsewhere.
 * @see INS-2 and SEC-1 in docs/specification.md
 * @see [RFC 9110 §15.5.20](https://www.rfc-editor.org/rfc/rfc9110.html#section-15.5.20)
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { proofHeader, sessionHeader } from '../../machines/base/page-proof.ts';
import type { SessionClaim } from './sessions.ts';

/**
 * - `data`: from the page's script, with its proof. `greeting`: from the same script before it has a proof.
 * - `file`: from the page, without a proof. `document`, `link`: from the address bar.
 * - `numbers`: from a monitor, with a token if one is set, or from the page's script with its proof.
 * - `entrance`: the page and its files where users can sign in. `signIn`: the request with the password.
 */
export type Asked = 'data' | 'greeting' | 'file' | 'document' | 'link' | 'signIn' | 'entrance' | 'numbers';

type DoorVerdict =
  | { readonly kind: 'welcome'; readonly session?: SessionClaim }
  | { readonly kind: 'refused'; readonly status: 401 | 403 | 421; readonly why: string };

export interface DoorRules {
  readonly port: number;
  /** The page's origin, as its links have it. */
  readonly origin: string;
  /** A second origin, at which a proxy serves the page. */
  readonly publicUrl?: string | undefined;
  /** Whether the request comes from this machine. */
  readonly isLocal: boolean;
  /** Absent: numbers are open to this machine. Empty: no token matches. */
  readonly scrapeToken?: string | undefined;
  readonly knowsSession: (claim: SessionClaim) => boolean;
  readonly provesKey: (claim: SessionClaim, proof: string) => boolean;
}

/** Accepted hosts. After DNS rebinding, a page of a foreign name still sends its own name as Host. */
const loopbackNames: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

export function judgeRequest(
  { headers, method }: { readonly headers: IncomingHttpHeaders; readonly method?: string | undefined },
  asked: Asked,
  rules: DoorRules,
): DoorVerdict {
  const { host = '', origin } = headers;
  const at = pageOriginOf(host, rules);
  const isPageAddress = at !== undefined;
  if (!isPageAddress && !isOurs(host, rules.port)) {
    return refused(421, 'this listener answers only to 127.0.0.1, localhost and [::1] with its own port');
  }
  // Browsers resolve `localhost` to [::1] first, where another process may listen on the same port.
  if (!isPageAddress && asked !== 'numbers')
    return refused(421, `the page is at ${rules.origin}/ and at no other name`);
  if (origin !== undefined && origin !== (at ?? rules.origin)) return refused(403, 'the page is of another origin');
  if (method === 'POST' && origin === undefined) return refused(403, 'a request that changes things names its origin');
  if (asked === 'link' || asked === 'signIn') return { kind: 'welcome' };
  // A person signs in on the page, before there is a session. The page holds no secret.
  if (asked === 'entrance') return { kind: 'welcome' };
  if (asked === 'numbers') {
    const isOpen = rules.scrapeToken === undefined && rules.isLocal && (at === undefined || at === rules.origin);
    if (isOpen || bears(headers.authorization, rules.scrapeToken ?? '')) return { kind: 'welcome' };
    // The page reads the readiness with its proof, since it has no token.
    if (!isPageAddress || headers[proofHeader] === undefined)
      return refused(401, 'a token is needed: `Authorization: Bearer` with inspector.scrape_token');
  }
  const site = headers['sec-fetch-site'];
  // A request for data or a script on behalf of another site, even one on this machine, is not from the page.
  if (asked !== 'document' && site !== undefined && site !== 'same-origin' && site !== 'none') {
    return refused(403, 'the page is of another site');
  }
  // Another listener on this machine can add cookies of the same name, even with the id of an older session, and the browser
  // may send those first. So a valid id is not necessarily the page's.
  const known = claimsOf(headers, { port: rules.port, origin: at ?? rules.origin }).filter(rules.knowsSession);
  const named = textOf(headers[sessionHeader]);
  const needsProof = asked === 'data' || asked === 'numbers';
  const session = known.find((claim) => {
    // Cookies ignore ports: a browser sends this one to every listener on this machine.
    if (needsProof) return rules.provesKey(claim, textOf(headers[proofHeader]));
    return asked !== 'greeting' || named === '' || claim.id === named;
  });
  if (session !== undefined) return { kind: 'welcome', session };
  return needsProof && known.length > 0
    ? refused(401, 'the proof of the session’s key is missing or of another process')
    : refused(401, 'no session; `agent inspect --web` opens one');
}

/** Returns the page's origin that the Host header names; undefined if it names neither. */
export function pageOriginOf(
  host: string,
  { origin, publicUrl }: Pick<DoorRules, 'origin' | 'publicUrl'>,
): string | undefined {
  if (`http://${host}` === origin) return origin;
  return `https://${host}` === publicUrl ? publicUrl : undefined;
}

/** Returns the sessions that a request's cookies name; they may not exist. */
export function claimsOf(
  { cookie }: IncomingHttpHeaders,
  { port, origin }: Pick<DoorRules, 'port' | 'origin'>,
): readonly SessionClaim[] {
  return [...new Set(cookiesOf(cookie, cookieName(port)))].map((id) => ({ id, origin }));
}

/** Cookies ignore ports, so two gateways on one machine need cookies of different names. */
export function cookieName(port: number): string {
  return `agent_inspector_${port}`;
}

/** Returns whether a Host header names this listener. */
export function isOurs(host: string, port: number): boolean {
  const colon = host.lastIndexOf(':');
  const name = colon > host.lastIndexOf(']') ? host.slice(0, colon) : host;
  const given = name.length === host.length ? '80' : host.slice(colon + 1);
  return loopbackNames.has(name.toLowerCase()) && given === String(port);
}

/** Checks a bearer token (RFC 6750 §2.1). Compares digests in constant time, so that not even the length leaks. */
function bears(authorization: string | undefined, token: string): boolean {
  const given = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1] ?? '';
  // Node decodes header bytes as Latin-1; encoding the text again restores the bytes.
  return timingSafeEqual(digestOf(given, 'latin1'), digestOf(token, 'utf8')) && token !== '';
}

function digestOf(text: string, encoding: 'latin1' | 'utf8'): Buffer {
  return createHash('sha256').update(text, encoding).digest();
}

function cookiesOf(header: string | undefined, name: string): readonly string[] {
  return (header ?? '').split(';').flatMap((part) => {
    const equals = part.indexOf('=');
    return equals > 0 && part.slice(0, equals).trim() === name ? [part.slice(equals + 1).trim()] : [];
  });
}

function textOf(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' ? header : '';
}

function refused(status: 401 | 403 | 421, why: string): DoorVerdict {
  return { kind: 'refused', status, why };
}
