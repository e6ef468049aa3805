import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { defaultProfile } from '../../../machines/base/names.ts';
import { readRoute } from '../../../machines/config/read-route.ts';
import type { SignatureScheme } from '../../../machines/config/signature-scheme.ts';
import { type SourceName, sourceNames, sources } from '../../../machines/config/sources.ts';
import { type CompiledRoute, compileRoute } from '../../../machines/webhook/compile-route.ts';
import { compileScheme, sealEvent } from '../../../machines/webhook/scheme.ts';
import type { SignatureVerdict } from '../../../machines/webhook/signature.ts';
import { fc } from '../../support/property.ts';

const nowMs = 1_700_000_000_000;
const seconds = String(nowMs / 1_000);
const publicUrl = 'https://hooks.example.com';
const key = Buffer.from('a key of thirty-two bytes, or so').toString('base64');
const whsec = `whsec_${key}`;
const plain = 'a-secret-of-the-sender-0123';

function routeOf(written: object): CompiledRoute {
  const read = readRoute('in', written as never, {
    source: 'static',
    profile: defaultProfile,
    host: '0.0.0.0',
    publicUrl,
    checkFilters: () => [],
  });
  if (!read.ok) throw new Error(read.findings.map(({ message }) => message).join('\n'));
  return compileRoute(read.value);
}

interface Sent {
  readonly headers: Record<string, string>;
  readonly body: string;
}

function verdictOf(route: CompiledRoute, { headers, body }: Sent, atMs = nowMs): SignatureVerdict {
  return route.verify({
    headers,
    body: Buffer.from(body),
    nowMs: atMs,
    path: '/webhooks/in',
    payload: () => JSON.parse(body),
  });
}

const hmac = (algorithm: string, secret: string | Buffer, text: string) => createHmac(algorithm, secret).update(text);
const hex = (text: string, secret: string | Buffer = plain): string => hmac('sha256', secret, text).digest('hex');
const url = `${publicUrl}/webhooks/in`;
const event = '{"id":"evt_1","type":"a.b"}';
const mail = { timestamp: seconds, token: 'tok', signature: hex(`${seconds}tok`) };

/** Each source as its provider's page says that it signs, computed without a line of ours. */
const discord = generateKeyPairSync('ed25519');
const discordKey = discord.publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('hex');
const command = '{"id":"d1","type":2,"data":{"name":"deploy"}}';
const hexSecret = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
const versioned = (secret: string, body: string): string => `v0=${hex(`v0:${seconds}:${body}`, secret)}`;

const genuine: Readonly<
  Record<SourceName, readonly [secret: string, sent: Sent, event: string, id: string | undefined]>
> = {
  github: [
    plain,
    {
      headers: { 'x-hub-signature-256': `sha256=${hex('{}')}`, 'x-github-event': 'push', 'x-github-delivery': 'g1' },
      body: '{}',
    },
    'push',
    'g1',
  ],
  gitlab: [
    plain,
    { headers: { 'x-gitlab-token': plain, 'x-gitlab-event': 'Push Hook', 'idempotency-key': 'k1' }, body: '{}' },
    'Push Hook',
    'k1',
  ],
  bitbucket: [
    plain,
    {
      headers: { 'x-hub-signature': `sha256=${hex('{}')}`, 'x-event-key': 'repo:push', 'x-request-uuid': 'u' },
      body: '{}',
    },
    'repo:push',
    'u',
  ],
  gitea: [
    plain,
    { headers: { 'x-gitea-signature': hex('{}'), 'x-gitea-event': 'push', 'x-gitea-delivery': 'd' }, body: '{}' },
    'push',
    'd',
  ],
  jira: [
    plain,
    {
      headers: {
        'x-hub-signature': `sha256=${hex('{"webhookEvent":"jira:issue_updated"}')}`,
        'x-atlassian-webhook-identifier': 'w',
      },
      body: '{"webhookEvent":"jira:issue_updated"}',
    },
    'jira:issue_updated',
    'w',
  ],
  linear: [
    plain,
    {
      headers: { 'linear-signature': hex(`{"type":"Issue","webhookTimestamp":${nowMs}}`), 'linear-delivery': 'l' },
      body: `{"type":"Issue","webhookTimestamp":${nowMs}}`,
    },
    'Issue',
    'l',
  ],
  sentry: [
    plain,
    {
      headers: {
        'sentry-hook-signature': hex('{"action":"created"}'),
        'sentry-hook-resource': 'issue',
        'request-id': 's',
      },
      body: '{"action":"created"}',
    },
    'issue.created',
    's',
  ],
  pagerduty: [
    plain,
    {
      headers: {
        'x-pagerduty-signature': `v1=${'0'.repeat(64)},v1=${hex('{"event":{"id":"p","event_type":"incident.triggered"}}')}`,
      },
      body: '{"event":{"id":"p","event_type":"incident.triggered"}}',
    },
    'incident.triggered',
    'p',
  ],
  grafana: [
    plain,
    { headers: { 'x-grafana-alerting-signature': hex('{"status":"firing"}') }, body: '{"status":"firing"}' },
    'firing',
    undefined,
  ],
  stripe: [
    'whsec_stripeSecret0123',
    {
      headers: { 'stripe-signature': `t=${seconds},v1=${hex(`${seconds}.${event}`, 'whsec_stripeSecret0123')},v0=00` },
      body: event,
    },
    'a.b',
    'evt_1',
  ],
  elevenlabs: [
    plain,
    { headers: { 'elevenlabs-signature': `t=${seconds},v0=${hex(`${seconds}.${event}`)}` }, body: event },
    'a.b',
    undefined,
  ],
  calendly: [
    plain,
    {
      headers: { 'calendly-webhook-signature': `t=${seconds},v1=${hex(`${seconds}.{"event":"invitee.created"}`)}` },
      body: '{"event":"invitee.created"}',
    },
    'invitee.created',
    undefined,
  ],
  shopify: [
    plain,
    {
      headers: {
        'x-shopify-hmac-sha256': hmac('sha256', plain, '{}').digest('base64'),
        'x-shopify-topic': 'orders/create',
        'x-shopify-webhook-id': 'sh',
      },
      body: '{}',
    },
    'orders/create',
    'sh',
  ],
  square: [
    plain,
    {
      headers: {
        'x-square-hmacsha256-signature': hmac(
          'sha256',
          plain,
          `${url}{"type":"payment.created","event_id":"q"}`,
        ).digest('base64'),
      },
      body: '{"type":"payment.created","event_id":"q"}',
    },
    'payment.created',
    'q',
  ],
  vercel: [
    plain,
    { headers: { 'x-vercel-signature': hmac('sha1', plain, event).digest('hex') }, body: event },
    'a.b',
    'evt_1',
  ],
  intercom: [
    plain,
    {
      headers: { 'x-hub-signature': `sha1=${hmac('sha1', plain, '{"topic":"user.created","id":"i"}').digest('hex')}` },
      body: '{"topic":"user.created","id":"i"}',
    },
    'user.created',
    'i',
  ],
  svix: [
    whsec,
    {
      headers: {
        'svix-id': 'm',
        'svix-timestamp': seconds,
        'svix-signature': `v1a,AAAA ${new Webhook(key).sign('m', new Date(nowMs), event)}`,
      },
      body: event,
    },
    'a.b',
    'm',
  ],
  'standard-webhooks': [
    whsec,
    {
      headers: {
        'webhook-id': 'm',
        'webhook-timestamp': seconds,
        'webhook-signature': new Webhook(key).sign('m', new Date(nowMs), event),
      },
      body: event,
    },
    'a.b',
    'm',
  ],
  telegram: [
    'bot-secret-token_0',
    {
      headers: { 'x-telegram-bot-api-secret-token': 'bot-secret-token_0' },
      body: '{"update_id":7,"callback_query":{}}',
    },
    'callback_query',
    '7',
  ],
  slack: [
    hexSecret,
    {
      headers: {
        'x-slack-request-timestamp': seconds,
        'x-slack-signature': versioned(
          hexSecret,
          '{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention"}}',
        ),
      },
      body: '{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention"}}',
    },
    'app_mention',
    'Ev1',
  ],
  zoom: [
    plain,
    {
      headers: { 'x-zm-request-timestamp': seconds, 'x-zm-signature': versioned(plain, '{"event":"meeting.started"}') },
      body: '{"event":"meeting.started"}',
    },
    'meeting.started',
    undefined,
  ],
  discord: [
    discordKey,
    {
      headers: {
        'x-signature-timestamp': seconds,
        'x-signature-ed25519': sign(null, Buffer.from(seconds + command), discord.privateKey).toString('hex'),
      },
      body: command,
    },
    'deploy',
    'd1',
  ],
  meta: [
    hexSecret,
    {
      headers: {
        'x-hub-signature-256': `sha256=${hex('{"object":"page","entry":[{"messaging":[{"message":{"mid":"m1"}}]}]}', hexSecret)}`,
      },
      body: '{"object":"page","entry":[{"messaging":[{"message":{"mid":"m1"}}]}]}',
    },
    'page',
    'm1',
  ],
  mailgun: [
    plain,
    {
      headers: {},
      body: JSON.stringify({ signature: mail, 'event-data': { event: 'delivered', id: 'e' } }),
    },
    'delivered',
    'e',
  ],
};

t.test('SRC-1 · each source takes what its provider signs, and reads its event and id', async (t) => {
  for (const name of sourceNames) {
    const [secret, sent, type, id] = genuine[name];
    const route = routeOf({ source: name, secret, verify_token: 'v' });
    const verdict = verdictOf(route, sent);
    t.match(verdict, { kind: 'genuine', scheme: name }, name);
    t.equal(route.eventType(sent.headers, JSON.parse(sent.body)), type, name);
    t.equal(route.deliveryId(sent.headers, JSON.parse(sent.body), Buffer.from(sent.body), false), id, name);
  }
});

t.test('SRC-1 · a source pins its scheme: what others would take is refused', async (t) => {
  for (const name of sourceNames) {
    const [secret, { body }] = genuine[name];
    const route = routeOf({ source: name, secret, verify_token: 'v' });
    for (const other of sourceNames) {
      const [, sent] = genuine[other];
      const headers = Object.keys(genuine[name][1].headers).some((one) => one in sent.headers) ? {} : sent.headers;
      t.equal(verdictOf(route, { headers, body: '{}' }).kind, 'refused', `${name} of ${other}`);
    }
    const v2 = { 'x-webhook-timestamp': seconds, 'x-webhook-signature-v2': hex(`${seconds}.${body}`, secret) };
    t.equal(verdictOf(route, { headers: v2, body: '{}' }).kind, 'refused', `${name} by V2`);
  }
});

t.test('SRC-1 · SIG-3 · a time outside of the window is refused', async (t) => {
  const timed = sourceNames.filter((name) =>
    sources[name].schemes.every((scheme: SignatureScheme) => scheme.timestamp),
  );
  t.ok(timed.length >= 7);
  for (const name of timed) {
    const [secret, sent] = genuine[name];
    const route = routeOf({ source: name, secret, verify_token: 'v' });
    for (const skewMs of [-400_000, 400_000]) {
      t.match(verdictOf(route, sent, nowMs + skewMs), { kind: 'refused', why: /s are allowed/ }, name);
    }
  }
  const [secret, sent] = genuine.linear;
  t.match(verdictOf(routeOf({ source: 'linear', secret }), sent, nowMs + 61_000), { why: /61 s .* 60 s/ });
});

t.test('SRC-1 · no change of what is signed, and of no signature, is accepted', async (t) => {
  const runs = Number(process.env.SPEC_TIER === 'all' ? 10_000 : 200);
  for (const name of sourceNames) {
    const [secret, sent] = genuine[name];
    const route = routeOf({ source: name, secret, verify_token: 'v' });
    const schemes: readonly SignatureScheme[] = sources[name].schemes;
    const signing = Object.keys(sent.headers).filter((header) =>
      schemes.some((scheme) => JSON.stringify(scheme).includes(`"${header}"`)),
    );
    const change = (text: string, at: number, by: number): string => {
      const place = at % text.length;
      const code = ((text.charCodeAt(place) - 32 + 1 + (by % 94)) % 95) + 32;
      return text.slice(0, place) + String.fromCharCode(code) + text.slice(place + 1);
    };
    const isSignedBody = schemes.every(({ signed, algorithm }) => signed.includes('{body}') && algorithm !== 'token');
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.constantFrom('body', ...signing), (at, by, what) => {
        if (what === 'body') {
          if (!isSignedBody) return;
          const verdict = route.verify({
            headers: sent.headers,
            body: Buffer.from(change(sent.body, at, by)),
            nowMs,
            path: '/webhooks/in',
            payload: () => JSON.parse(sent.body),
          });
          t.equal(verdict.kind, 'refused', `${name}: body`);
          return;
        }
        const given = sent.headers[what] ?? '';
        const changed = change(given, at, by);
        const verdict = verdictOf(route, { ...sent, headers: { ...sent.headers, [what]: changed } });
        // Other letters of the same bytes are the same signature: hexadecimal in capitals, what decodes alike, a part
        // that nobody looks at.
        if (verdict.kind === 'genuine') t.match(verdict, verdictOf(route, sent), `${name}: ${what} ${changed}`);
      }),
      { numRuns: runs },
    );
  }
});

t.test('SRC-1 · SUB-4 · each source signs a test event as it verifies one, with its event and id', async (t) => {
  for (const name of sourceNames) {
    const [secret] = genuine[name];
    const route = routeOf({ source: name, secret, verify_token: 'v' });
    for (const scheme of sources[name].schemes as readonly SignatureScheme[]) {
      const unsealed = { payload: { some: 'thing' }, event: 'first.second', id: 'id-1', path: '/webhooks/in', nowMs };
      const sealed = sealEvent(scheme, { name, secret, publicUrl }, unsealed, sources[name]);
      if (scheme.algorithm === 'ed25519') {
        t.equal(sealed, undefined, 'only Discord itself can sign');
        continue;
      }
      const sent = { headers: { ...sealed?.headers }, body: sealed?.body ?? '' };
      const payload = JSON.parse(sent.body);
      t.match(verdictOf(route, sent), { kind: 'genuine', scheme: name }, name);
      if (sources[name].event.length > 0) t.equal(route.eventType(sent.headers, payload), 'first.second', name);
      if (sources[name].id.length > 0) t.equal(route.deliveryId(sent.headers, payload, Buffer.from(''), false), 'id-1');
    }
  }
});

t.test('SRC-2 · a scheme that is declared by hand verifies and signs', async (t) => {
  const signature = {
    header: 'X-Acme-Signature',
    algorithm: 'hmac-sha512',
    encoding: 'base64',
    prefix: 'sig=',
    signed: '{method} {url} {id} {timestamp} {body}!',
    key: 'hex',
    id: { header: 'X-Acme-Id' },
    timestamp: { header: 'X-Acme-Time', unit: 'ms', tolerance_seconds: 10 },
  };
  const secret = createHash('sha256').update('x').digest('hex');
  const route = routeOf({ signature, secret, delivery_id: { field: 'order.id' } });
  const body = '{"order":{"id":12}}';
  const text = `POST ${url} i ${nowMs} ${body}!`;
  const headers = {
    'x-acme-id': 'i',
    'x-acme-time': String(nowMs),
    'x-acme-signature': `sig=${hmac('sha512', Buffer.from(secret, 'hex'), text).digest('base64')}`,
  };
  t.match(verdictOf(route, { headers, body }), { kind: 'genuine', scheme: 'declared', signed: { isTimed: true } });
  t.equal(route.deliveryId(headers, JSON.parse(body), Buffer.from(body), false), '12');
  const scheme = route.route.signature as SignatureScheme;
  const use = { name: 'declared', secret, publicUrl };
  const made = sealEvent(scheme, use, { payload: JSON.parse(body), path: '/webhooks/in', id: 'i', nowMs });
  const sent = Object.entries(made?.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  t.same([Object.fromEntries(sent), made?.body], [headers, body]);
  for (const [change, why] of [
    [{ 'x-acme-time': String(nowMs - 11_000) }, /11 s from the clock; 10 s/],
    [{ 'x-acme-time': 'soon' }, /whole Unix milliseconds/],
    [{ 'x-acme-time': '' }, /the timestamp is missing/],
    [{ 'x-acme-id': '' }, /the header X-Acme-Id is missing/],
    [{ 'x-acme-signature': 'other' }, /holds no signature that begins with sig=/],
    [{ 'x-acme-signature': '' }, /the header X-Acme-Signature is missing/],
    [{ 'x-acme-signature': 'sig=AAAA' }, /does not match/],
  ] as const) {
    t.match(verdictOf(route, { headers: { ...headers, ...change }, body }), { kind: 'refused', why });
  }
});

t.test('SRC-2 · public keys verify, and a second signature of the same content is the same request', async (t) => {
  const base = { at: { header: 'x-sig' }, signed: '{timestamp}{body}', key: 'text' } as const;
  const timestamp = { at: { header: 'x-time' }, unit: 's', toleranceSeconds: 300 } as const;
  const content = Buffer.from(`${seconds}{}`);
  const request = (signature: string) => ({
    headers: { 'x-sig': signature, 'x-time': seconds },
    body: Buffer.from('{}'),
    nowMs,
  });
  const ed = generateKeyPairSync('ed25519');
  const raw = ed.publicKey.export({ format: 'der', type: 'spki' }).subarray(12).toString('hex');
  const byEd = compileScheme({ ...base, timestamp, algorithm: 'ed25519', encoding: 'hex' }, { name: 'd', secret: raw });
  t.equal(byEd.verify(request(sign(null, content, ed.privateKey).toString('hex'))).kind, 'genuine');
  t.equal(byEd.verify(request('00'.repeat(64))).kind, 'refused');
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const secret = ec.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  const byEc = compileScheme(
    { ...base, timestamp, algorithm: 'ecdsa-sha256', encoding: 'base64' },
    { name: 's', secret },
  );
  const [one, other] = [0, 1].map(() =>
    byEc.verify(request(sign('sha256', content, ec.privateKey).toString('base64'))),
  );
  t.match(one, { kind: 'genuine', signed: { isTimed: true } });
  t.same(one, other);
  const none = compileScheme(
    { ...base, timestamp, algorithm: 'ed25519', encoding: 'hex' },
    { name: 'd', secret: 'no' },
  );
  t.match(none.verify(request('00'.repeat(64))), { kind: 'refused', why: 'the signature does not match' });
});

t.test('SRC-2 · SEC-6 · a secret that is not encoded is its own key, and no part of it is', async (t) => {
  const secret = 'ab@#€ - a token of GitLab';
  const route = routeOf({ source: 'gitlab', secret });
  const signedBy = (of: string | Buffer): Sent => ({
    headers: {
      'webhook-id': 'm',
      'webhook-timestamp': seconds,
      'webhook-signature': `v1,${hmac('sha256', of, `m.${seconds}.{}`).digest('base64')}`,
    },
    body: '{}',
  });
  t.equal(verdictOf(route, signedBy(Buffer.from(secret, 'base64'))).kind, 'refused');
  t.equal(verdictOf(route, signedBy(Buffer.alloc(0))).kind, 'refused');
  t.equal(verdictOf(route, signedBy(secret)).kind, 'genuine');
  const encoded = routeOf({ source: 'gitlab', secret: whsec });
  t.equal(verdictOf(encoded, signedBy(Buffer.from(key, 'base64'))).kind, 'genuine');
});

t.test('SRC-2 · of several secrets each fits, and the verdict says which', async (t) => {
  const body = '{}';
  const signed = (secret: string) => ({ headers: { 'x-hub-signature-256': `sha256=${hex(body, secret)}` }, body });
  const older = 'an-older-secret-of-the-sender';
  for (const written of [{ source: 'github' }, {}]) {
    const route = routeOf({ ...written, secret: [plain, older] });
    t.match(verdictOf(route, signed(plain)), { kind: 'genuine', scheme: 'github' });
    t.match(verdictOf(route, signed(older)), { kind: 'genuine', scheme: 'github (secret 2)' });
    t.match(verdictOf(route, signed('another')), {
      kind: 'refused',
      scheme: 'github',
      why: 'the signature does not match',
    });
  }
});

t.test('IDM-2 · a signed webhook-id outranks headers that nothing covers', async (t) => {
  const route = routeOf({ secret: whsec });
  const headers = { 'webhook-id': 'signed', 'x-github-delivery': 'free', 'x-request-id': 'free' };
  t.equal(route.deliveryId(headers, {}, Buffer.from(''), true), 'signed');
  t.equal(route.deliveryId(headers, {}, Buffer.from(''), false), 'free');
});
