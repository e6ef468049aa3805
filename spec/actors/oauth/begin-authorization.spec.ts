import { createHash } from 'node:crypto';
import t from 'tap';
import { beginAuthorization } from '../../../actors/oauth/begin-authorization.ts';

const issuer = 'https://as.example';
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/authorize?tenant=7`,
  token_endpoint: `${issuer}/token`,
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
};
const request = {
  discovery: { authorizationServerUrl: issuer, issuer, metadata, resource: 'https://mcp.example/mcp', scope: 'a b' },
  client: { clientId: 'c', clientSecret: 'a-secret-of-the-client' },
  redirectUri: 'http://127.0.0.1:27890/callback',
  state: 'st',
};

t.test(
  'OAU-1 · the address carries the challenge of a verifier that stays here, the state and the resource',
  async (t) => {
    const begun = await beginAuthorization(request);

    if (begun.kind !== 'begun') return t.fail(begun.why);
    const url = new URL(begun.url);
    t.equal(url.origin + url.pathname, `${issuer}/authorize`);
    t.same(Object.fromEntries(url.searchParams), {
      tenant: '7',
      response_type: 'code',
      client_id: 'c',
      code_challenge: createHash('sha256').update(begun.codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
      redirect_uri: 'http://127.0.0.1:27890/callback',
      state: 'st',
      scope: 'a b',
      resource: 'https://mcp.example/mcp',
    });
    t.notMatch(begun.url, /a-secret/);
    const again = await beginAuthorization(request);
    t.not(again.kind === 'begun' && again.codeVerifier, begun.codeVerifier, 'a verifier for each login');
  },
);

t.test('OAU-1 · Google is asked for a refresh token in its own way, and no other server', async (t) => {
  for (const [endpoint, type, prompt] of [
    ['https://accounts.google.com/o/oauth2/v2/auth', 'offline', 'consent'],
    ['https://accounts.google.com.example/o/oauth2/v2/auth', null, null],
    [metadata.authorization_endpoint, null, null],
  ] as const) {
    const discovery = { ...request.discovery, metadata: { ...metadata, authorization_endpoint: endpoint } };
    const begun = await beginAuthorization({ ...request, discovery });
    if (begun.kind !== 'begun') return t.fail(begun.why);
    const { searchParams } = new URL(begun.url);
    t.equal(searchParams.get('access_type'), type, endpoint);
    t.equal(searchParams.get('prompt'), prompt, endpoint);
  }
});

t.test(
  'OAU-1 · a server without metadata is asked at the default place, without parameters that no document names',
  async (t) => {
    const { client, redirectUri, state } = request;
    const begun = await beginAuthorization({
      ...{ client, redirectUri, state },
      discovery: { authorizationServerUrl: `${issuer}/`, issuer: `${issuer}/`, metadata: {} },
    });
    if (begun.kind !== 'begun') return t.fail(begun.why);
    const url = new URL(begun.url);
    t.equal(url.pathname, '/authorize');
    t.notOk(url.searchParams.has('scope') || url.searchParams.has('resource'));
  },
);

t.test('OAU-1 · what is no web address, or no code flow, is never opened', async (t) => {
  for (const [change, why] of [
    [{ authorization_endpoint: 'file:///etc/passwd' }, /no web address: file:/],
    [{ authorization_endpoint: 'http://as.example/authorize' }, /not served over https \(http:\/\/as\.example\)/],
    [{ token_endpoint: 'http://as.example/token' }, /the token endpoint is not served over https/],
    [{ authorization_endpoint: 'javascript:alert(1)' }, /no web address|no login can be begun/],
    [{ authorization_endpoint: 'nonsense' }, /no login can be begun/],
    [{ response_types_supported: ['token'] }, /does not support response type code/],
    [{ code_challenge_methods_supported: ['plain'] }, /does not support code challenge method S256/],
  ] as const) {
    const begun = await beginAuthorization({
      ...request,
      discovery: { ...request.discovery, metadata: { ...metadata, ...change } as never },
    });
    t.match(begun, { kind: 'failed', why }, JSON.stringify(change));
  }
});
