/**
 * Decides which requests the inspector's listener answers: whether the request names this listener, whether a browser sends
 * it from the listener's own page, which session its cookie names, and whether it carries the proof of that session's key
 * where it asks for more than the page's files; whether a monitor has its token. Knows neither what is asked nor what a
 * session may do.
 * @see INS-2 and SEC-1 in docs/specification.md
 * @see [RFC 9110 §15.5.20](https://www.rfc-editor.org/rfc/rfc9110.html#section-15.5.20)
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { proofHeader, sessionHeader } from '../../machines/base/page-proof.ts';
import type { SessionClaim } from './sessions.ts';

/**
 * `data` is asked by the page's script with its proof; a `greeting` by the same before it has one; a `file` by the page,
 * which cannot prove anything; a `document` and a `link` by a person's address bar; `numbers` by a monitor, which has a
 * token where one is set, or by the page's script with its proof. Where users may sign in, `entrance` is the page and its files before that, and `signIn` what
 * carries the password.
 */
export type Asked = 'data' | 'greeting' | 'file' | 'document' | 'link' | 'signIn' | 'entrance' | 'numbers';

export type DoorVerdict =
  | { readonly kind: 'welcome'; readonly session?: SessionClaim }
  | { readonly kind: 'refused'; readonly status: 401 | 403 | 421; readonly why: string };

export interface DoorRules {
  readonly port: number;
  /** The one address of the page, as its links have it. */
  readonly origin: string;
  /** Where a proxy serves it besides. */
  readonly publicUrl?: string | undefined;
  /** Whether the request comes from this machine. */
  readonly isLocal: boolean;
  /** Absent: numbers are open to this machine. Empty: no token fits. */
  readonly scrapeToken?: string | undefined;
  readonly knowsSession: (claim: SessionClaim) => boolean;
  readonly provesKey: (claim: SessionClaim, proof: string) => boolean;
}

/** Names that no DNS answer can bend: a page of a foreign name that resolves to this listener still sends its own. */
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
  // A browser takes `localhost` for [::1] first, where another process may listen on the same port.
  if (!isPageAddress && asked !== 'numbers')
    return refused(421, `the page is at ${rules.origin}/ and at no other name`);
  if (origin !== undefined && origin !== (at ?? rules.origin)) return refused(403, 'the page is of another origin');
  if (method === 'POST' && origin === undefined) return refused(403, 'a request that changes things names its origin');
  if (asked === 'link' || asked === 'signIn') return { kind: 'welcome' };
  // Without a session the page is still how somebody signs in; it holds no secret.
  if (asked === 'entrance') return { kind: 'welcome' };
  if (asked === 'numbers') {
    const isOpen = rules.scrapeToken === undefined && rules.isLocal && (at === undefined || at === rules.origin);
    if (isOpen || bears(headers.authorization, rules.scrapeToken ?? '')) return { kind: 'welcome' };
    // The page shows why the gateway is not ready, wherever it is opened.
    if (!isPageAddress || headers[proofHeader] === undefined)
      return refused(401, 'a token is needed: `Authorization: Bearer` with inspector.scrape_token');
  }
  const site = headers['sec-fetch-site'];
  // What a browser asks for data or a script on behalf of another site, even one on this machine, is not the page.
  if (asked !== 'document' && site !== undefined && site !== 'same-origin' && site !== 'none') {
    return refused(403, 'the page is of another site');
  }
  // Another listener of this machine can add cookies of the same name, and the browser may send those first. It may have
  // the id of an older session from the browser, so a known one is not yet the page's.
  const known = claimsOf(headers, { port: rules.port, origin: at ?? rules.origin }).filter(rules.knowsSession);
  const named = textOf(headers[sessionHeader]);
  const needsProof = asked === 'data' || asked === 'numbers';
  const session = known.find((claim) => {
    // Cookies know no ports: a browser sends this one to every listener of the machine that the person visits.
    if (needsProof) return rules.provesKey(claim, textOf(headers[proofHeader]));
    return asked !== 'greeting' || named === '' || claim.id === named;
  });
  if (session !== undefined) return { kind: 'welcome', session };
  return needsProof && known.length > 0
    ? refused(401, 'the proof of the session’s key is missing or of another process')
    : refused(401, 'no session; `agent inspect --web` opens one');
}

/** The page's own address at which a request came; undefined where it came at no such one. */
export function pageOriginOf(
  host: string,
  { origin, publicUrl }: Pick<DoorRules, 'origin' | 'publicUrl'>,
): string | undefined {
  if (`http://${host}` === origin) return origin;
  return `https://${host}` === publicUrl ? publicUrl : undefined;
}

/** The sessions that a request's cookies name, known or not. */
export function claimsOf(
  { cookie }: IncomingHttpHeaders,
  { port, origin }: Pick<DoorRules, 'port' | 'origin'>,
): readonly SessionClaim[] {
  return [...new Set(cookiesOf(cookie, cookieName(port)))].map((id) => ({ id, origin }));
}

/** Cookies know no ports: two gateways on one machine would take each other's for their own. */
export function cookieName(port: number): string {
  return `agent_inspector_${port}`;
}

export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Whether a Host header names us. */
export function isOurs(host: string, port: number): boolean {
  const colon = host.lastIndexOf(':');
  const name = colon > host.lastIndexOf(']') ? host.slice(0, colon) : host;
  const given = name.length === host.length ? '80' : host.slice(colon + 1);
  return loopbackNames.has(name.toLowerCase()) && given === String(port);
}

/** Compares digests, in constant time, so that not even the length shows (RFC 6750 §2.1). */
function bears(authorization: string | undefined, token: string): boolean {
  const given = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1] ?? '';
  // Header bytes reach us as Latin-1 text; turning them back gives what was sent.
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
