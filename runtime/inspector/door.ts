/**
 * Decides who may come in at the inspector's listener: whether the request names us and not a stranger's name that was
 * bent to our address, whether a browser sends it from our own page, which session its cookie names, and whether it bears
 * the key of that session where it asks for more than the page's files; whether a monitor has its token. Knows neither what is asked nor what a session may
 * do.
 * @see INS-2 and SEC-1 in docs/specification.md
 * @see [RFC 9110 §15.5.20](https://www.rfc-editor.org/rfc/rfc9110.html#section-15.5.20)
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * `data` is asked by the page's own script, which bears the key; a `file` by the page, which cannot; a `document` may be
 * asked by a person's link or address bar; `numbers` by a monitor, which has a token where one is set.
 */
export type Asked = 'data' | 'file' | 'document' | 'numbers' | 'open';

export type DoorVerdict =
  | { readonly kind: 'welcome' }
  | { readonly kind: 'refused'; readonly status: 401 | 403 | 421; readonly why: string };

export interface DoorRules {
  readonly port: number;
  /** Absent: numbers are open. Empty: no token fits. */
  readonly scrapeToken?: string | undefined;
  readonly knowsSession: (id: string) => boolean;
  /** Whether the key is that of the session. */
  readonly opensSession: (id: string, key: string) => boolean;
}

/** The header by which the page shows its key: no browser adds it by itself. */
export const keyHeader = 'x-agent-inspector-key';

/** Names that no DNS answer can bend: a page of a foreign name that resolves to us still sends its own. */
const loopbackNames: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

export function judgeRequest(
  { headers, method }: { readonly headers: IncomingHttpHeaders; readonly method?: string | undefined },
  asked: Asked,
  rules: DoorRules,
): DoorVerdict {
  const { host = '', origin } = headers;
  if (!isOurs(host, rules.port)) {
    return refused(421, 'this listener answers only to 127.0.0.1, localhost and [::1] with its own port');
  }
  if (origin !== undefined && !isOurOrigin(origin, rules.port)) return refused(403, 'the page is of another origin');
  if (method === 'POST' && origin === undefined) return refused(403, 'a request that changes things names its origin');
  const site = headers['sec-fetch-site'];
  // What a browser asks for data or a script on behalf of another site, even one on this machine, is not our page.
  if ((asked === 'data' || asked === 'file') && site !== undefined && site !== 'same-origin' && site !== 'none') {
    return refused(403, 'the page is of another site');
  }
  if (asked === 'open') return { kind: 'welcome' };
  if (asked === 'numbers') {
    if (rules.scrapeToken === undefined || bears(headers.authorization, rules.scrapeToken)) return { kind: 'welcome' };
    return refused(401, 'a token is needed: `Authorization: Bearer` with inspector.scrape_token');
  }
  const session = cookieOf(headers.cookie, cookieName(rules.port));
  if (session === undefined || !rules.knowsSession(session)) {
    return refused(401, 'no session; `agent inspect --web` opens one');
  }
  // Cookies know no ports either way: every listener of this machine that the person looks at is sent this one.
  if (asked === 'data' && !rules.opensSession(session, textOf(headers[keyHeader]))) {
    return refused(401, 'the session’s key is missing; `agent inspect --web` opens a page that has it');
  }
  return { kind: 'welcome' };
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

function isOurOrigin(origin: string, port: number): boolean {
  return origin.startsWith('http://') && isOurs(origin.slice('http://'.length), port);
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

function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const equals = part.indexOf('=');
    if (equals > 0 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
  }
  return undefined;
}

function textOf(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' ? header : '';
}

function refused(status: 401 | 403 | 421, why: string): DoorVerdict {
  return { kind: 'refused', status, why };
}
