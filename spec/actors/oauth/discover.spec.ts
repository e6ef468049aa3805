import { createSecureContext } from 'node:tls';
import t, { type Test } from 'tap';
import { createServerFetch } from '../../../actors/mcp/http-fetch.ts';
import { discoverForBrowser, discoverForDevice } from '../../../actors/oauth/discover.ts';
import { createOauthFetch } from '../../../actors/oauth/oauth-fetch.ts';
import { describeDiscovery } from '../../../machines/oauth/discovery-fault.ts';
import { lentTime } from '../../support/lent-time.ts';
import { listen } from '../../support/oauth/http.ts';
import { html, paths, type ScriptedServer, silence, startScriptedServer } from '../../support/oauth/scripted-server.ts';

interface Resource {
  readonly origin: string;
  readonly url: string;
  /** What the resource says of itself; a status where it says nothing. */
  metadata: object | number | 'page';
  challenge: string;
}

/** An MCP server that only refuses, and says who protects it. */
async function resource(t: Test, ...authorizationServers: readonly string[]): Promise<Resource> {
  const where = '/.well-known/oauth-protected-resource/mcp';
  const { origin } = await listen(t, (at) => (seen, _, res) => {
    if (seen.path === '/mcp') {
      res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${at}${where}"${state.challenge}` }).end();
    } else if (seen.path !== where || typeof state.metadata === 'number') {
      res.writeHead(seen.path === where ? Number(state.metadata) : 404).end();
    } else if (state.metadata === 'page') {
      res.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>');
    } else {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(state.metadata));
    }
  });
  const url = `${origin}/mcp`;
  const state: Resource = {
    ...{ origin, url, challenge: '' },
    metadata: { resource: url, authorization_servers: authorizationServers, scopes_supported: ['mcp:read'] },
  };
  return state;
}

const look = () => createOauthFetch({ fetch, version: '1', userAgent: 'Fleet/7' });
const list = (server: ScriptedServer, changes: Record<string, unknown>) =>
  server.on(paths.metadata, { json: server.metadata(changes) });

t.test('DEV-2 · an OpenID provider that has no other metadata offers its device endpoint', async (t) => {
  const authority = await startScriptedServer(t);
  const server = await resource(t, authority.issuer);
  authority.on(paths.metadata, { status: 404, json: {} });
  const openid = {
    ...{ jwks_uri: `${authority.origin}/jwks`, subject_types_supported: ['public'] },
    ...{ id_token_signing_alg_values_supported: ['RS256'], service_documentation: null },
  };
  authority.on(paths.openid, { json: authority.metadata(openid) });

  t.match(await discoverForDevice(server.url, look()), {
    kind: 'found',
    discovery: {
      issuer: authority.issuer,
      metadata: { device_authorization_endpoint: `${authority.origin}${paths.device}`, jwks_uri: String },
    },
  });

  authority.on(paths.openid, { json: authority.metadata({ ...openid, device_authorization_endpoint: undefined }) });
  t.match(await discoverForDevice(server.url, look()), { why: /has no device_authorization_endpoint/ });
});

t.test('OAU-1 · DEV-2 · metadata needs no member that a login has no use for, wherever it is', async (t) => {
  const authority = await startScriptedServer(t);
  const server = await resource(t, authority.issuer);
  const plain = { json: authority.metadata({ response_types_supported: undefined }) };
  authority.on(paths.metadata, plain);
  const found = { kind: 'found', discovery: { issuer: authority.issuer } };
  for (const discover of [discoverForBrowser, discoverForDevice])
    t.match(await discover(server.url, look()), found, discover.name);
  authority.on(paths.metadata, { status: 404, json: {} });
  authority.on(paths.openid, plain);
  for (const discover of [discoverForBrowser, discoverForDevice])
    t.match(await discover(server.url, look()), found, `${discover.name} at the place of OpenID Connect`);
});

t.test('OAU-1 · DEV-2 · a member that a login has no use for may deviate, in either metadata', async (t) => {
  const authority = await startScriptedServer(t);
  const server = await resource(t, authority.issuer);
  const odd = { bearer_methods_supported: 'header', resource_policy_uri: '/privacy', jwks_uri: 'none' };
  server.metadata = { ...(server.metadata as object), ...odd };
  const changes = { service_documentation: '/docs', revocation_endpoint: '/revoke', ui_locales_supported: 'en' };
  list(authority, changes);
  const found = { kind: 'found', discovery: { issuer: authority.issuer, resource: server.url, scope: String } };
  for (const discover of [discoverForBrowser, discoverForDevice])
    t.match(await discover(server.url, look()), found, discover.name);
  authority.on(paths.metadata, { status: 404, json: {} });
  authority.on(paths.openid, { json: authority.metadata({ ...changes, jwks_uri: 'none', claims_supported: 'sub' }) });
  for (const discover of [discoverForBrowser, discoverForDevice])
    t.match(await discover(server.url, look()), found, `${discover.name} at the place of OpenID Connect`);
});

t.test('OAU-1 · DEV-2 · a list of a resource’s metadata may be one text, and its resource a list of one', async (t) => {
  const authority = await startScriptedServer(t);
  const server = await resource(t, authority.issuer);
  const texts = { authorization_servers: authority.issuer, scopes_supported: 'mcp:read, mcp:write' };
  server.metadata = { ...(server.metadata as object), ...texts, resource: [server.url] };
  const found = { issuer: authority.issuer, scope: 'mcp:read mcp:write offline_access', resource: server.url };
  for (const discover of [discoverForBrowser, discoverForDevice])
    t.match(await discover(server.url, look()), { kind: 'found', discovery: found }, discover.name);
});

t.test('OAU-7 · what is wrong with a resource’s metadata leads the error of a login without it', async (t) => {
  const server = await resource(t);
  for (const [metadata, what] of [
    [{ resource: server.url, authorization_servers: ['as.example'] }, 'authorization_servers.0'],
    [{ authorization_servers: ['https://as.example'] }, 'resource'],
  ] as const) {
    server.metadata = metadata;
    const oauth = look();
    t.match(await discoverForBrowser(server.url, oauth), { kind: 'found', discovery: { metadata: {} } });
    const place = `${server.origin}/.well-known/oauth-protected-resource/mcp`;
    t.match(describeDiscovery(oauth.seen, 'x'), `(metadata with no valid ${what} from ${place}; 404 from `);
  }
});

t.test('OAU-1 · DEV-2 · a page where metadata may be leads to the next place, as a missing one does', async (t) => {
  const authority = await startScriptedServer(t);
  const server = await resource(t, authority.issuer);
  authority.on(paths.metadata, html);
  const openid = {
    ...{ jwks_uri: `${authority.origin}/jwks`, subject_types_supported: ['public'] },
    ...{ id_token_signing_alg_values_supported: ['RS256'] },
  };
  authority.on(paths.openid, { json: authority.metadata(openid) });
  for (const discover of [discoverForBrowser, discoverForDevice])
    t.match(await discover(server.url, look()), { kind: 'found', discovery: { issuer: authority.issuer } });
});

t.test('OAU-1 · members of the metadata that are null are as if they were left out', async (t) => {
  const authority = await startScriptedServer(t);
  const server = await resource(t, authority.issuer);
  server.metadata = { ...(server.metadata as object), resource_name: null, bearer_methods_supported: null };
  list(authority, { revocation_endpoint: null, service_documentation: '', scopes_supported: null });
  for (const discover of [discoverForBrowser, discoverForDevice])
    t.match(await discover(server.url, look()), { kind: 'found', discovery: { scope: 'mcp:read' } });
});

t.test('OAU-1 · what is no plain demand for pushed requests or tokens with a proof ends no login', async (t) => {
  const authority = await startScriptedServer(t);
  const server = await resource(t, authority.issuer);
  const good = server.metadata as object;
  for (const odd of [false, 'true', 'false', 1, null, [], {}]) {
    server.metadata = { ...good, dpop_bound_access_tokens_required: odd, dpop_signing_alg_values_supported: ['ES256'] };
    list(authority, {
      ...{ require_pushed_authorization_requests: odd, client_id_metadata_document_supported: odd },
      pushed_authorization_request_endpoint: `${authority.origin}/par`,
    });
    for (const discover of [discoverForBrowser, discoverForDevice]) {
      const verdict = await discover(server.url, look());
      t.match(verdict, { kind: 'found', discovery: { resource: server.url } }, JSON.stringify(odd));
    }
  }
});

t.test('OAU-1 · the challenge leads to the resource’s metadata, that to the authorization server’s', async (t) => {
  const authority = await startScriptedServer(t);
  const server = await resource(t, authority.issuer);

  const verdict = await discoverForBrowser(server.url, look());

  t.match(verdict, {
    kind: 'found',
    discovery: {
      ...{ issuer: authority.issuer, resource: server.url, scope: 'mcp:read offline_access' },
      metadata: { token_endpoint: `${authority.origin}${paths.token}` },
    },
  });
  server.challenge = ', scope="mcp:write"';
  t.match(await discoverForBrowser(server.url, look()), { discovery: { scope: 'mcp:write offline_access' } });
  for (const { headers } of authority.seen) t.equal(headers['user-agent'], 'AgentGateway-Agent/1');
});

t.test('OAU-1 · a resource that says nothing useful is looked for at its own origin', async (t) => {
  for (const metadata of [404, 500, 'page'] as const) {
    const server = await resource(t);
    server.metadata = metadata;
    const verdict = await discoverForBrowser(server.url, look());
    t.match(
      verdict,
      { kind: 'found', discovery: { authorizationServerUrl: `${server.origin}/`, metadata: {} } },
      String(metadata),
    );
  }
});

t.test(
  'OAU-1 · a server that redirects unknown clients to a login page is asked for its metadata all the same',
  async (t) => {
    const authority = await startScriptedServer(t);
    for (const status of [301, 302, 303]) {
      const { origin } = await listen(t, (at) => (seen, _, res) => {
        if (seen.path === '/mcp') res.writeHead(status, { location: '/login' }).end();
        else if (seen.path !== '/.well-known/oauth-protected-resource/mcp') res.writeHead(404).end();
        else {
          const metadata = {
            resource: `${at}/mcp`,
            authorization_servers: [authority.issuer],
            scopes_supported: ['read'],
          };
          res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
        }
      });
      const url = `${origin}/mcp`;
      const tls = { own: createSecureContext(), other: createSecureContext(), verify: true };
      const connections = createServerFetch({ server: 'hub', plan: { url, headers: {} }, tls, env: {}, version: '1' });
      t.teardown(connections.close);
      const oauth = createOauthFetch({ fetch: connections.fetch as never, version: '1', userAgent: undefined, url });

      for (const discover of [discoverForBrowser, discoverForDevice])
        t.match(
          await discover(url, oauth),
          { kind: 'found', discovery: { issuer: authority.issuer, resource: url, scope: /^read/ } },
          `${status}, ${discover.name}`,
        );
    }
  },
);

t.test('OAU-1 · DEV-2 · where a challenge names a place without metadata, the usual places are asked', async (t) => {
  const authority = await startScriptedServer(t);
  const where = '/.well-known/oauth-protected-resource/mcp';
  for (const named of [`${where}/mcp`, 'http://127.0.0.1:1/metadata', 'http://mcp.example/metadata']) {
    const { origin } = await listen(t, (at) => (seen, _, res) => {
      if (seen.path === '/mcp') {
        res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${new URL(named, at)}"` }).end();
      } else if (seen.path !== where) res.writeHead(404).end();
      else {
        const metadata = { resource: `${at}/mcp`, authorization_servers: [authority.issuer] };
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
      }
    });
    const url = `${origin}/mcp`;
    const expected = { kind: 'found', discovery: { issuer: authority.issuer, resource: url } };
    for (const discover of [discoverForBrowser, discoverForDevice])
      t.match(await discover(url, look()), expected, `${discover.name} ${named}`);
  }
});

t.test('OAU-1 · in the browser, a slash at the end of an issuer makes no other issuer', async (t) => {
  for (const [advertised, own, kind] of [
    ['', '/', 'found'],
    ['/', '', 'found'],
    ['/', '/', 'found'],
    ['', '//', 'failed'],
    ['/', '/x', 'failed'],
  ] as const) {
    const authority = await startScriptedServer(t);
    const issuer = `${authority.issuer}${own}`;
    list(authority, { issuer });
    const server = await resource(t, `${authority.issuer}${advertised}`);
    const expected = kind === 'found' ? { kind, discovery: { issuer } } : { kind, why: /issuer/i };
    t.match(await discoverForBrowser(server.url, look()), expected, `${advertised} ${own}`);
  }
});

t.test('OAU-1 · DEV-2 · a slash at the end of a resource makes no other resource', async (t) => {
  const authority = await startScriptedServer(t);
  const server = await resource(t, authority.issuer);
  for (const [own, kind] of [
    ['', 'found'],
    ['/', 'found'],
    ['/x', 'failed'],
    ['2', 'failed'],
  ] as const) {
    server.metadata = { resource: `${server.url}${own}`, authorization_servers: [authority.issuer] };
    const why = new RegExp(`is that of another resource, ${server.url}${own}, .*put it in url$`);
    const expected = kind === 'found' ? { kind, discovery: { resource: `${server.url}${own}` } } : { kind, why };
    for (const discover of [discoverForBrowser, discoverForDevice])
      t.match(await discover(server.url, look()), expected, `${discover.name} ${own}`);
  }
});

t.test('OAU-1 · OAU-7 · what is wrong ends it with its reason', async (t) => {
  const time = lentTime(t);
  const authority = await startScriptedServer(t);
  const other = await startScriptedServer(t);
  const server = await resource(t, authority.issuer);
  const good = server.metadata;
  const rows: readonly (readonly [string, () => void, RegExp])[] = [
    [
      'another issuer',
      () => list(authority, { issuer: other.issuer }),
      /^the authorization server \S+ names another issuer, .*; ask its operator to correct its metadata/,
    ],
    ['an issuer with a slash more', () => list(authority, { issuer: `${authority.issuer}/x` }), /issuer/i],
    [
      'no PKCE',
      () => list(authority, { code_challenge_methods_supported: undefined }),
      /does not say that it supports PKCE with S256, so no login is begun; a login with `--flow device` needs none$/,
    ],
    ['plain PKCE', () => list(authority, { code_challenge_methods_supported: ['plain'] }), /PKCE with S256/],
    [
      'pushed requests only',
      () => list(authority, { require_pushed_authorization_requests: true }),
      /only pushed authorization requests \(RFC 9126\), .* so no login is begun; a login with `--flow device` needs none$/,
    ],
    [
      'tokens with a proof only',
      () => {
        server.metadata = { ...(good as object), dpop_bound_access_tokens_required: true };
      },
      /only tokens with a proof of possession \(DPoP, RFC 9449\), .* so no login is begun$/,
    ],
    ['PKCE that is no list', () => list(authority, { code_challenge_methods_supported: 'S256' }), /./],
    [
      '500',
      () => authority.on(paths.metadata, { status: 500, json: {} }),
      /^Could not read authorization-server metadata \(500 from /,
    ],
    [
      'a page',
      () => authority.on(paths.metadata, html),
      /^Could not read authorization-server metadata \(200 with text\/html from .*no JSON/,
    ],
    [
      'half of it',
      () => authority.on(paths.metadata, { kind: 'text', text: '{"issuer":', type: 'application/json' }),
      /no JSON/,
    ],
    [
      'a reset',
      () => authority.on(paths.metadata, { kind: 'reset' }),
      /^Could not read authorization-server metadata \(no answer from /,
    ],
    [
      'silence',
      () => authority.on(paths.metadata, silence(time)),
      /^Could not read authorization-server metadata \(no answer from .*: \S+ did not answer in time$/,
    ],
    [
      'a part of an answer',
      () => authority.on(paths.metadata, { kind: 'part' }),
      /^the answer of \S+oauth-authorization-server cannot be read: /,
    ],
    [
      'a resource of another audience',
      () => {
        server.metadata = { ...(good as object), resource: 'https://other.example/mcp' };
      },
      /other\.example/,
    ],
  ];
  for (const [what, arrange, why] of rows) {
    authority.on(paths.metadata, undefined);
    server.metadata = good;
    arrange();
    t.match(await discoverForBrowser(server.url, look()), { kind: 'failed', why }, what);
  }
});

t.test(
  'DEV-2 · the first whose issuer is the one that is advertised and that offers the grant; nothing is relaxed',
  async (t) => {
    const [mismatched, without, good, later] = await Promise.all(
      Array.from({ length: 4 }, () => startScriptedServer(t)),
    );
    if (!(mismatched && without && good && later)) return;
    list(mismatched, { issuer: good.issuer });
    list(without, { device_authorization_endpoint: undefined });
    const server = await resource(t, mismatched.issuer, without.issuer, good.issuer, later.issuer);

    t.match(await discoverForDevice(server.url, look()), { kind: 'found', discovery: { issuer: good.issuer } });
    t.same(later.seen, []);

    const slashed = await resource(t, `${good.issuer}/`);
    t.match(await discoverForDevice(slashed.url, look()), { kind: 'failed' }, 'a slash more is another issuer');
    list(good, { issuer: `${good.issuer}/`, grant_types_supported: undefined });
    t.match(await discoverForDevice(slashed.url, look()), { kind: 'found' }, 'a server that lists no grants');
    list(good, { issuer: `${good.issuer}/tenant` });
    t.match(await discoverForDevice(slashed.url, look()), { kind: 'failed' });
  },
);

t.test('OAU-7 · a server that demands no login, and one without TLS, are named so', async (t) => {
  const { origin } = await listen(
    t,
    () =>
      ({ path }, _, res) =>
        void res.writeHead(path === '/mcp' ? 200 : 404).end(),
  );
  for (const discover of [discoverForBrowser, discoverForDevice]) {
    const oauth = look();
    const verdict = await discover(`${origin}/mcp?key=x`, oauth);
    const why = verdict.kind === 'failed' ? verdict.why : describeDiscovery(oauth.seen, 'no registration');
    t.match(why, new RegExp(`metadata \\(HTTP 200 and no demand for a login from ${origin}/mcp; 404 from `));
    const without = await discover(`${origin.replace('http:', 'https:')}/mcp`, look());
    t.match(without, { kind: 'failed', why: /fetch failed: the other side answers without TLS$/ });
  }
});

t.test(
  'DEV-5 · OAU-7 · where none offers it, each is reported with its reason, the statuses first, and what to do',
  async (t) => {
    const [gone, page] = await Promise.all([startScriptedServer(t), startScriptedServer(t)]);
    gone.on(paths.metadata, { status: 404, json: {} });
    page.on(paths.metadata, html);
    const server = await resource(t, gone.issuer, page.issuer);
    const verdict = await discoverForDevice(server.url, look());
    const why = verdict.kind === 'failed' ? verdict.why : '';
    t.match(why, /^Could not read authorization-server metadata \(404 from .*200 with text\/html from /);
    t.match(why, `${gone.issuer} has no metadata`);
    t.match(why, `${page.issuer}: its metadata is no JSON`);
    t.match(why, '--flow browser');

    const without = await startScriptedServer(t);
    list(without, { device_authorization_endpoint: undefined });
    const second = await discoverForDevice((await resource(t, without.issuer)).url, look());
    t.match(
      second,
      { kind: 'failed', why: /^no authorization server offers device login: / },
      'what was read needs no status',
    );
  },
);

t.test('DEV-2 · of a long list, only the first sixteen are asked', async (t) => {
  const [none, good] = await Promise.all([startScriptedServer(t), startScriptedServer(t)]);
  const many = Array.from({ length: 16 }, (_, at) => `${none.origin}/tenant${at}`);
  const server = await resource(t, ...many, good.issuer);

  t.match(await discoverForDevice(server.url, look()), {
    kind: 'failed',
    why: /; only the first 16 of 17 are asked; /,
  });
  t.same(good.seen, []);

  const short = await resource(t, ...many.slice(1), good.issuer);
  t.match(await discoverForDevice(short.url, look()), { kind: 'found', discovery: { issuer: good.issuer } });
});

t.test('OAU-1 · in the browser, the first of several authorization servers that fits is used', async (t) => {
  const [away, old, other, good, later] = await Promise.all(Array.from({ length: 5 }, () => startScriptedServer(t)));
  if (!away || !old || !other || !good || !later) throw new Error('five were started');
  for (const path of [paths.metadata, paths.openid]) away.on(path, { status: 503, json: {} });
  list(old, { code_challenge_methods_supported: ['plain'] });
  list(other, { issuer: 'https://another.example' });
  const invalid = [away.issuer, old.issuer, other.issuer];
  const server = await resource(t, ...invalid, good.issuer, later.issuer);

  t.match(await discoverForBrowser(server.url, look()), {
    kind: 'found',
    discovery: { authorizationServerUrl: good.issuer, issuer: good.issuer, metadata: { issuer: good.issuer } },
  });
  t.same(later.seen, []);
  const none = await resource(t, old.issuer, other.issuer);
  t.match(await discoverForBrowser(none.url, look()), { kind: 'failed', why: /PKCE with S256/ }, 'that of the first');
});

t.test('DEV-2 · without a list, the server’s own origin is the only candidate', async (t) => {
  const server = await resource(t);
  server.metadata = 404;
  t.match(await discoverForDevice(server.url, look()), { kind: 'failed', why: `${server.origin}/ has no metadata` });
  for (const issuer of ['', '/']) {
    const own = await startScriptedServer(t);
    list(own, { issuer: `${own.origin}${issuer}` });
    const found = await discoverForDevice(`${own.origin}/mcp`, look());
    t.match(found, { kind: 'found', discovery: { issuer: `${own.origin}${issuer}` } }, 'as it writes itself');
  }
});
