import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { isErrorAnswer, plainAnswer, plainChallenge } from '../../../machines/oauth/plain-answer.ts';

const token = { access_token: 'at', token_type: 'bearer' };

t.test('OAU-1 · DEV-4 · an answer that deviates has the form of the standards', (t) => {
  const rows: readonly (readonly [string, JsonObject, JsonObject])[] = [
    ['a good one', { ...token, refresh_token: 'rt', scope: 'a b', expires_in: 3_600 }, {}],
    ['empty members', { ...token, refresh_token: '', scope: null, expires_in: null }, token],
    ['no type of the token', { access_token: 'at' }, { access_token: 'at', token_type: 'Bearer' }],
    ['nothing but a type', { token_type: 'mac' }, { token_type: 'mac' }],
    ['a list of scopes', { ...token, scope: ['a', 'b'] }, { ...token, scope: 'a b' }],
    ['a lifetime in text', { ...token, expires_in: '3600' }, { ...token, expires_in: 3_600 }],
    ['no lifetime', { ...token, expires_in: 0 }, token],
    ['an endless lifetime', { ...token, expires_in: 'Infinity' }, token],
    ['a lifetime in words', { ...token, expires_in: 'soon' }, token],
    ['a lifetime that is none', { ...token, expires_in: [1] }, token],
    ['an ID token', { ...token, id_token: 'a.b.c' }, token],
    ['another name', { verification_url: 'https://a.example' }, { verification_uri: 'https://a.example' }],
    [
      'both names',
      { verification_url: 'https://a.example', verification_uri: 'https://b.example' },
      { verification_uri: 'https://b.example' },
    ],
    ['an interval in text', { interval: '5' }, { interval: 5 }],
    ['an interval of zero', { interval: 0 }, {}],
    ['a public client', { client_id: 'c', client_secret: null, logo_uri: '' }, { client_id: 'c' }],
  ];
  const [[, good]] = rows as [(typeof rows)[number]];
  t.same(plainAnswer(good), good);
  for (const [what, answer, plain] of rows.slice(1)) t.same(plainAnswer(answer), plain, what);
  t.end();
});

t.test('OAU-1 · an error is one without a token beside it', (t) => {
  t.ok(isErrorAnswer({ error: 'slow_down' }));
  t.notOk(isErrorAnswer({ error: 'none', access_token: 'at' }));
  t.notOk(isErrorAnswer({ error: { code: 1 } }));
  t.notOk(isErrorAnswer({}));
  t.end();
});

t.test('OAU-1 · the Bearer challenge is read wherever it is, and however it is quoted', (t) => {
  const metadata = 'https://a.example/.well-known/oauth-protected-resource?x=1';
  const plain = `Bearer resource_metadata="${metadata}", scope="a b"`;
  const rows: readonly (readonly [string, string])[] = [
    [plain, plain],
    [`bearer  resource_metadata = "${metadata}" , scope= "a b"`, plain],
    [`Bearer resource_metadata='${metadata}', scope='a b'`, plain],
    [`Bearer resource_metadata=${metadata}, scope="a b"`, plain],
    [`Basic realm="Bearer scope=none, or more", Bearer resource_metadata="${metadata}", scope="a b"`, plain],
    [`Negotiate, Bearer resource_metadata="${metadata}", scope="a b", Basic realm="x"`, plain],
    [`Negotiate YWJj==, Bearer resource_metadata="${metadata}", scope="a b"`, plain],
    ['Bearer error="x", error_description="the \\"new\\" one"', 'Bearer error="x", error_description="the new one"'],
    ['Bearer', 'Bearer'],
    ['Basic realm="x"', 'Basic realm="x"'],
    ['DPoP algs="ES256", scope="a"', 'DPoP algs="ES256", scope="a"'],
    ['', ''],
  ];
  for (const [header, expected] of rows) t.equal(plainChallenge(header), expected, header);
  t.end();
});
