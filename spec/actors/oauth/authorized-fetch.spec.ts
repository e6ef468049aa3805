import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createAuthorizedFetch } from '../../../actors/oauth/authorized-fetch.ts';
import { createCredentials } from '../../../actors/oauth/credentials.store.ts';
import { createSharedDocuments } from '../../../actors/shared-documents.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { readOauthSettings } from '../../../machines/oauth/oauth-settings.ts';
import type { TokenRecord } from '../../../machines/oauth/token-record.ts';
import { memoryRows } from '../../support/document-rows.ts';
import { oauthError, paths, type ScriptedServer } from '../../support/oauth/scripted-server.ts';
import { loggedIn, plainConnections } from '../../support/oauth/token-store.ts';

const url = 'https://mcp.example/mcp';

/** A server that takes what the authorization server gave, and a fetch that carries it. */
async function stage(t: Test, change: Partial<TokenRecord> = {}, oauth: JsonObject = {}) {
  const { authority, store, record, client, issued } = await loggedIn(t, url, change);
  const shown: (string | undefined)[] = [];
  let now = Date.now();
  let accepts: (token: string) => boolean = authority.accepts;
  const settings = readOauthSettings({ oauth });
  const carry = createAuthorizedFetch({
    ...{ server: 'hub', url, settings, credentials: store.credentials, version: '1', log: store.log },
    open: plainConnections,
    nowMs: () => now,
  })(async (_, init) => {
    const sent = new Headers(init?.headers).get('authorization') ?? undefined;
    shown.push(sent);
    const token = /^Bearer (.*)$/.exec(sent ?? '')?.[1];
    return new Response(null, { status: token !== undefined && accepts(token) ? 200 : 401 });
  });
  return {
    ...{ authority, store, record, client, shown, carry },
    renewals: () => authority.at(paths.token).slice(issued),
    files: () => readdirSync(store.folder).map((name) => readFileSync(join(store.folder, name), 'utf8')),
    setClock: (ms: number) => {
      now = ms;
    },
    setServer: (does: typeof accepts) => {
      accepts = does;
    },
  };
}

/** Ends by the clock, and is refused by the server: as a token that has run out is. */
const over = { expiresAtMs: 1, issuedAtMs: 0 };
const takeBack = (authority: ScriptedServer): void => authority.expireTokens();

t.test('OAU-1 · a good token is sent to the server and nowhere else', async (t) => {
  const { carry, shown, record } = await stage(t);
  t.equal((await carry(url, { headers: { accept: 'x' } })).status, 200);
  await carry('https://elsewhere.example/mcp');
  t.same(shown, [`Bearer ${record.accessToken}`, undefined]);
});

t.test('OAU-1 · many at once with a token that has run out: renewed once, before anything is shown', async (t) => {
  const { carry, shown, renewals, authority, record } = await stage(t, over);
  takeBack(authority);
  const answers = await Promise.all(Array.from({ length: 50 }, () => carry(url)));
  t.ok(answers.every(({ status }) => status === 200));
  t.equal(renewals().length, 1);
  t.notOk(shown.includes(`Bearer ${record.accessToken}`));
});

t.test('OAU-1 · many at once with a token that is refused: renewed once, each sent once more', async (t) => {
  const { carry, shown, renewals, authority } = await stage(t);
  takeBack(authority);
  const answers = await Promise.all(Array.from({ length: 50 }, () => carry(url)));
  t.ok(answers.every(({ status }) => status === 200));
  t.equal(renewals().length, 1);
  t.equal(shown.length, 100);
});

t.test('OAU-1 · a latecomer whose token was refused takes what another brought home', async (t) => {
  const { carry, renewals, authority, shown } = await stage(t);
  takeBack(authority);
  await carry(url);
  t.equal(shown.length, 2);
  await carry(url);
  t.equal(shown.length, 3, 'the new one at once');
  t.equal(renewals().length, 1);
});

t.test('OAU-8 · a renewed token that is refused too is not renewed again before the server took it', async (t) => {
  const { carry, renewals, authority, setServer } = await stage(t);
  setServer(() => false);
  for (const _ of [1, 2, 3]) t.equal((await carry(url)).status, 401);
  t.equal(renewals().length, 1);
  setServer(authority.accepts);
  t.equal((await carry(url)).status, 200);
  takeBack(authority);
  t.equal((await carry(url)).status, 200, 'it has ended since');
  t.equal(renewals().length, 2);
});

t.test('OAU-1 · another process was first: its tokens are taken, nothing is asked', async (t) => {
  const { carry, renewals, store, record, shown, setClock } = await stage(t, over);
  const other = { ...record, expiresAtMs: 10_000_000, issuedAtMs: 0 };
  setClock(5_000_000);
  const { asked } = await store.credentials.locked('hub', async () => {
    const begun = { asked: carry(url) };
    await store.credentials.saveTokens('hub', other);
    return begun;
  });
  t.equal((await asked).status, 200);
  t.equal(renewals().length, 0);
  t.same(shown, [`Bearer ${record.accessToken}`]);
});

t.test(
  'OAU-1 · clocks that differ: what we think good is refused and renewed, what ends soon is renewed early',
  async (t) => {
    const ahead = await stage(t, { expiresAtMs: Date.now() + 3_600_000, issuedAtMs: Date.now() });
    takeBack(ahead.authority);
    t.equal((await ahead.carry(url)).status, 200);
    t.equal(ahead.renewals().length, 1);

    const behind = await stage(t, { expiresAtMs: 10_000_000, issuedAtMs: 0 });
    behind.setClock(10_000_000 - 30_000);
    t.equal((await behind.carry(url)).status, 200);
    t.equal(behind.renewals().length, 1);
  },
);

t.test(
  'OAU-1 · OAU-8 · what cannot be renewed is refused as the server refuses it; nothing is deleted or begun',
  async (t) => {
    const rows: readonly (readonly [string, Partial<TokenRecord>, RegExp | undefined])[] = [
      ['no refresh token', { refreshToken: undefined as never }, undefined],
      ['of another issuer', { issuer: 'https://other.example' }, /another authorization server/],
    ];
    for (const [what, change, problem] of rows) {
      const { carry, renewals, authority, files, store, shown } = await stage(t, change);
      takeBack(authority);
      const before = files();
      t.equal((await carry(url)).status, 401, what);
      t.equal(renewals().length, 0, what);
      t.equal(shown.length, 1, what);
      t.same(files(), before, what);
      if (problem !== undefined) t.match(store.credentials.problem('hub'), problem, what);
    }
  },
);

t.test('OAU-2 · tokens of a server that once had this name are not shown to another', async (t) => {
  const { carry, shown } = await stage(t, { url: 'https://old.example/mcp' });
  t.equal((await carry(url)).status, 401);
  t.same(shown, [undefined]);
});

t.test('OAU-2 · a token that was asked for with a resource does not go to another path of its origin', async (t) => {
  const { carry, shown, store, record } = await stage(t, { url: 'https://mcp.example/other-tenant' });
  const meta = store.credentials.server('hub');
  if (meta === undefined) return t.fail('no metadata');
  const tokens = { ...record, url: 'https://mcp.example/other-tenant' };
  await store.credentials.save('hub', { tokens, server: meta });
  t.equal((await carry(url)).status, 200, 'without a resource the origin is enough');
  await store.credentials.save('hub', { tokens, server: { ...meta, resource: 'https://mcp.example/other-tenant' } });
  t.equal((await carry(url)).status, 401);
  t.same(shown, [`Bearer ${record.accessToken}`, undefined]);
});

t.test(
  'OAU-8 · a token endpoint that is not reached is trouble of the way: an error, and all is as it was',
  async (t) => {
    const { carry, authority, files, store, shown } = await stage(t, over);
    const before = files();
    for (const answer of [{ kind: 'reset' }, oauthError('temporarily_unavailable', 503)] as const) {
      authority.on(paths.token, answer);
      await t.rejects(carry(url), {
        name: 'ConnectError',
        message:
          /^mcp server "hub": its access token cannot be renewed now: the token endpoint.*; see that its authorization server http.* answers$/,
      });
    }
    t.same(files(), before);
    t.equal(store.credentials.problem('hub'), undefined, 'nobody is sent to log in');
    t.same(shown, [], 'and the old token is not shown');
    authority.on(paths.token, undefined);
    t.equal((await carry(url)).status, 200, 'the refresh token is good still');
    takeBack(authority);
    authority.on(paths.token, oauthError('temporarily_unavailable', 503));
    await t.rejects(carry(url), { name: 'ConnectError' }, 'the same after a refusal by the server');
  },
);

t.test('OAU-8 · SCA-3 · where a database has the tokens and is away, its remedy is named', async (t) => {
  const { credentials, log } = (await loggedIn(t, url, over)).store;
  const carry = createAuthorizedFetch({
    ...{ server: 'hub', url, settings: readOauthSettings({}), version: '1', log, nowMs: Date.now },
    credentials: {
      ...credentials,
      locked: () => Promise.reject(new Error('connect ECONNREFUSED')),
      writeCure: () => 'see that the database answers',
    },
    open: plainConnections,
  })(() => t.fail('nothing is sent') as never);
  await t.rejects(carry(url), {
    name: 'ConnectError',
    message: /cannot be renewed now: connect ECONNREFUSED; see that the database answers$/,
  });
});

t.test('OAU-1 · OAU-8 · SCA-3 · before a database has answered, its tokens are waited for, not a login', async (t) => {
  const { authority, store, record } = await loggedIn(t, url);
  const rows = memoryRows();
  const gateway = () => {
    const connect = () => rows.connect();
    const documents = createSharedDocuments({
      home: store.folder,
      place: 'postgres://host/db',
      connect,
      log: store.log,
    });
    return { documents, credentials: createCredentials(join(store.folder, 'mcp-tokens'), documents, store.log) };
  };
  const { issuer } = authority;
  const server = { issuer, authorizationServerUrl: issuer, metadata: {} };
  await gateway().credentials.save('hub', { tokens: record, server });
  const { credentials } = gateway();
  let sent: string | undefined;
  const carry = createAuthorizedFetch({
    ...{ server: 'hub', url, settings: readOauthSettings({}), version: '1', log: store.log, nowMs: Date.now },
    ...{ credentials, open: plainConnections },
  })(async (_, init) => {
    sent = new Headers(init?.headers).get('authorization') ?? 'none';
    return new Response(null, { status: authority.accepts(sent.slice('Bearer '.length)) ? 200 : 401 });
  });
  rows.isAway = true;
  await t.rejects(carry(url), {
    name: 'ConnectError',
    message: /the database is away; see that the database answers$/,
  });
  t.equal(sent, undefined);
  rows.isAway = false;
  t.equal((await carry(url)).status, 200);
  t.equal(sent, `Bearer ${record.accessToken}`);
});

t.test(
  'OAU-1 · OAU-8 · a token that is renewed early is used until it ends, if it cannot be renewed yet',
  async (t) => {
    const { carry, authority, shown, record, setClock, store, renewals } = await stage(t, {
      expiresAtMs: 10_000_000,
      issuedAtMs: 0,
    });
    authority.on(paths.token, oauthError('temporarily_unavailable', 503));
    setClock(10_000_000 - 1);
    t.equal((await carry(url)).status, 200);
    t.same(shown, [`Bearer ${record.accessToken}`]);
    t.equal(renewals().length, 1);
    t.equal(store.credentials.problem('hub'), undefined);

    setClock(10_000_000);
    await t.rejects(carry(url), { name: 'ConnectError' });

    setClock(10_000_000 - 1);
    authority.on(paths.token, undefined);
    t.equal((await carry(url)).status, 200);
    t.not(shown.at(-1), `Bearer ${record.accessToken}`, 'renewed as soon as that is possible');
  },
);

t.test(
  'OAU-8 · a busy authorization server is left alone for as long as it asks, and for a minute at most',
  async (t) => {
    const { carry, authority, renewals, setClock } = await stage(t, over);
    const busy = (wait: string) => ({ status: 429, json: {}, headers: { 'retry-after': wait } });
    const start = 100_000_000;
    setClock(start);
    authority.on(paths.token, busy('20'));
    for (let calls = 0; calls < 5; calls += 1) await t.rejects(carry(url), { message: /answered HTTP 429/ });
    t.equal(renewals().length, 1);
    setClock(start - 3_600_000);
    await t.rejects(carry(url));
    t.equal(renewals().length, 2, 'a clock that was set back changes nothing');

    setClock(start);
    authority.on(paths.token, busy('86400'));
    await t.rejects(carry(url));
    t.equal(renewals().length, 3);
    setClock(start + 59_999);
    await t.rejects(carry(url));
    t.equal(renewals().length, 3);
    authority.on(paths.token, undefined);
    setClock(start + 60_000);
    t.equal((await carry(url)).status, 200);
    t.equal(renewals().length, 4);
  },
);

t.test('OAU-1 · a renewal that fails is one attempt for all who wait for it', async (t) => {
  const { carry, authority, renewals } = await stage(t, over);
  authority.on(paths.token, oauthError('temporarily_unavailable', 503));
  const failed = await Promise.allSettled(Array.from({ length: 50 }, () => carry(url)));
  t.ok(failed.every(({ status }) => status === 'rejected'));
  t.equal(renewals().length, 1);
});

t.test('OAU-1 · a grant that is refused is known as the reason, and logged', async (t) => {
  const { carry, authority, store, files } = await stage(t);
  takeBack(authority);
  authority.revokeGrants();
  const before = files();
  t.equal((await carry(url)).status, 401);
  t.match(store.credentials.problem('hub'), /cannot be renewed: .*spent/);
  t.match(store.logged, [/^warn: mcp server "hub": its tokens cannot be renewed/]);
  t.same(files(), before);
});

t.test('OAU-4 · a document that is refused at a renewal is recorded; any other client is not', async (t) => {
  const document = 'https://agent.test/client.json';
  for (const [clientId, recorded] of [
    [document, true],
    ['another', false],
  ] as const) {
    const { carry, authority, store } = await stage(t, { clientId }, { client_metadata_url: document });
    takeBack(authority);
    authority.on(paths.token, oauthError('invalid_client', 401));
    t.equal((await carry(url)).status, 401);
    t.equal(store.credentials.documentRefused('hub'), recorded, clientId);
    t.match(store.credentials.problem('hub'), /invalid_client/);
  }
});

t.test('OAU-3 · a renewal carries the client that the tokens were issued to, and the configured agent', async (t) => {
  const oauth = {
    client_id: 'known',
    client_secret: 'a-secret-of-it',
    user_agent: 'Fleet/7',
    token_endpoint_auth_method: 'client_secret_post',
  };
  const own = await stage(t, { ...over, clientId: 'known' }, oauth);
  await own.carry(url);
  t.match(Object.fromEntries(own.renewals()[0]?.form ?? []), { client_id: 'known', client_secret: 'a-secret-of-it' });
  t.equal(own.renewals()[0]?.headers['user-agent'], 'Fleet/7');

  const stored = await stage(t, over, oauth);
  await stored.carry(url);
  const { form } = stored.renewals()[0] ?? {};
  t.equal(form?.get('client_id'), stored.client.clientId, 'never the secret of another client');
  t.notOk(form?.has('client_secret'));
});
