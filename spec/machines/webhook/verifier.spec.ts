import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { isDeprecated, type SignatureVerdict, signV2 } from '../../../machines/webhook/signature.ts';
import { signatureVerifier } from '../../../machines/webhook/verifier.ts';
import { fc } from '../../support/property.ts';

const secret = 'It’s a Secret to Everybody';
const nowMs = 1_700_000_000_000;
const seconds = nowMs / 1_000;
const body = Buffer.from('{"zen":"Keep it logically awesome."}');
const verify = signatureVerifier({}, { kind: 'shared', secret });
const hmac = (content: string | Buffer): string => createHmac('sha256', secret).update(content).digest('hex');
const check = (headers: Record<string, string>, held: Buffer = body): SignatureVerdict =>
  verify({ headers, body: held, nowMs });
const genuine = (scheme: string): SignatureVerdict => ({
  kind: 'genuine',
  scheme,
});

t.test('SIG-3 · takes what the Standard Webhooks library signs, by its own secret form', (t) => {
  const key = Buffer.from('a standard secret of bytes');
  const encoded = `whsec_${key.toString('base64')}`;
  const signedWith = (content: string): string => createHmac('sha256', key).update(content).digest('base64');
  const text = body.toString();
  const signature = new Webhook(encoded).sign('msg_1', new Date(nowMs), text);
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(seconds), 'webhook-signature': signature };
  const standard = signatureVerifier({}, { kind: 'shared', secret: encoded });

  t.match(standard({ headers, body, nowMs }), { ...genuine('standard-webhooks'), signed: { isTimed: true } });
  t.match(
    standard({ headers: { ...headers, 'webhook-signature': `v1,AAAA v1a,x ${signature}` }, body, nowMs }),
    genuine('standard-webhooks'),
    'any of several',
  );
  t.equal(
    standard({ headers: { ...headers, 'webhook-id': 'msg_2' }, body, nowMs }).kind,
    'refused',
    'the id is signed',
  );
  t.same(
    standard({ headers, body: Buffer.from('{}'), nowMs }),
    { kind: 'refused', scheme: 'standard-webhooks', why: 'the signature does not match' },
    'the body is signed',
  );
  const emptyId = { ...headers, 'webhook-id': '', 'webhook-signature': `v1,${signedWith(`.${seconds}.${text}`)}` };
  t.match(standard({ headers: emptyId, body, nowMs }), { kind: 'refused', why: 'the header webhook-id is missing' });
  t.end();
});

t.test('SIG-1 · decides each scheme by its own rule', (t) => {
  const v1 = hmac(body);
  const v2 = signV2(secret, seconds, body);
  const rows: readonly (readonly [string, Record<string, string>, SignatureVerdict['kind'], string | undefined])[] = [
    ['GitHub', { 'x-hub-signature-256': `sha256=${v1}` }, 'genuine', 'github'],
    ['GitHub, capital hex', { 'x-hub-signature-256': `sha256=${v1.toUpperCase()}` }, 'genuine', 'github'],
    ['GitHub without its prefix', { 'x-hub-signature-256': v1 }, 'refused', 'github'],
    ['GitHub, another digest', { 'x-hub-signature-256': `sha256=${hmac('other')}` }, 'refused', 'github'],
    ['GitHub, cut digest', { 'x-hub-signature-256': `sha256=${v1.slice(1)}` }, 'refused', 'github'],
    ['GitLab, real header', { 'x-gitlab-token': Buffer.from(secret).toString('latin1') }, 'genuine', 'gitlab'],
    ['GitLab, neutral header', { 'x-hostb-token': Buffer.from(secret).toString('latin1') }, 'genuine', 'gitlab'],
    [
      'GitLab, the real one wins',
      { 'x-gitlab-token': 'wrong', 'x-hostb-token': Buffer.from(secret).toString('latin1') },
      'refused',
      'gitlab',
    ],
    ['GitLab, a prefix of the secret', { 'x-gitlab-token': 'It' }, 'refused', 'gitlab'],
    ['V2', v2, 'genuine', 'generic-v2'],
    [
      'V2 without its timestamp',
      { 'x-webhook-signature-v2': v2['x-webhook-signature-v2'] ?? '' },
      'refused',
      'generic-v2',
    ],
    ['V1', { 'x-webhook-signature': v1 }, 'genuine', 'generic-v1'],
    ['nothing', {}, 'refused', undefined],
  ];
  for (const [title, headers, kind, scheme] of rows) {
    const verdict = check(headers);
    t.equal(verdict.kind, kind, title);
    t.equal(verdict.scheme, scheme, `${title}: scheme`);
  }
  t.end();
});

t.test('SIG-1 · the first scheme whose header is present decides, without a weaker second chance', (t) => {
  const all: readonly (readonly [string, string])[] = [
    ['webhook-signature', 'standard-webhooks'],
    ['x-hub-signature-256', 'github'],
    ['x-gitlab-token', 'gitlab'],
    ['x-webhook-signature-v2', 'generic-v2'],
    ['x-webhook-signature', 'generic-v1'],
  ];
  for (const [index, [header, scheme]] of all.entries()) {
    const weaker = Object.fromEntries(
      all
        .slice(index + 1)
        .map(([name]) => [name, name === 'x-hub-signature-256' ? `sha256=${hmac(body)}` : hmac(body)]),
    );
    const verdict = check({ ...weaker, [header]: 'rubbish' });
    t.same([verdict.kind, verdict.scheme], ['refused', scheme], header);
  }
  t.end();
});

t.test('SIG-3 · allows 300 s of skew either way and not one more', (t) => {
  for (const [skew, kind] of [
    [300, 'genuine'],
    [-300, 'genuine'],
    [301, 'refused'],
    [-301, 'refused'],
  ] as const) {
    t.equal(check(signV2(secret, seconds + skew, body)).kind, kind, `${skew} s`);
  }
  for (const timestamp of ['', ' 1', '1e9', '-1', '1700000000.5', 'now', '9'.repeat(40)]) {
    const headers = { 'x-webhook-timestamp': timestamp, 'x-webhook-signature-v2': hmac(`${timestamp}.${body}`) };
    t.equal(check(headers).kind, 'refused', `"${timestamp}" is no whole second`);
  }
  t.end();
});

t.test('SIG-2 · a refusal says why, for the log alone', (t) => {
  const v2 = (timestamp?: string): Record<string, string> => ({
    'x-webhook-signature-v2': hmac('x'),
    ...(timestamp === undefined ? {} : { 'x-webhook-timestamp': timestamp }),
  });
  const rows: readonly (readonly [Record<string, string>, string])[] = [
    [{}, 'no recognised signature header'],
    [
      { 'x-hub-signature-256': hmac(body) },
      'the header x-hub-signature-256 holds no signature that begins with sha256=',
    ],
    [{ 'x-hub-signature-256': 'sha256=base64' }, 'the signature is not in hexadecimal digits'],
    [{ 'x-hub-signature-256': 'sha256=12' }, 'the signature does not match'],
    [{ 'x-webhook-signature': hmac('other') }, 'the signature does not match'],
    [{ 'x-gitlab-token': 'other' }, 'the token does not match'],
    [{ 'webhook-signature': 'v1,x', 'webhook-timestamp': String(seconds) }, 'the header webhook-id is missing'],
    [v2(), 'the timestamp is missing'],
    [v2('1.5'), 'the timestamp is not in whole Unix seconds'],
    [v2(String(seconds - 400)), 'the timestamp is 400 s from the clock; 300 s are allowed'],
  ];
  for (const [headers, why] of rows) t.match(check(headers), { kind: 'refused', why }, why);
  t.end();
});

t.test('SIG-4 · marks V1 as deprecated and nothing else', (t) => {
  const schemeOf = (headers: Record<string, string>) => (check(headers) as { readonly scheme?: string }).scheme;
  t.equal(isDeprecated(schemeOf({ 'x-webhook-signature': hmac(body) })), true);
  t.equal(isDeprecated(schemeOf(signV2(secret, seconds, body))), false);
  t.end();
});

t.test('SIG-5 · an insecure route takes everything but what a page in a browser sends', (t) => {
  const verify = signatureVerifier({}, { kind: 'insecure' });
  const unsigned = { kind: 'genuine', scheme: 'none' };
  t.same(verify({ headers: {}, body, nowMs }), unsigned);
  // Sent by Node's fetch, outside of any browser.
  t.same(verify({ headers: { 'sec-fetch-mode': 'cors' }, body, nowMs }), unsigned);
  for (const origin of [
    'http://localhost:3000',
    'https://127.0.0.1',
    'http://[::1]:8644',
    'https://evil.example',
    'null',
    '',
  ])
    t.equal(verify({ headers: { origin }, body, nowMs }).kind, 'refused', origin);
  for (const site of ['cross-site', 'same-site', 'same-origin', 'none'])
    t.equal(verify({ headers: { 'sec-fetch-site': site }, body, nowMs }).kind, 'refused', site);
  t.end();
});

t.test('SIG-2 · never throws and never takes a changed body, whatever the header bytes', (t) => {
  const names = [
    'webhook-signature',
    'x-hub-signature-256',
    'x-gitlab-token',
    'x-webhook-signature-v2',
    'x-webhook-signature',
  ];
  const latin1 = fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
  fc.assert(
    fc.property(fc.constantFrom(...names), latin1, fc.uint8Array(), (name, value, held) => {
      const headers = {
        [name]: value,
        'webhook-id': 'x',
        'webhook-timestamp': String(seconds),
        'x-webhook-timestamp': String(seconds),
      };
      return check(headers, Buffer.from(held)).kind === 'refused';
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1 }), fc.nat(), (held, at) => {
      const original = Buffer.from(held);
      const changed = Buffer.from(held);
      const index = at % changed.length;
      changed[index] = (changed[index] ?? 0) ^ 1;
      const headers = signV2(secret, seconds, original);
      return check(headers, original).kind === 'genuine' && check(headers, changed).kind === 'refused';
    }),
  );
  t.end();
});

t.test('SIG-3 · what a scheme with a time signs is no body of a scheme without one; what else begins so is', (t) => {
  const kindOf = (content: string, scheme: (signature: string) => Record<string, string>) =>
    check(scheme(hmac(content)), Buffer.from(content)).kind;
  for (const scheme of [
    (signature: string) => ({ 'x-hub-signature-256': `sha256=${signature}` }),
    (signature: string) => ({ 'x-webhook-signature': signature }),
  ]) {
    for (const content of [
      `${seconds}.{}`,
      `msg_1.${seconds}.{}`,
      `a.b.${seconds}.{}`,
      `${'x'.repeat(200)}.${seconds}.a=1`,
      `POSThttps://h.example/webhooks/a?b=c{}${nowMs}`,
      `${seconds}${'0a'.repeat(25)}`,
    ])
      t.equal(kindOf(content, scheme), 'refused', content);
    for (const content of [
      '{"v":"1.1700000000."}',
      ' {"a":1}',
      'a.1=2',
      `a=1.${seconds}.2`,
      `t=${seconds}.&v=1`,
      `${seconds}=1`,
      `${seconds}${'0a'.repeat(25)}=1`,
    ])
      t.equal(kindOf(content, scheme), 'genuine', content);
  }
  t.end();
});

t.test('SEC-6 · the digest of a signature is the same in every notation and under every scheme that makes it', (t) => {
  const digestOf = (headers: Record<string, string>, held = body) => {
    const verdict = check(headers, held);
    return verdict.kind === 'genuine' ? verdict.signed : undefined;
  };
  const ofBody = digestOf({ 'x-hub-signature-256': `sha256=${hmac(body)}` });
  t.match(ofBody, { digest: /^[\w-]{22}$/, isTimed: false });
  t.same(digestOf({ 'x-hub-signature-256': `sha256=${hmac(body).toUpperCase()}` }), ofBody);
  t.same(digestOf({ 'x-webhook-signature': hmac(body) }), ofBody);
  t.notOk(hmac(body).includes(ofBody?.digest ?? ''), 'it holds nothing of the signature');

  const v2 = digestOf(signV2(secret, seconds, body));
  t.match(v2, { isTimed: true });
  t.not(digestOf(signV2(secret, seconds - 1, body))?.digest, v2?.digest);

  t.equal(digestOf({ 'x-gitlab-token': Buffer.from(secret).toString('latin1') }), undefined, 'a token signs nothing');
  t.same(signatureVerifier({}, { kind: 'insecure' })({ headers: {}, body, nowMs }), {
    kind: 'genuine',
    scheme: 'none',
  });
  t.end();
});
