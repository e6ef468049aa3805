import { generateKeyPairSync, sign } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { createRequire } from 'node:module';
import { LinearWebhookClient } from '@linear/sdk/webhooks';
import { signWebhookPayload, verifyWebhookSignature } from '@notionhq/client';
import * as octokit from '@octokit/webhooks-methods';
import { verifyKey } from 'discord-interactions';
import { Webhook as Standard } from 'standardwebhooks';
import { Webhook as Svix } from 'svix';
import t from 'tap';
import { defaultProfile } from '../../../machines/base/names.ts';
import { readRoute } from '../../../machines/config/read-route.ts';
import { parseBody } from '../../../machines/webhook/body.ts';
import { compileRoute } from '../../../machines/webhook/compile-route.ts';
import type { SignedEvent } from '../../../machines/webhook/sign-event.ts';
import { oracleRow } from '../../house/sources-page.ts';
import {
  bodiesOf,
  casesOf,
  type Oracle,
  oracles,
  path,
  payloadsOf,
  publicUrl,
  recordedAtMs,
  recordedVectors,
  sealed,
  secretOf,
  sentWith,
  signatureHeader,
} from '../../support/oracles.ts';
import { selfSigned } from '../../support/tls.ts';

const page = readFileSync('docs/sources.md', 'utf8');

/** How one side judges and signs. */
interface Library {
  /** Of the route; absent where the provider knows a secret. */
  readonly secret?: string;
  readonly sign?: (body: string) => string | SignedEvent | Promise<string>;
  readonly verify: (sent: SignedEvent) => unknown;
}

/** The libraries take the time from the system, and minutes may pass between an import and its tests. */
let nowMs = 0;
let seconds = '';
const require = createRequire(import.meta.url);
const certUrl = 'https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem';
const topic = 'arn:aws:sns:eu-central-1:123456789012:alarms';
const rsa = selfSigned();

const libraries: Readonly<Record<string, (secret: string) => Library>> = {
  '@octokit/webhooks-methods': (secret) => ({
    sign: (body) => octokit.sign(secret, body),
    verify: ({ headers, body }) => octokit.verify(secret, body, headers['x-hub-signature-256'] ?? ''),
  }),
  standardwebhooks: (secret) => ({
    sign: (body) => new Standard(secret).sign('msg_2KWPBgLlAfxdpx2AI54pPJ85f4W', new Date(nowMs), body),
    verify: ({ headers, body }) => new Standard(secret).verify(body, headers),
  }),
  svix: (secret) => ({
    sign: (body) => new Svix(secret).sign('msg_2KWPBgLlAfxdpx2AI54pPJ85f4W', new Date(nowMs), body),
    verify: ({ headers, body }) => new Svix(secret).verify(body, headers),
  }),
  '@notionhq/client': (verificationToken) => ({
    sign: (body) => signWebhookPayload({ body, verificationToken }),
    verify: ({ headers, body }) =>
      verifyWebhookSignature({ body, signature: headers['x-notion-signature'], verificationToken }),
  }),
  '@linear/sdk': (secret) => ({
    verify: ({ headers, body }) =>
      new LinearWebhookClient(secret).verify(Buffer.from(body), headers['linear-signature'] ?? ''),
  }),
  'discord-interactions': () => {
    const pair = generateKeyPairSync('ed25519');
    const secret = pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('hex');
    return {
      secret,
      sign: (body) => sign(null, Buffer.from(seconds + body), pair.privateKey).toString('hex'),
      verify: ({ headers, body }) =>
        verifyKey(body, headers['x-signature-ed25519'] ?? '', headers['x-signature-timestamp'] ?? '', secret),
    };
  },
  '@sendgrid/eventwebhook': () => {
    const { EventWebhook } = require('@sendgrid/eventwebhook');
    // The library that it verifies with signs too.
    const { Ecdsa, PrivateKey } = createRequire(require.resolve('@sendgrid/eventwebhook'))('starkbank-ecdsa');
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = PrivateKey.fromPem(pair.privateKey.export({ format: 'pem', type: 'sec1' }));
    const secret = pair.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
    const events = new EventWebhook();
    return {
      secret,
      sign: (body) => Ecdsa.sign(seconds + body, key).toBase64(),
      verify: ({ headers, body }) =>
        events.verifySignature(
          events.convertPublicKeyToECDSA(secret),
          body,
          headers['x-twilio-email-event-webhook-signature'],
          headers['x-twilio-email-event-webhook-timestamp'],
        ),
    };
  },
  'sns-validator': () => {
    const Validator = require('sns-validator');
    return {
      secret: topic,
      sign(body) {
        const Timestamp = new Date(nowMs).toISOString();
        const message = { Type: 'Notification', MessageId: 'm', TopicArn: topic, Message: body, Timestamp };
        const text = `Message\n${body}\nMessageId\nm\nTimestamp\n${Timestamp}\nTopicArn\n${topic}\nType\nNotification\n`;
        const Signature = sign('sha256', Buffer.from(text), rsa.key).toString('base64');
        const more = { SignatureVersion: '2', SigningCertURL: certUrl, Signature };
        return { headers: {}, body: JSON.stringify({ ...message, ...more }) };
      },
      verify: ({ body }) =>
        new Promise((resolve, reject) => {
          new Validator().validate(body, (error: Error | null) => (error === null ? resolve(true) : reject(error)));
        }),
    };
  },
};

// SNS's library fetches the certificate itself.
t.intercept(https, 'get', {
  value: (_: string, answered: (response: EventEmitter) => void) => {
    const response = Object.assign(new EventEmitter(), { statusCode: 200 });
    answered(response);
    response.emit('data', Buffer.from(rsa.pem));
    response.emit('end');
    return new EventEmitter();
  },
});

/** How we judge a request. */
function judge({ source }: Oracle, secret: string, atMs: number): (sent: SignedEvent) => boolean {
  const written = { source, secret };
  const scope = {
    source: 'static',
    profile: defaultProfile,
    host: '0.0.0.0',
    publicUrl,
    checkFilters: () => [],
  } as const;
  const read = readRoute('in', written, scope);
  if (!read.ok) throw new Error(read.findings.map(({ message }) => message).join('\n'));
  const route = compileRoute(read.value);
  return ({ headers, body, query }) => {
    const parsed = parseBody(body, headers, route.body);
    const request = { headers, body: Buffer.from(body), nowMs: atMs, path, query };
    const payload = () => (parsed.ok ? parsed.value : undefined);
    const certificate = (url: string) => (url === certUrl ? rsa.pem : undefined);
    return route.verify({ ...request, payload, certificate }).kind === 'genuine';
  };
}

async function accepts(library: Library, sent: SignedEvent): Promise<boolean> {
  try {
    const found = await library.verify(sent);
    return found !== false;
  } catch {
    return false;
  }
}

/** A request with one more character, and one with another signature. */
function altered(oracle: Oracle, sent: SignedEvent): readonly SignedEvent[] {
  const name = signatureHeader(oracle);
  if (name === '') return [{ ...sent, body: sent.body.replace('"Message":"', '"Message":"1') }];
  const signature = sent.headers[name] ?? '';
  const at = signature.length - 8;
  const other = signature.slice(0, at) + (signature[at] === 'a' ? 'b' : 'a') + signature.slice(at + 1);
  return [
    { ...sent, body: `${sent.body}1` },
    { ...sent, headers: { ...sent.headers, [name]: other } },
  ];
}

for (const oracle of oracles.filter(({ isRecorded }) => !isRecorded)) {
  t.test(`SRC-1 · ${oracle.source} and its library ${oracle.library} judge and sign alike`, async (t) => {
    nowMs = Date.now();
    seconds = String(Math.floor(nowMs / 1_000));
    const library = (libraries[oracle.library] as (secret: string) => Library)(secretOf(oracle.source));
    const secret = library.secret ?? secretOf(oracle.source);
    const ours = judge(oracle, secret, nowMs);
    const counts = { theirs: 0, ours: 0 };
    for (const [name, body] of Object.entries(library.sign === undefined ? {} : bodiesOf(oracle))) {
      const signed = await library.sign?.(body);
      const sent = typeof signed === 'string' ? sentWith(oracle, body, signed, nowMs) : (signed as SignedEvent);
      t.ok(ours(sent), `ours of theirs: ${name}`);
      if (oracle.signs === 'key') t.ok(await accepts(library, sent), `theirs: ${name}`);
      for (const other of altered(oracle, sent))
        t.same([ours(other), await accepts(library, other)], [false, false], `altered: ${name}`);
      counts.theirs += 1;
    }
    for (const [name, payload] of Object.entries(payloadsOf(oracle))) {
      const sent = sealed(oracle, secret, payload, nowMs);
      if (sent === undefined) continue;
      t.same([ours(sent), await accepts(library, sent)], [true, true], `theirs of ours: ${name}`);
      for (const other of altered(oracle, sent))
        t.same([ours(other), await accepts(library, other)], [false, false], `altered: ${name}`);
      counts.ours += 1;
    }
    t.same(counts, casesOf(oracle));
    t.ok(counts.theirs + counts.ours >= 16);
    t.match(page, oracleRow(oracle));
  });
}

for (const oracle of oracles.filter(({ isRecorded }) => isRecorded)) {
  t.test(`SRC-1 · ${oracle.source} is signed and verified as its library ${oracle.library} did`, async (t) => {
    const { signatures } = recordedVectors()[oracle.library] as {
      readonly signatures: Readonly<Record<string, string>>;
    };
    const secret = secretOf(oracle.source);
    const ours = judge(oracle, secret, recordedAtMs);
    const counts = { theirs: 0, ours: 0 };
    for (const [name, body] of Object.entries(bodiesOf(oracle))) {
      const signature = signatures[name];
      if (signature === undefined) continue;
      const sent = sentWith(oracle, body, signature, recordedAtMs);
      t.ok(ours(sent), `ours of theirs: ${name}`);
      for (const other of altered(oracle, sent)) t.notOk(ours(other), `altered: ${name}`);
      if (oracle.signs !== undefined) counts.theirs += 1;
    }
    for (const [name, payload] of Object.entries(payloadsOf(oracle))) {
      const sent = sealed(oracle, secret, payload, recordedAtMs);
      t.equal(sent?.headers[signatureHeader(oracle)], signatures[name], `as theirs: ${name}`);
      counts.ours += 1;
    }
    t.same(counts, casesOf(oracle));
    t.ok(counts.theirs + counts.ours >= 16);
    t.match(page, oracleRow(oracle));
  });
}
