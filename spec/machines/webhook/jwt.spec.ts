import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import t from 'tap';
import type { Route } from '../../../machines/config/route.ts';
import { diagnoseRefusal, type RefusedRequest } from '../../../machines/webhook/diagnose-refusal.ts';
import { publicKeysIn } from '../../../machines/webhook/jwt.ts';
import type { SignedRequest } from '../../../machines/webhook/signature.ts';
import {
  chatClaims,
  googleKeys,
  jwk,
  nowMs,
  pem,
  projectNumber,
  published,
  pushAccount,
  pushClaims,
  routeFor,
  routeOf,
  signedToken,
} from '../../support/genuine-requests.ts';

const route = routeFor('google-pubsub');
const nowSeconds = nowMs / 1_000;

function requestWith(authorization: string, more: Partial<SignedRequest> = {}): SignedRequest {
  const certificate = (url: string): string | undefined => published[url];
  const headers = authorization === '' ? {} : { authorization };
  return { headers, body: Buffer.from('{}'), nowMs, path: '/webhooks/in', certificate, ...more };
}

const verdictOf = (authorization: string, more?: Partial<SignedRequest>) => {
  const verdict = route.verify(requestWith(authorization, more));
  return verdict.kind === 'genuine' ? 'genuine' : verdict.why;
};
const claiming = (more: object): string => signedToken({ ...pushClaims, ...more });

t.test('SRC-1 · a token is genuine by its issuer’s key, for this address and of this service account alone', (t) => {
  t.equal(verdictOf(claiming({})), 'genuine');
  t.equal(verdictOf(claiming({ iss: 'accounts.google.com' })), 'genuine', 'the other form of the issuer');
  t.equal(verdictOf(claiming({ aud: [pushClaims.aud, 'b'] })), 'genuine', 'RFC 7519 §4.1.3');
  t.equal(verdictOf(claiming({}).replace('Bearer', 'bearer')), 'genuine');
  t.equal(
    verdictOf(claiming({ aud: `${pushClaims.aud}?tenant=1` }), { query: 'tenant=1' }),
    'genuine',
    'the endpoint with its query',
  );
  for (const [more, why] of [
    [{ iss: 'https://accounts.google.com.evil.example' }, 'its token is of another issuer'],
    [{ iss: undefined }, 'its token is of another issuer'],
    [{ aud: 'https://example.com' }, 'its token is for another audience'],
    [{ aud: `${pushClaims.aud}/` }, 'its token is for another audience'],
    [{ aud: [] }, 'its token is for another audience'],
    [{ aud: undefined }, 'its token is for another audience'],
    [{ email: 'evil@evil-project.iam.gserviceaccount.com' }, 'its token is of another service account'],
    [{ email: undefined }, 'its token is of another service account'],
    [{ email_verified: false }, 'its token is of another service account'],
    [{ email_verified: 'true' }, 'its token is of another service account'],
    [{ exp: undefined }, 'its token does not state for how long it is valid'],
    [{ exp: String(pushClaims.exp) }, 'its token does not state for how long it is valid'],
    [{ nbf: 'soon' }, 'its token does not state for how long it is valid'],
    [{ exp: nowSeconds - 301 }, 'its token has expired 301 s ago; 300 s are allowed'],
    [{ iat: nowSeconds + 301 }, 'its token is valid in 301 s; 300 s are allowed'],
    [{ nbf: nowSeconds + 301 }, 'its token is valid in 301 s; 300 s are allowed'],
  ] as const)
    t.equal(verdictOf(claiming(more)), why, JSON.stringify(more));
  for (const more of [{ exp: nowSeconds - 300 }, { iat: nowSeconds + 300 }, { nbf: nowSeconds + 300 }])
    t.equal(verdictOf(claiming(more)), 'genuine', JSON.stringify(more));
  t.end();
});

/** Other letters of the same bytes: the last one of 256 bytes has four bits that mean nothing. */
function sameBytesAs(signature: string): string {
  const last = signature.slice(-1);
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return signature.slice(0, -1) + letters[letters.indexOf(last) + 1];
}

t.test('SRC-1 · no other algorithm, no other key and no other text than a token is taken', (t) => {
  const [first = '', second = '', third = ''] = claiming({}).slice('Bearer '.length).split('.');
  const header = (more: object): string =>
    Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'k1', ...more })).toString('base64url');
  const algorithm = 'its token is not signed by RS256';
  for (const alg of ['none', 'None', 'HS256', 'RS512', 'PS256', 'ES256', '', null, ['RS256']]) {
    t.equal(verdictOf(`Bearer ${header({ alg })}.${second}.${third}`), algorithm, JSON.stringify(alg));
  }
  t.equal(verdictOf(signedToken(pushClaims, { crit: ['x'] })), algorithm, 'RFC 7515 §4.1.11');
  const confused = `${header({ alg: 'HS256' })}.${second}`;
  for (const key of [pem, createPublicKey(pem).export({ format: 'pem', type: 'spki' }), jwk.n ?? '']) {
    const sum = createHmac('sha256', key).update(confused).digest('base64url');
    t.equal(verdictOf(`Bearer ${confused}.${sum}`), algorithm, 'the public key as the secret of an HMAC');
  }
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const forged = sign('sha256', Buffer.from(`${first}.${second}`), other.privateKey).toString('base64url');
  t.equal(verdictOf(`Bearer ${first}.${second}.${forged}`), 'the signature does not match');
  const ownKey = signedToken(pushClaims, {
    kid: 'k2',
    jwk: other.publicKey.export({ format: 'jwk' }),
    jku: 'https://e',
  });
  t.equal(
    verdictOf(ownKey),
    'its token names a key that its issuer does not publish',
    'what it brings itself is not read',
  );
  for (const kid of [undefined, 7, '__proto__', 'constructor'])
    t.match(verdictOf(signedToken(pushClaims, { kid })), /names a key/, `${kid}`);
  const changed = Buffer.from(JSON.stringify({ ...pushClaims, sub: 'other' })).toString('base64url');
  t.equal(verdictOf(`Bearer ${first}.${changed}.${third}`), 'the signature does not match');
  for (const given of [
    'Bearer',
    'Bearer  ',
    `Basic ${first}.${second}.${third}`,
    `Bearer ${first}.${second}`,
    `Bearer ${first}.${second}.${third}.x`,
    `Bearer ${first}.${second}.${third} `,
    `Bearer ${first}.${second}.${third}=`,
    `Bearer ${first}.${second}.${sameBytesAs(third)}`,
    'Bearer a.b.c',
    `Bearer ${first}.W10.${third}`,
    `Bearer ${Buffer.from('[['.repeat(3_000)).toString('base64url')}.${second}.${third}`,
  ])
    t.equal(verdictOf(given), 'the header authorization holds no JSON Web Token', given.slice(0, 20));
  t.equal(verdictOf(''), 'the header authorization is missing');
  t.end();
});

t.test('SRC-1 · Google Chat’s token is for the number of the project, and signed by Chat itself', (t) => {
  const chat = routeFor('google-chat');
  const whyOf = (claims: object): unknown => {
    const verdict = chat.verify(requestWith(signedToken(claims)));
    return verdict.kind === 'genuine' ? 'genuine' : verdict.why;
  };
  t.equal(whyOf(chatClaims), 'genuine');
  t.equal(whyOf({ ...chatClaims, aud: '1234567891' }), 'its token is for another audience', 'of another app');
  t.equal(whyOf(pushClaims), 'its token is of another issuer');
  t.match(route.verify(requestWith(signedToken(chatClaims))), { why: 'its token is of another issuer' });
  t.end();
});

t.test(
  'SRC-1 · SEC-3 · keys are asked for only by a token that may be genuine, and again for a key that is not there',
  (t) => {
    const needed = (authorization: string, certificate = (url: string) => published[url]) =>
      route.needed?.(requestWith(authorization, { certificate }));
    t.same(needed(claiming({})), { url: googleKeys, hasKey: true });
    t.same(needed(signedToken(pushClaims, { kid: 'new' })), { url: googleKeys, hasKey: false });
    t.same(
      needed(claiming({}), () => undefined),
      { url: googleKeys, hasKey: false },
    );
    t.match(route.verify(requestWith(claiming({}), { certificate: () => undefined })), {
      kind: 'refused',
      why: 'the keys of its issuer could not be fetched in time',
      isTemporary: true,
    });
    const [first, second] = claiming({}).split('.');
    for (const one of [
      '',
      'Bearer x',
      claiming({ aud: 'a' }),
      claiming({ email: 'a' }),
      claiming({ exp: 1 }),
      `${first}.${second}`,
    ])
      t.equal(needed(one), undefined, one.slice(0, 20));
    const either = routeOf({ source: 'google-pubsub', secret: ['old@p.iam.gserviceaccount.com', pushAccount] });
    t.same(either.needed?.(requestWith(claiming({}))), { url: googleKeys, hasKey: true });
    t.match(either.verify(requestWith(claiming({}))), { kind: 'genuine', scheme: 'google-pubsub (secret 2)' });
    t.end();
  },
);

t.test('SRC-1 · of a set of keys only strong RSA keys for signatures are read', (t) => {
  const keysOf = (...keys: readonly object[]): readonly string[] => [
    ...publicKeysIn(JSON.stringify({ keys: [...keys, jwk] })).keys(),
  ];
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
  const others = [{ use: 'enc' }, { alg: 'RS512' }, { kid: 7 }, { kty: 'oct', k: 'c2VjcmV0' }, { n: 5 }, { n: 'AA' }];
  t.same(
    keysOf({ ...weak, kid: 'weak' }, { ...ec, kid: 'ec' }, ...others.map((one) => ({ ...jwk, kid: 'x', ...one }))),
    ['k1'],
  );
  t.same([...publicKeysIn(JSON.stringify({ a: pem, b: 'no certificate', c: 5 })).keys()], ['a']);
  for (const text of ['', '<html>', '[]', '{}', '{"keys":[]}', '{"keys":[null,"a"]}'])
    t.equal(publicKeysIn(text).size, 0, text);
  t.end();
});

t.test('SRC-5 · a token that is refused is explained by what it states', (t) => {
  const findings = (authorization: string, given = route, reason?: string) => {
    const { route: definition } = given;
    const secret = definition.sender === 'google-chat' ? projectNumber : pushAccount;
    const verdict = given.verify(requestWith(authorization));
    const refused: RefusedRequest = {
      ...{
        key: 'k',
        receivedAtMs: nowMs,
        kind: 'badSignature',
        method: 'POST',
        path: '/webhooks/in',
        query: undefined,
      },
      reason: reason ?? (verdict.kind === 'refused' ? verdict.why : undefined),
      headers: { authorization },
      body: undefined,
    };
    return diagnoseRefusal(refused, { route: definition, secret: { kind: 'shared', secret } });
  };
  const elsewhere = { ...route, route: { ...route.route, publicUrl: 'http://hooks.example.com' } satisfies Route };
  const [, , signature] = claiming({}).split('.');
  for (const [found, code, text] of [
    [
      findings(claiming({ aud: 'https://x' })),
      'url-differs',
      /^Its token is for another audience than https:\/\/hooks\.example\.com\/webhooks\/in\. At Google .* leave the audience empty/,
    ],
    [
      findings(claiming({}), elsewhere, 'its token is for another audience'),
      'url-differs',
      /^It would match public_url with https instead of http\.$/,
    ],
    [
      findings(claiming({ email: 'x@y' })),
      'differs',
      /^Its token is of another service account\. The route’s secret must be the email/,
    ],
    [
      findings(claiming({ exp: nowSeconds - 900 })),
      'clock-skew',
      /^Its token has expired 900 s ago; 300 s are allowed\. It was delayed/,
    ],
    [findings(claiming({ iat: nowSeconds + 900 })), 'clock-skew', /^Its token is valid in 900 s; 300 s are allowed\./],
    [findings(claiming({ iss: 'x' })), 'differs', /^Its token is of another issuer\. Another sender/],
    [
      findings(claiming({}), routeFor('google-chat')),
      'differs',
      /^Its token is of another issuer\. Another sender made this one, or .* Google Chat is not Project Number\.$/,
    ],
    [findings(`Bearer x.y.${signature}`), 'differs', /holds no JSON Web Token\. Another sender/],
    [
      findings(signedToken(pushClaims, { kid: 'k2' })),
      'differs',
      /^Its token names a key that its issuer does not publish\. /,
    ],
    [findings(claiming({}), route, 'the signature does not match'), 'differs', /^The signature does not match\. /],
    [
      findings(claiming({}), route, 'its token is of another service account'),
      'passes-now',
      /fits the route and the secret/,
    ],
    [
      findings(signedToken({ ...chatClaims, aud: '7' }), routeFor('google-chat')),
      'differs',
      /audience\. The route’s secret must be the number of the project/,
    ],
  ] as const)
    t.match(found, [{ code, text }], text.source);
  t.end();
});
