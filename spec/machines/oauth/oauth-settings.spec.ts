import t from 'tap';
import { readOauthSettings } from '../../../machines/oauth/oauth-settings.ts';

t.test('OAU-3 · all keys are read, seconds become milliseconds', (t) => {
  const oauth = {
    flow: 'device',
    timeout: 90,
    client_id: 'id',
    client_secret: 'secret',
    token_endpoint_auth_method: 'client_secret_post',
    scope: 'a b',
    client_name: 'name',
    redirect_uri: 'http://localhost:1/cb',
    redirect_port: 2,
    client_metadata_url: 'https://a.b/c',
    cimd: false,
    user_agent: 'Fleet/7',
  };
  t.same(readOauthSettings({ oauth }), {
    flow: 'device',
    timeoutMs: 90_000,
    clientId: 'id',
    clientSecret: 'secret',
    tokenEndpointAuthMethod: 'client_secret_post',
    scope: 'a b',
    clientName: 'name',
    redirectUri: 'http://localhost:1/cb',
    redirectPort: 2,
    clientMetadataUrl: 'https://a.b/c',
    cimd: false,
    userAgent: 'Fleet/7',
  });
  t.end();
});

t.test('OAU-3 · what is not given, empty or null counts as not given', (t) => {
  const bare = { flow: 'browser', timeoutMs: 300_000, cimd: true };
  t.same(readOauthSettings({}), bare);
  t.same(readOauthSettings({ oauth: null }), bare);
  t.same(
    readOauthSettings({ oauth: { user_agent: '', client_id: ' ', scope: null, cimd: null, flow: 'browser' } }),
    bare,
  );
  t.same(readOauthSettings({ oauth: { user_agent: null } }), bare);
  t.end();
});
