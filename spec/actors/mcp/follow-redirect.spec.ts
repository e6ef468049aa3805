import t from 'tap';
import { redirectOf, withoutCredentials } from '../../../actors/mcp/follow-redirect.ts';

const form = { 'content-type': 'application/x-www-form-urlencoded' };

t.test('TLS-2 · a redirect becomes the request that fetch would send, or a refusal', (t) => {
  for (const [from, method, status, location, headers, expected] of [
    [
      'https://a.test/x',
      'POST',
      307,
      '/y?z',
      {},
      { request: { method: 'POST', body: 'b' }, shown: 'https://a.test/y' },
    ],
    ['https://a.test/x', 'POST', 301, '/y', {}, { refusal: /POST into a GET.*put that address in url/ }],
    ['https://a.test/x', 'POST', 302, '/y', {}, { refusal: /POST into a GET/ }],
    ['https://a.test/x', 'POST', 303, 'https://b.test/y', {}, { refusal: /POST into a GET/ }],
    ['https://a.test/x', 'DELETE', 302, '/y', {}, { request: { method: 'DELETE', body: 'b' } }],
    ['https://a.test/x', 'DELETE', 303, '/y', {}, { request: { method: 'GET', body: null } }],
    ['https://a.test/x', 'HEAD', 303, '/y', {}, { request: { method: 'HEAD' } }],
    ['http://a.test/x', 'GET', 301, 'https://a.test/x', {}, { refusal: undefined }],
    ['https://a.test/x', 'GET', 301, 'http://a.test/x', {}, { refusal: /without TLS/ }],
    ['https://a.test/x', 'GET', 301, 'file:///etc/passwd', {}, { refusal: /leaves HTTP/ }],
    ['https://a.test/x', 'GET', 301, 'http://[', {}, { refusal: /no URL/ }],
    ['https://a.test/x', 'POST', 308, 'https://b.test/x', {}, { refusal: undefined }],
    ['https://a.test/x', 'POST', 308, 'https://b.test/x', form, { refusal: /form/ }],
    ['https://a.test/x', 'POST', 308, 'https://a.test/y', form, { refusal: undefined }],
    ['https://a.test/x', 'POST', 302, 'https://b.test/x', form, { refusal: /POST into a GET/ }],
  ] as const) {
    const answer = { status, headers: new Headers({ location }) };
    const made = redirectOf({ url: new URL(from), method, body: 'b' }, new Headers(headers), answer);
    t.match(made, expected, `${method} ${status} ${location}`);
    t.equal(made?.refusal === undefined, !('refusal' in expected) || expected.refusal === undefined);
  }
  t.end();
});

t.test('TLS-2 · what is no redirect is an answer', (t) => {
  const request = { url: new URL('https://a.test'), method: 'GET', body: null };
  for (const [status, headers] of [
    [200, { location: '/y' }],
    [304, { location: '/y' }],
    [300, { location: '/y' }],
    [302, {}],
  ] as const) {
    t.equal(redirectOf(request, new Headers(), { status, headers: new Headers(headers) }), undefined, `${status}`);
  }
  t.end();
});

t.test('TLS-2 · nothing that says who asks goes to another origin', (t) => {
  const headers = new Headers({
    Authorization: 'a',
    'Mcp-Session-Id': 's',
    DPoP: 'd',
    Cookie: 'c',
    'X-Api-Key': 'k',
    accept: 'x',
  });
  withoutCredentials(headers, new Headers({ 'x-api-key': 'other' }));
  t.same([...headers.keys()], ['accept']);
  t.end();
});
