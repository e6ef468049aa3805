/**
 * The cost of verifying and reading a request of each source preset beside the same request on a route that takes the
 * generic scheme (V2). The parse of the body is left out: both have one (a spec counts it). What the preset's own
 * cryptography costs more than V2's is measured alone and taken off, so that what is left is what the preset itself adds.
 * @see SRC-1 in docs/specification.md
 */

import { createHmac, generateKeyPairSync, sign, verify } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { JsonObject } from '../../machines/base/json.ts';
import type { Route, RouteSecret } from '../../machines/config/route.ts';
import type { SignatureScheme } from '../../machines/config/signature-scheme.ts';
import { type Source, type SourceName, sourceNames, sources } from '../../machines/config/sources.ts';
import { certificateReader } from '../../machines/webhook/certificate.ts';
import { compileRoute } from '../../machines/webhook/compile-route.ts';
import { hmacSha256 } from '../../machines/webhook/hmac.ts';
import { parsePayload, type RequestFacts, verifySignature } from '../../machines/webhook/request-rules.ts';
import { type SignedEvent, signEvent, signsByPrivateKey } from '../../machines/webhook/sign-event.ts';
import { digestOf, signV2 } from '../../machines/webhook/signature.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import { liveRequest, parsedOf } from '../../runtime/webhook/exchanges.ts';
import { plainFacts, plainRoute } from '../support/records.ts';
import { selfSigned } from '../support/tls.ts';

export interface PresetCost {
  readonly preset: SourceName;
  readonly bytes: number;
  /** Verifying and reading, of the preset and of V2 with the same body. */
  readonly micros: number;
  readonly byHandMicros: number;
  /** Of the preset's cryptography beyond that of V2. */
  readonly cryptoMicros: number;
  /** What the preset adds. */
  readonly addedMicros: number;
}

export interface PresetOrder {
  /** Of the bodies. */
  readonly sizes: readonly number[];
  readonly rounds: number;
  /** Of a turn. */
  readonly requests: number;
}

interface Case {
  readonly route: Partial<Route>;
  readonly secret: RouteSecret;
  readonly sent: SignedEvent;
  /**
   * The cryptography alone; with a public key, the digest by which a second signature of the same content is known, too, and the
   * digest of the body where that is the id.
   */
  readonly crypto: () => unknown;
}

/** Of the bodies, about. */
export const presetSizes = [1_800, 18_000];
const nowMs = 1_700_000_000_000;
const seconds = String(nowMs / 1_000);
const isoTime = new Date(nowMs).toISOString();
const path = '/webhooks/r';
const publicUrl = 'https://hooks.example.com';
const secret = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
const certificates = {
  paypal: 'https://api.paypal.com/v1/notifications/certs/CERT-1',
  sns: 'https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem',
};
const topic = 'arn:aws:sns:eu-central-1:123456789012:alarms';

export function measurePresets({ sizes, rounds, requests }: PresetOrder): PresetCost[] {
  const rsa = selfSigned();
  const cases = sizes.flatMap((bytes) =>
    sourceNames.map((name) => {
      const preset = caseOf(name, name === 'twilio' ? fieldsOf(bytes) : payloadOf(bytes), rsa);
      const byHand = v2Case(name, preset.sent);
      const turns = [work(preset, rsa.pem), work(byHand, rsa.pem), preset.crypto, byHand.crypto];
      return {
        name,
        bytes: Buffer.byteLength(preset.sent.body),
        turns,
        least: turns.map(() => Number.POSITIVE_INFINITY),
      };
    }),
  );
  // The first rounds warm up. What else the machine does only adds, so the least of the others is kept.
  for (let round = -2; round < rounds; round += 1) {
    for (const { turns, least } of cases) {
      for (const [index, turn] of turns.entries()) {
        const micros = microsOf(turn, requests);
        if (round >= 0) least[index] = Math.min(least[index] ?? micros, micros);
      }
    }
  }
  return cases.map(({ name, bytes, least: [micros = 0, byHandMicros = 0, crypto = 0, cryptoByHand = 0] }) => {
    const cryptoMicros = crypto - cryptoByHand;
    return {
      preset: name,
      bytes,
      micros,
      byHandMicros,
      cryptoMicros,
      addedMicros: micros - byHandMicros - cryptoMicros,
    };
  });
}

function microsOf(turn: () => unknown, requests: number): number {
  const { user, system } = process.cpuUsage();
  for (let count = 0; count < requests; count += 1) turn();
  const after = process.cpuUsage();
  return (after.user + after.system - user - system) / requests;
}

/** The two rules of a request from its body to its payload, with the facts as the gateway keeps them. */
function work({ route, secret: of, sent }: Case, pem: string): () => void {
  const compiled = compileRoute({ route: { ...plainRoute, publicUrl, ...route }, secret: of });
  const body = Buffer.from(sent.body);
  const head = { method: 'POST', path, headers: sent.headers };
  const live = liveRequest({ head, readBody() {}, reply() {} }, body);
  const parsed = parsedOf(live, compiled.body);
  const facts: RequestFacts = {
    ...plainFacts(compiled),
    headers: () => live.headers,
    query: () => sent.query,
    body: () => live.body,
    certificate: (url) => (url.endsWith('.pem') || url.includes('/CERT-') ? pem : JSON.stringify({ k1: pem })),
    parsed: () => parsed,
  };
  const context: RequestContext = {
    id: 'k',
    origin: 'http',
    method: 'POST',
    path,
    receivedAtMs: nowMs,
    route: compiled.route,
  };
  const input = { nowMs, freshId: 'made' };
  return () => {
    const verified = verifySignature(context, facts, input);
    const read = verified.outcome ?? parsePayload({ ...context, scheme: verified.scheme }, facts, input).outcome;
    if (read !== undefined) throw new Error(`${route.sender}: ${read.kind} ${verified.reason}`);
  };
}

function v2Case(name: SourceName, { headers, body }: SignedEvent): Case {
  const source: Source = sources[name];
  const type = headers['content-type'];
  const bytes = Buffer.from(body);
  const digest = hmacSha256(Buffer.from(secret));
  return {
    route: source.body === undefined ? {} : { body: source.body.shape },
    secret: { kind: 'shared', secret },
    sent: {
      headers: { ...signV2(secret, nowMs / 1_000, bytes), ...(type === undefined ? {} : { 'content-type': type }) },
      body,
    },
    crypto: () => digest(`${seconds}.`, bytes),
  };
}

function payloadOf(bytes: number): JsonObject {
  const items = Array.from({ length: Math.ceil(bytes / 90) }, (_, index) => ({
    id: index,
    name: `item ${index}`,
    url: `https://example.com/items/${index}`,
    isOpen: index % 2 === 0,
  }));
  return { webhookTimestamp: nowMs, items: items as unknown as JsonObject[] };
}

/** A form has no more than names and values. */
function fieldsOf(bytes: number): JsonObject {
  const count = Math.min(200, Math.ceil(bytes / 90));
  const value = 'v'.repeat(Math.ceil(bytes / count) - 10);
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`Field${index}`, value]));
}

function withId({ bodyDiffersBy }: Source, { body }: SignedEvent, crypto: () => unknown): () => unknown {
  if (bodyDiffersBy === undefined) return crypto;
  const bytes = Buffer.from(body);
  return () => [crypto(), digestOf(bytes)];
}

function caseOf(name: SourceName, payload: JsonObject, rsa: { readonly key: string; readonly pem: string }): Case {
  const source: Source = sources[name];
  const [scheme] = source.schemes;
  if (scheme === undefined) throw new Error(`${name} has no scheme`);
  const route = { sender: name };
  const event = { payload, event: 'a.b', id: 'd1', path, nowMs };
  const key = keyFor(scheme);
  const shared = { kind: 'shared', secret: key } as const;
  const sealed = signEvent(scheme, { name, secret: key, publicUrl }, event, source);
  if (!signsByPrivateKey(scheme.algorithm))
    return { route, secret: shared, sent: sealed, crypto: withId(source, sealed, cryptoOf(scheme, sealed, key)) };
  const { headers, body } = sealed;
  const put = (more: Record<string, string>, text = body): SignedEvent => ({
    headers: { ...headers, ...more },
    body: text,
  });
  if (scheme.algorithm === 'ed25519') {
    const pair = generateKeyPairSync('ed25519');
    const content = Buffer.from(seconds + body);
    const signature = sign(null, content, pair.privateKey);
    return {
      route,
      secret: {
        kind: 'shared',
        secret: pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('hex'),
      },
      sent: put({ 'x-signature-ed25519': signature.toString('hex') }),
      crypto: withId(source, sealed, () => [verify(null, content, pair.publicKey, signature), digestOf(content)]),
    };
  }
  if (name === 'sendgrid') {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const content = Buffer.from(seconds + body);
    const signature = sign('sha256', content, pair.privateKey);
    return {
      route,
      secret: { kind: 'shared', secret: pair.publicKey.export({ format: 'der', type: 'spki' }).toString('base64') },
      sent: put({ 'x-twilio-email-event-webhook-signature': signature.toString('base64') }),
      crypto: () => [verify('sha256', content, pair.publicKey, signature), digestOf(content)],
    };
  }
  const publicKey = certificateReader()(rsa.pem, nowMs);
  if (publicKey === undefined) throw new Error('the certificate cannot be read');
  if (scheme.jwt !== undefined) {
    const { issuers, secretIs } = scheme.jwt;
    const [id, aud] =
      secretIs === 'email' ? ['push@p.iam.gserviceaccount.com', publicUrl + path] : ['1234567890', '1234567890'];
    const claims = { iss: issuers[0], aud, exp: nowMs / 1_000, email: id, email_verified: true };
    const parts = [{ alg: 'RS256', kid: 'k1' }, claims].map((one) =>
      Buffer.from(JSON.stringify(one)).toString('base64url'),
    );
    const content = Buffer.from(parts.join('.'));
    const signature = sign('sha256', content, rsa.key);
    return {
      route,
      secret: { kind: 'shared', secret: id },
      sent: put({ authorization: `Bearer ${content}.${signature.toString('base64url')}` }),
      crypto: () => verify('sha256', content, publicKey, signature),
    };
  }
  if (name === 'paypal') {
    const bytes = Buffer.from(body);
    const id = '9XL90610J3647323C';
    const contentOf = (): Buffer => Buffer.from(`d1|${isoTime}|${id}|${crc32(bytes)}`);
    const signature = sign('sha256', contentOf(), rsa.key);
    const more = { 'paypal-auth-algo': 'SHA256withRSA', 'paypal-cert-url': certificates.paypal };
    return {
      route,
      secret: { kind: 'shared', secret: id },
      sent: put({
        ...more,
        'paypal-transmission-time': isoTime,
        'paypal-transmission-sig': signature.toString('base64'),
      }),
      crypto: () => verify('sha256', contentOf(), publicKey, signature),
    };
  }
  // A text: the JSON within a message would be parsed as well.
  const text = `Alarm: ${body}`;
  const message = { Type: 'Notification', MessageId: 'm', TopicArn: topic, Message: text, Timestamp: isoTime };
  const contentOf = (): Buffer =>
    Buffer.from(`Message\n${text}\nMessageId\nm\nTimestamp\n${isoTime}\nTopicArn\n${topic}\nType\nNotification\n`);
  const signature = sign('sha256', contentOf(), rsa.key);
  const more = { SignatureVersion: '2', SigningCertURL: certificates.sns, Signature: signature.toString('base64') };
  return {
    route,
    secret: { kind: 'shared', secret: topic },
    sent: put({}, JSON.stringify({ ...message, ...more })),
    crypto: () => {
      const content = contentOf();
      return [verify('sha256', content, publicKey, signature), digestOf(content)];
    },
  };
}

function keyFor({ key }: SignatureScheme): string {
  return key === 'base64' ? `whsec_${Buffer.from(secret).toString('base64')}` : secret;
}

/** The same hash over about as many bytes. */
function cryptoOf({ algorithm, signed }: SignatureScheme, { body }: SignedEvent, key: string): () => unknown {
  const bytes = Buffer.from(body);
  if (algorithm === 'token') return () => undefined;
  const digest = hmacSha256(Buffer.from(key));
  if (!/\{(?:body|sorted form)\}/.test(signed)) return () => digest(`${seconds}token`, Buffer.alloc(0));
  if (algorithm === 'hmac-sha256') return () => digest(`${seconds}.`, bytes);
  return () => createHmac(algorithm.slice('hmac-'.length), key).update(bytes).digest();
}
