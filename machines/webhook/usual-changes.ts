/**
 * The usual reasons for which a signature does not match, as changes to try: another reading of the secret, another form of
 * the scheme, a body that a proxy has changed, another public address. Verifies nothing.
 * @see SRC-5 in docs/specification.md
 */

import { indented, jsonTokens } from '../base/indented-json.ts';
import { type JsonObject, sortedJson } from '../base/json.ts';
import { isTooDeep, readJson } from '../base/read-json.ts';
import { type Route, type RouteWithSecret, textsOfSecret } from '../config/route.ts';
import type { SignatureScheme } from '../config/signature-scheme.ts';
import { type BodyRule, bodyRuleOf } from '../config/sources.ts';
import { parseBody } from './body.ts';
import type { SignedRequest } from './signature.ts';

export interface Case {
  readonly definition: RouteWithSecret;
  readonly request: SignedRequest;
  /** The scheme whose header the request has. */
  readonly scheme: SignatureScheme;
}

/** A change of the route or the request, and how a person would say that it matches. */
export interface Change extends Partial<Pick<Case, 'definition' | 'request'>> {
  readonly text: string;
}

/** Whether a signature covers the body, so that only then the body is named as a cause. */
export function coversBody({ algorithm, signed, form }: SignatureScheme): boolean {
  return algorithm !== 'token' && (signed.includes('{body}') || form !== undefined);
}

export function withBody(request: SignedRequest, body: Uint8Array, rule: BodyRule): SignedRequest {
  const payload = (): JsonObject | undefined => {
    const parsed = parseBody(body, request.headers, rule);
    return parsed.ok ? parsed.value : undefined;
  };
  return { ...request, body, payload };
}

/** The usual readings of the route's secret. */
export function secretReadings({ definition, scheme }: Case): readonly Change[] {
  if (definition.secret.kind !== 'shared' || !(isHmac(scheme) || scheme.algorithm === 'token')) return [];
  const isUnread = definition.route.sender === 'standard-webhooks';
  const asText = `if its text, not what it encodes, is the key${isUnread ? ', as on a route without `source`' : ''}`;
  return textsOfSecret(definition.secret).flatMap((text) => {
    const bare = text.replace(/^whsec_/, '');
    const trimmed = text.trim();
    const readings: readonly (readonly [changed: string, key: SignatureScheme['key'], what: string])[] = [
      [trimmed, scheme.key, 'without the white space around it'],
      [bare, scheme.key, 'without whsec_ before it'],
      [`whsec_${bare}`, scheme.key, 'with whsec_ before it'],
      [text, 'text', asText],
      [bare, 'text', 'if its text, without whsec_ before it, is the key'],
      [bare, 'base64', 'if it is decoded from base64'],
      [bare, 'hex', 'if it is decoded from hexadecimal digits'],
      [`${text}\n`, scheme.key, 'with a line break at its end'],
      [`"${text}"`, scheme.key, 'with quotes around it, which do not belong to it'],
    ];
    return readings.map(([secret, key, what]): Change => {
      const route: Route = { ...definition.route, signature: { ...scheme, key } };
      const text = `The route’s secret would match ${what}.`;
      return { definition: { route, secret: { kind: 'shared', secret } }, text };
    });
  });
}

function isHmac({ algorithm, form }: SignatureScheme): boolean {
  return algorithm.startsWith('hmac-') && (form === undefined || form === 'twilio');
}

/** What `signature:` of the route would have to be; a source's scheme is known to be right. */
export function schemeForms({ definition, scheme }: Case): readonly Change[] {
  if (definition.route.signature === undefined || !isHmac(scheme)) return [];
  const forms: readonly (readonly [change: Partial<SignatureScheme>, what: string])[] = [
    [{ encoding: scheme.encoding === 'hex' ? 'base64' : 'hex' }, 'encoding'],
    [{ algorithm: 'hmac-sha256' }, 'algorithm'],
    [{ algorithm: 'hmac-sha1' }, 'algorithm'],
    [{ algorithm: 'hmac-sha512' }, 'algorithm'],
    ...['{body}', '{timestamp}.{body}', '{timestamp}{body}', '{id}.{timestamp}.{body}', '{url}{body}'].map(
      (signed) => [{ signed }, 'signed'] as const,
    ),
    ...['sha256=', 'sha1=', 'v0=', 'v1='].map((prefix) => [{ prefix }, 'prefix'] as const),
  ];
  return forms.map(([change, key]): Change => {
    const route: Route = { ...definition.route, signature: { ...scheme, ...change } };
    const text = `It would match with \`${key}: ${Object.values(change)[0]}\` under \`signature\`.`;
    return { definition: { ...definition, route }, text };
  });
}

/** The usual changes of a body between the sender and the gateway, undone. */
export function bodyChanges({ definition, request, scheme }: Case): readonly Change[] {
  if (!coversBody(scheme)) return [];
  const rule = bodyRuleOf(definition.route);
  const bodies = bodiesLike(Buffer.from(request.body).toString('utf8'));
  const changed = bodies.filter(([, body]) => Buffer.compare(body, request.body) !== 0);
  return changed.map(([what, body]): Change => {
    const text = `The body was changed on its way: it would match ${what}. Let the proxy pass the bytes on as they are.`;
    return { request: withBody(request, body, rule), text };
  });
}

function bodiesLike(text: string): readonly (readonly [what: string, body: Buffer])[] {
  const texts: (readonly [string, string])[] = [
    ['without the line break at its end', text.replace(/\r?\n$/, '')],
    ['with a line break (LF) at its end', `${text}\n`],
    ['with a line break (CRLF) at its end', `${text}\r\n`],
    ['with LF line breaks instead of CRLF', text.replaceAll('\r\n', '\n')],
    ['with CRLF line breaks instead of LF', text.replaceAll(/\r?\n/g, '\r\n')],
    ['without the white space around it', text.trim()],
    ['without the byte order mark before it', text.replace(/^\uFEFF/, '')],
  ];
  const value = isTooDeep(text, maxDepth) ? undefined : readJson(text);
  if (value !== undefined) {
    const plain = jsonTokens(text);
    texts.push(
      ['without white space in its JSON', plain.join('')],
      ['with a space after each comma and colon of its JSON', spaced(plain)],
      ['with its JSON indented by 2 spaces', indented(plain, 2)],
      ['with its JSON indented by 4 spaces', indented(plain, 4)],
      ['with the keys of its JSON in order', sortedJson(value)],
      ['with other characters than ASCII escaped in its JSON', escaped(plain.join(''))],
      [
        'with a space after each comma and colon, and other characters than ASCII escaped in its JSON',
        escaped(spaced(plain)),
      ],
      ['with the slashes of its JSON escaped', plain.join('').replaceAll('/', '\\/')],
    );
  }
  return texts.map(([what, changed]) => [what, Buffer.from(changed, 'utf8')]);
}

/** Deeper JSON is not reformatted: its keys take a call per level, and its lines an indent. */
const maxDepth = 64;

function spaced(tokens: readonly string[]): string {
  return tokens.map((token) => (token === ',' || token === ':' ? `${token} ` : token)).join('');
}

function escaped(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Other public addresses, for a signature that covers it. */
export function addressChanges({ definition, request }: Case): readonly Change[] {
  const { publicUrl = '' } = definition.route;
  const host = request.headers['x-forwarded-host'] ?? request.headers.host ?? '';
  const [scheme1, rest = ''] = publicUrl.split('://');
  const others: readonly (readonly [what: string, url: string])[] = [
    [
      scheme1 === 'https' ? 'with http instead of https' : 'with https instead of http',
      `${scheme1 === 'https' ? 'http' : 'https'}://${rest}`,
    ],
    ['without its port', publicUrl.replace(/:\d+$/, '')],
    ['with the port 443', `${publicUrl.replace(/:\d+$/, '')}:443`],
    ['without the path behind its host', publicUrl.replace(/^(https?:\/\/[^/]+).*$/, '$1')],
    ['with https and the host that the request names', `https://${host}`],
    ['with http and the host that the request names', `http://${host}`],
  ];
  return others.map(([what, url]): Change => {
    const route: Route = { ...definition.route, publicUrl: url };
    return { definition: { ...definition, route }, text: `It would match public_url ${what}.` };
  });
}
