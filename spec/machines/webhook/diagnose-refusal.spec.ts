import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { parse } from 'yaml';
import type { JsonObject } from '../../../machines/base/json.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { readRoute } from '../../../machines/config/read-route.ts';
import type { RouteWithSecret } from '../../../machines/config/route.ts';
import type { Place, SignatureScheme } from '../../../machines/config/signature-scheme.ts';
import { type Source, type SourceName, sourceNames, sources } from '../../../machines/config/sources.ts';
import { compileRoute } from '../../../machines/webhook/compile-route.ts';
import { diagnoseRefusal, type Finding, type RefusedRequest } from '../../../machines/webhook/diagnose-refusal.ts';
import { sampleNames, signSample } from '../../../machines/webhook/samples.ts';
import type { SignedEvent } from '../../../machines/webhook/sign-event.ts';
import { signV2 } from '../../../machines/webhook/signature.ts';
import { fc, runs } from '../../support/property.ts';

const nowMs = 1_700_000_000_000;
const path = '/webhooks/in';
const publicUrl = 'https://hooks.example.com';
const plainSecret = 'a-secret-of-the-sender-0123';
const hex32 = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
const secrets: Readonly<Record<string, string>> = {
  stripe: 'whsec_q8Zr4Lk2Wm7Tn1Bd9X',
  svix: 'whsec_q8Zr4Lk2Wm7Tn1Bd9XabcdefghijklmA',
  'standard-webhooks': 'whsec_q8Zr4Lk2Wm7Tn1Bd9XabcdefghijklmA',
  slack: hex32,
  meta: hex32,
  twilio: hex32,
  discord: `${hex32}${hex32}`,
  'discord-events': `${hex32}${hex32}`,
  line: hex32,
  paddle: 'pdl_ntfset_q8Zr4Lk2Wm7Tn1Bd9X',
  paypal: '9XL90610J3647323C',
  'aws-sns': 'arn:aws:sns:eu-central-1:123456789012:alarms',
  'google-pubsub': 'push@my-project.iam.gserviceaccount.com',
  'google-chat': '1234567890',
  sendgrid: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC',
};
/** Sources that sign by an HMAC, so that a spec can sign as they do. */
const hmacSources = sourceNames.filter((name) => {
  const [scheme] = sources[name].schemes as Source['schemes'];
  return scheme?.algorithm.startsWith('hmac-') === true && 'header' in scheme.at;
});

function routeOf(given: JsonObject, url = publicUrl): RouteWithSecret {
  const read = readRoute('in', given, {
    source: 'static',
    profile: defaultProfile,
    host: '127.0.0.1',
    publicUrl: url,
    checkFilters: () => [],
  });
  if (!read.ok) throw new Error(read.findings.map(({ message }) => message).join());
  return read.value;
}

/** As a route is that was read before its secret was changed: findings of the secret do not prevent it. */
function withSecret({ route }: RouteWithSecret, secret: string): RouteWithSecret {
  return { route, secret: { kind: 'shared', secret } };
}

const secretOf = (name: SourceName): string => secrets[name] ?? plainSecret;
function sourceRoute(name: SourceName, url?: string): RouteWithSecret {
  const given = secretOf(name);
  const isToken = (sources[name] as Source).secretKey === 'verify_token';
  return routeOf({ source: name, ...(isToken ? { verify_token: given } : { secret: given, verify_token: 'v' }) }, url);
}

function sampleOf(name: SourceName): SignedEvent {
  const sample = sampleNames.find((one) => one.startsWith(`${name}:`)) ?? '';
  return signSample(sample, {
    secret: secretOf(name),
    route: { sender: name },
    id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
    path,
    publicUrl,
    nowMs,
  });
}

function refusedOf({ headers, body, query }: SignedEvent, change: Partial<RefusedRequest> = {}): RefusedRequest {
  return {
    key: 'k1',
    receivedAtMs: nowMs,
    kind: 'badSignature',
    reason: 'the signature does not match',
    method: 'POST',
    path,
    query,
    headers,
    body: Buffer.from(body),
    ...change,
  };
}

const tokenAt = { algorithm: 'token', encoding: 'hex', signed: '{body}', key: 'text' } as const;
const v2Scheme: SignatureScheme = {
  ...tokenAt,
  algorithm: 'hmac-sha256',
  at: { header: 'x-webhook-signature-v2' },
  signed: '{timestamp}.{body}',
  timestamp: { at: { header: 'x-webhook-timestamp' }, unit: 's', toleranceSeconds: 300 },
};

const codes = (findings: readonly Finding[]): readonly string[] => findings.map(({ code }) => code);

t.test(
  'SRC-5 · of each source that signs by HMAC, a missing header, a clock, a body and a secret are distinguished',
  (t) => {
    for (const name of hmacSources.filter((one) => one !== 'gitlab')) {
      const route = sourceRoute(name);
      const sealed = sampleOf(name);
      const [scheme] = sources[name].schemes as Source['schemes'];
      const header = scheme !== undefined && 'header' in scheme.at ? scheme.at.header : '';
      const { [header]: _, ...others } = sealed.headers;
      t.same(codes(diagnoseRefusal(refusedOf(sealed), route)), ['passes-now'], `${name}: as it is`);
      const bare = diagnoseRefusal(refusedOf({ ...sealed, headers: others }), route);
      t.match(bare.at(-1), { code: 'header-missing', text: new RegExp(header, 'i') }, `${name}: without its header`);
      const another = diagnoseRefusal(refusedOf(sealed), withSecret(route, secretOf(name).replace(/[a-z0-9]$/i, 'zz')));
      t.notOk(
        another.some(({ code, proven }) => proven === true || code === 'passes-now' || code === 'body-changed'),
        `${name}: another secret`,
      );
      if (scheme?.timestamp !== undefined) {
        for (const [byMs, direction] of [
          [40_000_000, 'behind'],
          [-40_000_000, 'ahead'],
        ] as const) {
          const [finding] = diagnoseRefusal(refusedOf(sealed, { receivedAtMs: nowMs + byMs }), route);
          t.match(
            finding,
            { code: 'clock-skew', text: new RegExp(`40000 s ${direction} .*signature itself matches`) },
            name,
          );
        }
      }
      const coversBody = scheme?.signed.includes('{body}') === true;
      if (!coversBody) continue;
      const indented = Buffer.from(`${JSON.stringify(JSON.parse(sealed.body), undefined, 2)}\r\n`);
      const [finding] = diagnoseRefusal(refusedOf(sealed, { body: indented }), route);
      t.match(
        finding,
        { code: 'body-changed', text: /without white space in its JSON/, proven: true },
        `${name}: indented`,
      );
      const url = sourceRoute(name, 'http://hooks.example.com');
      if (scheme?.signed.includes('{url}'))
        t.match(
          diagnoseRefusal(refusedOf(sealed), url),
          [{ code: 'url-differs', text: /https instead of http/ }],
          name,
        );
    }
    t.end();
  },
);

t.test('SRC-5 · what a proxy did to a body is named, with its numbers as they were written', (t) => {
  const { route } = routeOf({ secret: plainSecret });
  const compact = '{"b":12345678901234567890.50,"a":["é/",{}],"c":{"d":null}}';
  const sorted = '{"a":["é/",{}],"b":1,"c":{"d":null}}';
  const shuffled = '{"c":{"d":null},"b":1,"a":["é/",{}]}';
  const pretty = JSON.stringify(JSON.parse(sorted), undefined, 4);
  const rows = [
    [compact, compact.replaceAll(',', ' , '), /without white space in its JSON/],
    [compact.replaceAll(/([,:])/g, '$1 '), compact, /with a space after each comma and colon of its JSON/],
    [pretty, sorted, /indented by 4 spaces/],
    [sorted, shuffled, /with the keys of its JSON in order/],
    [sorted.replace('é', '\\u00e9'), sorted, /with other characters than ASCII escaped/],
    [sorted, sorted.replace('é', '\\u00e9'), /without white space in its JSON/],
    [sorted.replace('/', '\\/'), sorted, /slashes/],
    ['a\nb\n', 'a\r\nb\r\n', /with LF line breaks instead of CRLF/],
    ['a\r\nb', 'a\nb', /with CRLF line breaks instead of LF/],
    ['{}', '\uFEFF{}', /byte order mark|white space around/],
    ['{}\n', '{}', /with a line break \(LF\) at its end/],
  ] as const;
  for (const [sent, came, wanted] of rows) {
    const sealed = { headers: signV2(plainSecret, nowMs / 1_000, sent), body: came };
    const definition: RouteWithSecret = { route, secret: { kind: 'shared', secret: plainSecret } };
    t.match(diagnoseRefusal(refusedOf(sealed), definition), [{ code: 'body-changed', text: wanted }], came);
  }
  t.end();
});

t.test('SRC-5 · headers of another provider are named with the source that would match', (t) => {
  const stripe = sampleOf('stripe');
  const github = withSecret(sourceRoute('github'), secretOf('stripe'));
  t.same(diagnoseRefusal(refusedOf(stripe), github)[0], {
    code: 'other-provider',
    text: 'These are Stripe’s headers; this route has source: github. With source: stripe this request would match.',
    proven: true,
  });
  const { route } = routeOf({ secret: plainSecret });
  t.match(diagnoseRefusal(refusedOf(stripe), withSecret({ route } as RouteWithSecret, plainSecret))[0], {
    text: /Stripe’s headers; this route names no source. With source: stripe the secret must be the endpoint’s signing secret/,
  });
  t.match(
    diagnoseRefusal(refusedOf(sampleOf('github')), withSecret(sourceRoute('meta'), plainSecret))[0],
    { text: /^These are GitHub’s headers; this route has source: meta/ },
    'a header that both have',
  );
  t.end();
});

t.test('SRC-5 · the reading of the secret that would match is named, and the kind of a key that signs nothing', (t) => {
  const key = Buffer.from('0123456789abcdef01234567').toString('base64');
  const declared = (more: JsonObject): RouteWithSecret =>
    routeOf({ secret: plainSecret, signature: { header: 'x-sig', ...more } });
  const v2 = (secret: string): SignedEvent => ({ headers: signV2(secret, nowMs / 1_000, '{}'), body: '{}' });
  const { route } = routeOf({ secret: plainSecret });
  const plain = (secret: string): RouteWithSecret => ({ route, secret: { kind: 'shared', secret } });
  const rows: readonly (readonly [SignedEvent, RouteWithSecret, RegExp])[] = [
    [v2(plainSecret), plain(`whsec_${plainSecret}`), /match without whsec_ before it/],
    [v2(`whsec_${plainSecret}`), plain(plainSecret), /match with whsec_ before it/],
    [v2(plainSecret), plain(` ${plainSecret} `), /without the white space around it/],
    [v2(`"${plainSecret}"`), plain(plainSecret), /with quotes around it, which do not belong to it/],
    [v2('0123456789abcdef01234567'), plain(key), /if it is decoded from base64/],
    [v2('0123456789abcdef01234567'), plain(Buffer.from('0123456789abcdef01234567').toString('hex')), /hexadecimal/],
  ];
  for (const [sealed, definition, wanted] of rows)
    t.match(diagnoseRefusal(refusedOf(sealed), definition)[0], { code: 'secret-shape', text: wanted });
  // As Polar signs.
  const at = `${nowMs / 1_000}`;
  const digest = createHmac('sha256', key).update(`m.${at}.{}`).digest('base64');
  const polar = { 'webhook-id': 'm', 'webhook-timestamp': at, 'webhook-signature': `v1,${digest}` };
  t.match(
    diagnoseRefusal(refusedOf({ headers: polar, body: '{}' }), withSecret(sourceRoute('standard-webhooks'), key))[0],
    { code: 'secret-shape', text: /if its text, not what it encodes, is the key, as on a route without `source`\.$/ },
  );
  const { headers, body } = sampleOf('shopify');
  const sent = { headers: { 'x-sig': headers['x-shopify-hmac-sha256'] ?? '' }, body };
  t.match(diagnoseRefusal(refusedOf(sent), declared({})), [{ code: 'scheme-differs', text: /`encoding: base64`/ }]);
  const live = diagnoseRefusal(
    refusedOf(sampleOf('stripe')),
    withSecret(sourceRoute('stripe'), 'sk_live_51Habcdefghijk'),
  );
  t.match(live, [{ code: 'secret-kind', text: /looks like an API key of Stripe; it must be the endpoint’s signing/ }]);
  for (const [key, words] of [
    ['AKIAIOSFODNN7EXAMPLE', 'an access key of AWS'],
    ['re_c1tpEyD8_NKFusih9vKVQknRAQfmF', 'an API key of Resend'],
  ] as const) {
    const [, found] = diagnoseRefusal(refusedOf({ headers: {}, body: '{}' }), plain(key));
    t.match(found, { code: 'secret-kind', text: `looks like ${words}` });
  }
  const differs = diagnoseRefusal(refusedOf(v2(plainSecret)), plain('another-secret-of-mine'));
  t.match(differs, [{ code: 'differs', text: /No usual change of the body/ }]);
  t.end();
});

/** A request that has what a scheme asks for, and a signature of nothing. */
function unlike({ at, part, list, prefix = '', timestamp, id }: SignatureScheme): SignedEvent {
  const time = { s: '1700000000', ms: '1700000000000', iso: new Date(nowMs).toISOString() };
  const label = part === undefined ? '' : `${part}${list === 'spaces' ? ',' : '='}`;
  const isPart = timestamp !== undefined && 'part' in timestamp.at;
  const end = list === 'semicolons' ? ';' : ',';
  const stamp = isPart ? `${(timestamp.at as { readonly part: string }).part}=${time[timestamp.unit]}${end}` : '';
  const placed: readonly (readonly [Place, string])[] = [
    [at, `${stamp}${label}${prefix}${'0'.repeat(64)}`],
    ...(timestamp === undefined || 'part' in timestamp.at ? [] : ([[timestamp.at, time[timestamp.unit]]] as const)),
    ...(id === undefined ? [] : ([[id, 'id-1']] as const)),
  ];
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  let query = '';
  const body: Record<string, JsonObject | string | readonly JsonObject[]> = {};
  for (const [place, text] of placed) {
    if ('header' in place) headers[place.header] = text;
    else if ('query' in place) query = `${place.query}=${text}`;
    else {
      const [first = '', second] = place.field.split('.');
      if (place.of !== undefined) body[place.of] = [{ [first]: text }];
      else body[first] = second === undefined ? text : { ...(body[first] as JsonObject), [second]: text };
    }
  }
  return { headers, body: JSON.stringify(body), query };
}

t.test('SRC-5 · what is missing and what differs is worded by what the scheme of each source checks', (t) => {
  const declared = { header: 'x-sig', algorithm: 'token', prefix: 'Key ' } as const;
  const routes: readonly (readonly [string, RouteWithSecret, readonly SignatureScheme[]])[] = [
    ...sourceNames.map((name) => [name, sourceRoute(name), sources[name].schemes as Source['schemes']] as const),
    [
      'a token by hand',
      routeOf({ secret: plainSecret, signature: declared }),
      [{ ...tokenAt, at: { header: 'x-sig' }, prefix: 'Key ' }],
    ],
    ['no source, V2', routeOf({ secret: plainSecret }), [v2Scheme]],
  ];
  const told = routes.map(([name, definition, schemes]) => {
    const textOf = (sealed: SignedEvent, given?: string): string => {
      const payload = (): JsonObject => JSON.parse(sealed.body) as JsonObject;
      const verdict = compileRoute(definition).verify({
        ...sealed,
        body: Buffer.from(sealed.body),
        nowMs,
        path,
        payload,
      });
      const reason = given ?? (verdict.kind === 'refused' ? verdict.why : verdict.kind);
      const findings = diagnoseRefusal(refusedOf(sealed, { reason }), definition);
      return findings.map(({ code, text }) => `${code}: ${text}\n`).join('');
    };
    const texts = [{ headers: {}, body: '{}' }, ...schemes.map(unlike)].map((sealed) => textOf(sealed));
    // Only with a certificate is a signature found to differ.
    const [certified] = schemes.filter(({ algorithm }) => algorithm === 'rsa').map(unlike);
    const more = certified === undefined ? '' : textOf(certified, 'the signature does not match');
    return `${name}\n${texts.join('')}${more}`;
  });
  t.equal(told.join('\n'), readFileSync('spec/golden/doctor/schemes.out', 'utf8'));
  const raw = { headers: { 'x-amz-sns-rawdelivery': 'true' }, body: 'An alarm.' };
  t.match(diagnoseRefusal(refusedOf(raw), sourceRoute('aws-sns')), [
    { code: 'header-missing', text: /^The field Signature of the body is missing\. .*switch raw message delivery off/ },
  ]);
  const [sns] = sources['aws-sns'].schemes.map(unlike);
  const otherTopic = sns && refusedOf(sns, { reason: 'it is a message of another topic' });
  t.match(otherTopic && diagnoseRefusal(otherTopic, sourceRoute('aws-sns')), [
    { code: 'differs', text: /^It is a message of another topic\. The route’s secret must be the ARN/ },
  ]);
  const attached = { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: '--x\r\n' };
  t.match(diagnoseRefusal(refusedOf(attached), sourceRoute('mailgun')), [
    {
      code: 'header-missing',
      text: /No field was read: the form is cut off in part 1: its last boundary is missing\.$/,
    },
  ]);
  t.match(diagnoseRefusal(refusedOf(attached, { body: undefined }), sourceRoute('mailgun')), [
    { code: 'body-not-kept', text: 'The body was too long to keep, so its signature cannot be checked again.' },
  ]);
  const untrimmed = routeOf({ source: 'gitlab', secret: `${plainSecret} ` });
  const sent = { headers: { 'x-gitlab-token': plainSecret }, body: '{}' };
  t.match(diagnoseRefusal(refusedOf(sent), untrimmed), [
    { code: 'secret-shape', text: /white space around it/, proven: true },
  ]);
  t.end();
});

t.test('SRC-5 · repeated headers, times in another unit and long bodies are named', (t) => {
  const route = sourceRoute('slack');
  const slack = sampleOf('slack');
  const signature = slack.headers['x-slack-signature'] ?? '';
  const twice = { ...slack, headers: { ...slack.headers, 'x-slack-signature': `${signature}, v0=00` } };
  t.match(diagnoseRefusal(refusedOf(twice), route), [
    { code: 'header-repeated', text: /One of them alone would match/ },
  ]);
  const stripe = sampleOf('stripe');
  const both = { ...stripe, headers: { 'stripe-signature': `${stripe.headers['stripe-signature']}, t=1,v1=00` } };
  t.match(diagnoseRefusal(refusedOf(both), sourceRoute('stripe')), [{ code: 'header-repeated' }]);
  const comma = { ...sampleOf('telegram'), headers: { 'x-telegram-bot-api-secret-token': 'another, token' } };
  t.same(codes(diagnoseRefusal(refusedOf(comma), sourceRoute('telegram'))), ['differs'], 'a token may have a comma');
  const inMs = { ...slack, headers: { ...slack.headers, 'x-slack-request-timestamp': '17000000000000' } };
  t.match(diagnoseRefusal(refusedOf(inMs), route), [{ code: 'timestamp-unfit', text: /not in Unix seconds/ }]);
  for (const [time, text] of [
    ['t=1700000000000,', /not in Unix seconds/],
    ['', /the part t= of .* is missing/i],
  ] as const) {
    const stamp = (stripe.headers['stripe-signature'] ?? '').replace(/t=\d+,/, time);
    const given = { ...stripe, headers: { 'stripe-signature': stamp } };
    t.match(diagnoseRefusal(refusedOf(given), sourceRoute('stripe')), [{ code: 'timestamp-unfit', text }]);
  }
  const hubspot = sampleOf('hubspot');
  const inSeconds = { ...hubspot, headers: { ...hubspot.headers, 'x-hubspot-request-timestamp': `${nowMs / 1_000}` } };
  t.match(diagnoseRefusal(refusedOf(inSeconds), sourceRoute('hubspot')), [
    { code: 'timestamp-unfit', text: /in Unix seconds, not milliseconds/ },
  ]);
  const paypal = sampleOf('paypal');
  const noMonth = { 'paypal-transmission-sig': 'AAAA', 'paypal-transmission-time': '2023-13-14T22:13:20Z' };
  const inNoMonth = { ...paypal, headers: { ...paypal.headers, ...noMonth } };
  t.match(diagnoseRefusal(refusedOf(inNoMonth), sourceRoute('paypal')), [
    { code: 'timestamp-unfit', text: /is not in the form of RFC 3339/ },
  ]);
  const zipped = { ...sampleOf('github'), headers: { ...sampleOf('github').headers, 'content-encoding': 'gzip' } };
  t.match(diagnoseRefusal(refusedOf({ ...zipped, body: 'bytes' }), sourceRoute('github')), [
    { code: 'body-changed', text: /compressed \(content-encoding: gzip\).*send it uncompressed/ },
  ]);
  t.same(codes(diagnoseRefusal(refusedOf(slack, { body: undefined }), route)), ['body-not-kept']);
  t.match(diagnoseRefusal(refusedOf(slack, { kind: 'rateLimited', reason: undefined }), route), [
    { code: 'other-refusal', text: 'It was not the signature: rate limited.' },
  ]);
  const quoted = refusedOf(slack, { kind: 'badBody', reason: 'no field fooBar' });
  t.match(diagnoseRefusal(quoted, route), [{ text: 'It was not the signature: no field fooBar.' }], 'as it is written');
  t.end();
});

t.test('SRC-5 · a sender that no source is for is led to the line that its request needs', (t) => {
  const route = routeOf({ secret: plainSecret });
  const body = '{"n":1}';
  const seal = (text: string, by = 'sha256', as: 'hex' | 'base64' = 'hex') =>
    createHmac(by, plainSecret).update(text).digest(as);
  const at = nowMs / 1_000;
  const rows: readonly (readonly [headers: Record<string, string>, line: JsonObject, query?: string])[] = [
    [{ 'x-acme': seal(body) }, { header: 'x-acme' }],
    [
      { 'x-acme': `sha1=${seal(body, 'sha1', 'base64')}` },
      { header: 'x-acme', algorithm: 'hmac-sha1', encoding: 'base64', prefix: 'sha1=' },
    ],
    [
      { 'x-acme': `t=${nowMs};s=${seal(`${nowMs}:${body}`, 'sha512')}` },
      {
        header: 'x-acme',
        algorithm: 'hmac-sha512',
        part: 's',
        list: 'semicolons',
        signed: '{timestamp}:{body}',
        timestamp: { part: 't', unit: 'ms' },
      },
    ],
    [
      { 'content-length': '1000000000', 'x-at': `${at}`, 'x-acme': seal(`${at}${body}`) },
      { header: 'x-acme', signed: '{timestamp}{body}', timestamp: { header: 'x-at' } },
    ],
    ...['{timestamp}{body}', '{body}{timestamp}'].map((signed): (typeof rows)[number] => {
      const time = new Date(nowMs).toISOString();
      const sealed = seal(signed.replace('{timestamp}', time).replace('{body}', body), 'sha256', 'base64');
      const timestamp = { header: 'x-at', unit: 'iso' };
      return [
        { 'x-at': time, 'x-acme': sealed },
        { header: 'x-acme', encoding: 'base64', signed, timestamp },
      ];
    }),
    [{ authorization: `Bearer ${plainSecret}` }, { header: 'authorization', algorithm: 'token', prefix: 'Bearer ' }],
    [{}, { query: 'key', algorithm: 'token' }, `a=b&key=${plainSecret}`],
    [{}, { query: '1', algorithm: 'token' }, `1=${plainSecret}`],
    [{}, { query: 'true', algorithm: 'token' }, `true=${plainSecret}`],
    [{ "x-'acme": seal(body) }, { header: "x-'acme" }],
  ];
  for (const [headers, line, query] of rows) {
    const refused = refusedOf({ headers, body, ...(query === undefined ? {} : { query }) });
    const [found] = diagnoseRefusal(refused, route);
    t.match(found, { code: 'scheme-differs', proven: true }, JSON.stringify(line));
    const text = /`signature: (.*)` on the route/.exec(found?.text ?? '')?.[1] ?? '';
    t.same(parse(text), line);
    const [command] = diagnoseRefusal(refused, { ...route, route: { ...route.route, source: 'dynamic' } });
    const flag =
      /^It would match after `agent webhook edit \S+ --signature '(.*)'`\.$/.exec(command?.text ?? '')?.[1] ?? '';
    t.same(JSON.parse(flag.replaceAll("'\\''", "'")), line);
    t.match(diagnoseRefusal(refused, routeOf({ secret: plainSecret, signature: line })), [{ code: 'passes-now' }]);
    t.match(diagnoseRefusal(refused, withSecret(route, 'another-secret-0123')), [
      { code: 'header-missing', text: /declare .* by `signature:`/ },
    ]);
  }
  t.end();
});

t.test('SRC-5 · a handshake with a wrong token says what is wrong with it', (t) => {
  const route = routeOf({ source: 'meta', secret: hex32, verify_token: 'the-token' });
  const asked = (token: string): RefusedRequest =>
    refusedOf(
      {
        headers: {},
        body: '',
        query: new URLSearchParams({ 'hub.mode': 'subscribe', 'hub.verify_token': token }).toString(),
      },
      { kind: 'handshake', reason: 'handshake: hub.challenge with a wrong verify_token' },
    );
  const rows = [
    ['', /without hub.verify_token/],
    ['the-token ', /white space/],
    [hex32, /the route’s secret where its verify_token belongs/],
    ['other', /another token/],
  ] as const;
  for (const [token, wanted] of rows)
    t.match(diagnoseRefusal(asked(token), route), [{ code: 'handshake-token', text: wanted }]);
  t.end();
});

t.test(
  'SRC-5 · whatever came, a finding is there, and none holds a secret, a signature or a text of the sender',
  (t) => {
    const names = fc.constantFrom(...sourceNames);
    const sent = fc.constantFrom(...hmacSources.filter((one) => one !== 'gitlab'));
    const marker = 'Zq7sender';
    fc.assert(
      fc.property(names, sent, fc.string(), fc.integer({ min: -900_000, max: 900_000 }), (own, name, noise, byMs) => {
        const secret = 'Wx9secret-of-this-route-7731';
        const { route } = sourceRoute(own);
        const sealed = sampleOf(name);
        const headers: Record<string, string> = { 'x-other': marker };
        for (const [header, value] of Object.entries(sealed.headers))
          headers[header] = noise.length % 3 === 0 ? `${value}${marker}` : value;
        const refused = refusedOf(
          { ...sealed, headers, body: `${noise}${marker}${sealed.body}` },
          { receivedAtMs: nowMs + byMs },
        );
        const findings = diagnoseRefusal(refused, { route, secret: { kind: 'shared', secret } });
        const text = findings.map((one) => one.text).join('\n');
        return (
          findings.length > 0 &&
          !text.includes(marker) &&
          !text.includes(secret) &&
          !/[0-9a-f]{32}|[\w+/]{40}/.test(text.replaceAll(/https:\S+/g, ''))
        );
      }),
      { numRuns: runs(300) },
    );
    t.end();
  },
);
