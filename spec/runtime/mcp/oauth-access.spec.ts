import { existsSync, writeFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { ConnectFailure } from '../../../machines/mcp/connect-failure.ts';
import { authorised, readFailures } from '../../../runtime/mcp/oauth-access.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';
import { tokenStore } from '../../support/oauth/token-store.ts';
import { until } from '../../support/processes.ts';

const url = 'https://mcp.example/mcp';
const withLogin: JsonObject = { url, auth: 'oauth' };
const without: readonly (readonly [string, JsonObject])[] = [
  ['a command', { command: 'x' }],
  ['a server without OAuth', { url }],
];

async function stage(t: Test) {
  const { credentials, folder, log } = tokenStore(t);
  const tokens = { accessToken: 'the-token', issuer: 'https://as.example', clientId: 'c', url };
  const login = {
    tokens,
    server: { issuer: tokens.issuer, authorizationServerUrl: tokens.issuer, metadata: {} },
    client: { issuer: tokens.issuer, clientId: 'c' },
  };
  return { credentials, folder, log, tokens, logIn: () => credentials.save('hub', login as never) };
}

t.test('OAU-1 · only requests to a server that asks for OAuth carry its token', async (t) => {
  const { credentials, log, logIn } = await stage(t);
  await logIn();
  const ports = { credentials, env: {}, userHome: '/', version: '1', nowMs: () => 0, log };
  for (const [what, entry] of without) t.same(authorised(settingsOf(entry, 'hub'), ports), {}, what);

  const shown: (string | null)[] = [];
  const { wrapFetch } = authorised(settingsOf(withLogin, 'hub'), ports);
  const carry = wrapFetch?.(async (_, init) => {
    shown.push(new Headers(init?.headers).get('authorization'));
    return new Response();
  });
  await carry?.(url);
  await carry?.('https://elsewhere.example/mcp');
  t.same(shown, ['Bearer the-token', null]);
});

t.test(
  'OAU-8 · LIF-1 · a refusal of the credentials asks for a login where one can help, and is a failure elsewhere',
  async (t) => {
    const { credentials, folder, tokens, logIn } = await stage(t);
    const refused: ConnectFailure = { kind: 'http', status: 401, message: 'Unauthorized' };
    const busy: ConnectFailure = { kind: 'http', status: 503, message: 'busy' };
    const read = (entry: JsonObject, failures: readonly ConnectFailure[], hasConnected = false) =>
      readFailures(settingsOf(entry, 'hub'), failures, {
        credentials,
        profile: 'work',
        hasConnected,
        nowMs: () => 1_000,
      } as never);

    const need = /^mcp server "hub": needs a login; run `agent mcp login hub --profile work`$/;
    t.match(read(withLogin, [refused]), { after: 'needsLogin', why: need });
    t.match(read(withLogin, [busy, refused]), { after: 'needsLogin' }, 'one refusal is enough');
    t.match(read(withLogin, [busy]), { after: 'retry', why: /"hub": .*503/ });
    for (const [what, entry] of without) {
      const { after, why } = read(entry, [refused]);
      t.equal(after, 'failed', what);
      t.notMatch(why, /needs a login|mcp login/, what);
    }

    const lacks: ConnectFailure = { kind: 'http', status: 403, message: 'no', scope: 'files:write' };
    t.match(read(withLogin, [lacks]), {
      after: 'needsLogin',
      why: 'mcp server "hub": needs a login: its token lacks the scope "files:write"; run `agent mcp login hub --profile work`',
    });
    t.equal(read(without[1]?.[1] ?? {}, [lacks]).after, 'failed');
    await until(() => existsSync(`${folder}/hub.scope`));
    t.equal(credentials.demandedScope('hub', url), 'files:write', 'the next login requests it');
    t.match(
      read(withLogin, [{ ...lacks, scope: '' }]).why,
      /its token lacks a scope that the server does not name \(set oauth\.scope to it\);/,
    );

    const led = 'mcp server "hub": its redirect to https://sso.example/in is not followed; put that address in url';
    const redirect: ConnectFailure = { kind: 'redirect', message: led };
    const both = `${led}; run \`agent mcp login hub --profile work\` if that is a page of logins`;
    t.same(read(withLogin, [redirect]), { after: 'needsLogin', why: both }, 'nothing can be sent without a token');
    t.same(
      read(withLogin, [redirect], true),
      { after: 'needsLogin', why: both, mayPass: true },
      'its tokens were removed, or it needed none and is away',
    );
    t.match(read(withLogin, [refused], true), { after: 'needsLogin', why: need, mayPass: undefined });
    t.same(read(without[1]?.[1] ?? {}, [redirect]), { after: 'failed', why: led });

    await logIn();
    t.same(read(withLogin, [redirect]), { after: 'failed', why: both });
    t.match(read(withLogin, [refused]), {
      why: /needs a login: the server refuses its token; run/,
      mayPass: undefined,
    });
    t.match(read(withLogin, [refused], true), { after: 'needsLogin', mayPass: true }, 'it took tokens before');
    t.equal(read(withLogin, [lacks], true).mayPass, undefined, 'a scope');
    const says = (message: string) => ({ ...refused, message });
    const oauthError = '{"error":"invalid_token","error_description":"wrong audience"}';
    for (const refusal of [says(oauthError), { ...says('wrong audience'), rpcCode: -32_001 }])
      t.match(read(withLogin, [refusal]).why, /needs a login: the server refuses its token \(wrong audience\); run/);
    const page = says(JSON.stringify({ error: 'x'.repeat(100_000) }));
    t.match(read(withLogin, [page]).why, /the server refuses its token; run/, 'too long to be read');
    t.match(read(withLogin, [says('{"error":" "}')]).why, /the server refuses its token; run/);
    const other = { ...says('{"error":"no such endpoint"}'), status: 404 };
    t.match(read(withLogin, [other, refused]).why, /the server refuses its token; run/, 'no reason of a refusal');
    const granted = { ...tokens, scope: 'files:write', expiresAtMs: 900 };
    await credentials.saveTokens('hub', granted);
    t.match(read(withLogin, [refused]).why, /needs a login: its token has expired, and it has none for renewals; run/);
    t.match(read(withLogin, [lacks]).why, /its token lacks the scope "files:write", although it was granted: another/);
    await credentials.saveTokens('hub', { ...granted, refreshToken: 'r' });
    t.match(read(withLogin, [refused], true), { why: need, mayPass: undefined }, 'another process knows why');
    await credentials.saveTokens('hub', tokens);
    credentials.noteRefusal('hub', 'its tokens cannot be renewed');
    t.equal(read(withLogin, [refused], true).mayPass, undefined, 'its renewal was refused');
    writeFileSync(`${folder}/hub.json`, '{ damaged');
    t.match(
      read(withLogin, [refused]).why,
      /needs a login: its token file .*hub\.json is damaged; run `agent mcp login/,
    );
  },
);
