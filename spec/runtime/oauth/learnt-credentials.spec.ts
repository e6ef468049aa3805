import t from 'tap';
import type { NewCredentials } from '../../../actors/oauth/credentials.store.ts';
import type { TokenRecord } from '../../../machines/oauth/token-record.ts';
import { learntCredentials } from '../../../runtime/oauth/learnt-credentials.ts';
import { tokenStore } from '../../support/oauth/token-store.ts';

const issuer = 'https://as.example';
const tokens: TokenRecord = {
  ...{ accessToken: 'access-1', refreshToken: 'refresh-1', issuer, clientId: 'c', url: 'https://mcp.example/mcp' },
  ...{ expiresAtMs: 2_000, issuedAtMs: 1_000, scope: 'a' },
};
const fresh: NewCredentials = {
  tokens,
  server: { issuer, authorizationServerUrl: issuer, metadata: { issuer }, resource: 'https://mcp.example/mcp' },
  client: {
    issuer,
    clientId: 'c',
    clientSecret: 'client-secret',
    authMethod: 'client_secret_post',
    redirectUri: 'http://127.0.0.1:1/callback',
  },
};

t.test('OBS-1 · OAU-2 · each credential is learnt by its place, when it is written and when it is read', async (t) => {
  const learnt: (readonly [string, string])[] = [];
  const credentials = learntCredentials(tokenStore(t).credentials, (...one) => void learnt.push(one));

  await credentials.save('hub', fresh);
  await credentials.saveTokens('hub', { ...tokens, accessToken: 'access-2' });
  t.same(learnt, [
    ['hub/access', 'access-1'],
    ['hub/refresh', 'refresh-1'],
    ['hub/client', 'client-secret'],
    ['hub/access', 'access-2'],
    ['hub/refresh', 'refresh-1'],
  ]);

  learnt.length = 0;
  t.equal(credentials.tokens('hub')?.accessToken, 'access-2');
  t.equal(credentials.client('hub')?.clientSecret, 'client-secret');
  t.same(learnt, [
    ['hub/access', 'access-2'],
    ['hub/refresh', 'refresh-1'],
    ['hub/client', 'client-secret'],
  ]);
});
