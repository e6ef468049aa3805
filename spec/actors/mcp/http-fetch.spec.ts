import { execFile } from 'node:child_process';
import { EventEmitter, getEventListeners, once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { ServerOptions } from 'node:https';
import { connect } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { extractWWWAuthenticateParams } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { readCallError } from '../../../actors/mcp/call-outcome.ts';
import { readConnectError } from '../../../actors/mcp/connect-errors.ts';
import { createServerFetch, type ServerFetch, type ServerFetchSettings } from '../../../actors/mcp/http-fetch.ts';
import { readTlsFiles } from '../../../actors/mcp/tls-files.ts';
import { describeFailure } from '../../../machines/mcp/connect-failure.ts';
import type { HttpPlan, TlsPlan } from '../../../machines/mcp/server-settings.ts';
import { makeHome } from '../../support/home.ts';
import { listenHttp, listenOn } from '../../support/http-listener.ts';
import { makeCertificates, type TestCertificates } from '../../support/tls.ts';

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Peer {
  readonly url: string;
  readonly port: number;
  readonly seen: Seen[];
}

/** Answers with the redirects given by path, else 200. */
async function peer(
  t: Test,
  redirects: Readonly<Record<string, readonly [status: number, to: string]>> = {},
  tls?: ServerOptions,
): Promise<Peer> {
  const seen: Seen[] = [];
  const { url, port } = await listenHttp(
    t,
    async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const path = request.url ?? '';
      seen.push({ method: request.method ?? '', path, headers: request.headers, body });
      const [status = 200, to] = redirects[path] ?? [];
      response.writeHead(status, { 'content-type': 'application/json', ...(to === undefined ? {} : { location: to }) });
      response.end('{}');
    },
    { tls },
  );
  return { url, port, seen };
}

async function fetchOf(
  t: Test,
  url: string,
  more: Partial<Omit<ServerFetchSettings, 'plan' | 'tls'>> &
    Partial<Pick<HttpPlan, 'headers' | 'crossOriginRedirects'>> & { tls?: Partial<TlsPlan> } = {},
): Promise<ServerFetch> {
  const { headers = {}, crossOriginRedirects = false, tls, ...rest } = more;
  const plan: TlsPlan = { verify: true, certKey: 'client_cert', keyKey: 'client_cert', ...tls };
  const made = createServerFetch({
    server: 'github',
    plan: { url, headers, crossOriginRedirects },
    tls: await readTlsFiles({ server: 'github', plan, userHome: '/nowhere' }),
    env: {},
    version: '1.2.3',
    ...rest,
  });
  t.teardown(() => made.close());
  return made;
}

/** The codes of an error and of its causes. */
async function codesOf(attempt: Promise<unknown>): Promise<string> {
  const codes: unknown[] = [];
  let error: unknown = await attempt.then(
    () => new Error('it went well'),
    (thrown: unknown) => thrown,
  );
  for (; error instanceof Error; error = error.cause)
    codes.push((error as NodeJS.ErrnoException).code ?? error.message);
  return codes.join(' < ');
}

const secrets = { authorization: 'Bearer configured', 'x-api-key': 'key', 'user-agent': 'mine' };
const credentials = ['authorization', 'x-api-key', 'mcp-session-id', 'cookie'];

function credentialsIn({ headers }: Seen): string[] {
  return credentials.filter((name) => headers[name] !== undefined);
}

t.test('OAU-1 · a Bearer challenge behind another one, and in other quotes, is read', async (t) => {
  const { url } = await listenHttp(t, (_, response) => {
    const challenges = ['Basic realm="x"', "Bearer error = 'insufficient_scope', scope='files:write'"];
    response.writeHead(403, { 'www-authenticate': challenges }).end('no');
  });
  const { fetch } = await fetchOf(t, url);
  const answer = await fetch(url);
  t.match(extractWWWAuthenticateParams(answer), { error: 'insufficient_scope', scope: 'files:write' });
  t.equal(await answer.text(), 'no');
});

t.test('TLS-2 · configured headers go to the own origin only, and the caller’s win', async (t) => {
  const [mcp, login] = [await peer(t), await peer(t)];
  const { fetch } = await fetchOf(t, `${mcp.url}/mcp`, { headers: secrets });

  await fetch(`${mcp.url}/mcp`, { headers: { authorization: 'Bearer token' } });
  await fetch(new URL(`${mcp.url}/mcp`));
  await fetch(`${login.url}/token`, { method: 'POST', headers: { authorization: 'Basic client' }, body: 'x=y' });
  await fetch(`${login.url}/metadata`);

  t.match(mcp.seen[0]?.headers, { authorization: 'Bearer token', 'x-api-key': 'key', 'user-agent': 'mine' });
  t.match(mcp.seen[1]?.headers, { authorization: 'Bearer configured' });
  t.match(login.seen[0]?.headers, { authorization: 'Basic client', 'user-agent': 'AgentGateway-Agent/1.2.3' });
  t.equal(login.seen[0]?.headers['x-api-key'], undefined);
  t.same(login.seen[1] && credentialsIn(login.seen[1]), []);
});

t.test(
  'TLS-2 · a redirect within the origin keeps everything; one that would turn a POST into a GET is refused',
  async (t) => {
    for (const [status, isFollowed] of [
      [307, true],
      [308, true],
      [301, false],
      [302, false],
      [303, false],
    ] as const) {
      const mcp = await peer(t, { '/mcp': [status, '/mcp/?x=1'] });
      const { fetch } = await fetchOf(t, `${mcp.url}/mcp`, { headers: secrets });
      const asked = fetch(`${mcp.url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'mcp-session-id': 's' },
        body: '{"a":1}',
      });
      if (!isFollowed) {
        const message =
          /^mcp server "github": its redirect to http:\S+\/mcp\/ would turn the POST into a GET .*in url$/;
        await t.rejects(asked, { message });
        t.equal(mcp.seen.length, 1, `${status}`);
        continue;
      }
      t.equal((await asked).status, 200);
      t.match(mcp.seen[1], {
        method: 'POST',
        path: '/mcp/?x=1',
        body: '{"a":1}',
        headers: { 'x-api-key': 'key', 'mcp-session-id': 's', 'content-type': 'application/json' },
      });
    }
  },
);

t.test('TLS-2 · authorization is dropped on a redirect to another origin', async (t) => {
  const back: Record<string, readonly [number, string]> = {};
  const other = await peer(t, back);
  const mcp = await peer(t, { '/mcp': [307, `${other.url}/there`] });
  back['/there'] = [307, `${mcp.url}/back`];
  const { fetch, ledTo } = await fetchOf(t, `${mcp.url}/mcp`, { headers: secrets, crossOriginRedirects: true });
  t.equal(ledTo(), undefined);
  const headers = { authorization: 'Bearer token', 'mcp-session-id': 's', cookie: 'c=1', 'mcp-method': 'tools/list' };

  const response = await fetch(`${mcp.url}/mcp`, { method: 'POST', headers, body: '{}' });

  t.equal(response.status, 200);
  t.same(mcp.seen[0] && credentialsIn(mcp.seen[0]), credentials);
  t.match(other.seen[0], { method: 'POST', body: '{}', headers: { 'mcp-method': 'tools/list' } });
  t.same(other.seen[0] && credentialsIn(other.seen[0]), []);
  t.equal(ledTo(), `${mcp.url}/back`, 'and whoever asks hears where it went');
  t.equal(mcp.seen[1]?.path, '/back');
  t.same(mcp.seen[1] && credentialsIn(mcp.seen[1]), [], 'and they do not come back');
});

t.test('TLS-2 · a body follows a redirect within its origin only, unless the entry allows it', async (t) => {
  const other = await peer(t);
  const mcp = await peer(t, { '/mcp': [307, `${other.url}/there`], '/moved': [308, '/mcp2'] });
  const { fetch } = await fetchOf(t, `${mcp.url}/mcp`);
  const post = { method: 'POST', body: '{"params":{"arguments":{"private":1}}}' };

  await t.rejects(fetch(`${mcp.url}/mcp`, post), { message: /to another origin.*cross_origin_redirects: true/ });
  t.same(other.seen, []);
  t.equal((await fetch(`${mcp.url}/moved`, post)).status, 200);
  t.equal(mcp.seen.at(-1)?.body, post.body);
  t.equal((await fetch(`${mcp.url}/mcp`)).status, 200, 'a request without a body goes');
});

t.test('TLS-2 · redirects that lead astray are refused by name', async (t) => {
  const { path } = makeHome(t);
  const made = makeCertificates(path);
  const plain = await peer(t);
  const secure = await peer(t, { '/mcp': [308, `${plain.url}/mcp/?token=t`] }, serverOptions(made));
  const mcp = await peer(t, {
    '/ftp': [302, 'ftp://example.test/x'],
    '/broken': [302, 'http://['],
    '/form': [307, `${plain.url}/token`],
    '/loop': [302, '/loop'],
    ...Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`/hop${n}`, [307, n === 5 ? '/end' : `/hop${n + 1}`]])),
  });
  const { fetch } = await fetchOf(t, `${mcp.url}/mcp`, { tls: { verify: made.ca } });

  t.equal((await fetch(`${mcp.url}/hop1`)).status, 200, 'five are followed');
  await t.rejects(fetch(`${mcp.url}/loop`), { message: /^mcp server "github": its redirect to .*\/loop is number 6/ });
  await t.rejects(fetch(`${mcp.url}/ftp`), { message: /leaves HTTP/ });
  await t.rejects(fetch(`${mcp.url}/broken`), { message: /no URL/ });
  await t.rejects(fetch(`${secure.url}/mcp`), { message: /redirect to http:\S+\/mcp\/ would continue without TLS/ });
  await t.rejects(
    fetch(`${mcp.url}/form`, {
      method: 'POST',
      body: new URLSearchParams({ code: 'c' }),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }),
    { message: /form to another origin/ },
  );
  await t.rejects(fetch(`${mcp.url}/hop1`, { redirect: 'error' }), { message: /not allowed/ });
  t.equal((await fetch(`${mcp.url}/hop1`, { redirect: 'manual' })).status, 307);
  t.same(plain.seen, []);
});

function serverOptions(made: TestCertificates): ServerOptions {
  return { cert: made.read(made.serverCert), key: made.read(made.serverKey) };
}

t.test('TLS-1 · certificates of the client and CAs of the entry are used', async (t) => {
  const made = makeCertificates(makeHome(t).path);
  const strict = { ...serverOptions(made), ca: made.read(made.ca), requestCert: true };
  const { url } = await peer(t, {}, strict);
  for (const [tls, outcome] of [
    [{ verify: made.ca, cert: made.clientBoth }, 'it went well'],
    [{ verify: made.ca, cert: made.clientCert, key: made.clientKey }, 'it went well'],
    [{ verify: made.ca, cert: made.clientCert, key: made.clientLockedKey, password: made.password }, 'it went well'],
    [{ verify: false, cert: made.clientBoth }, 'it went well'],
    [{ verify: made.otherCa, cert: made.clientBoth }, /SELF_SIGNED_CERT_IN_CHAIN/],
    [{ cert: made.clientBoth }, /SELF_SIGNED_CERT_IN_CHAIN/],
    [{ verify: made.ca }, /UND_ERR_SOCKET|ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED|ECONNRESET/],
  ] as const) {
    const { fetch } = await fetchOf(t, url, { tls });
    t.match(await codesOf(fetch(url)), outcome, JSON.stringify(Object.keys(tls)));
  }
});

t.test('TLS-1 · the client certificate is shown to the own origin only', async (t) => {
  const made = makeCertificates(makeHome(t).path);
  const shown: string[] = [];
  const options = { ...serverOptions(made), ca: made.read(made.ca), requestCert: true, rejectUnauthorized: false };
  const start = () =>
    listenHttp(
      t,
      (request, response) => {
        const { subject } = (request.socket as TLSSocket).getPeerCertificate();
        shown.push(`${request.url} ${subject?.CN ?? 'none'}`);
        response.end();
      },
      { tls: options },
    );
  const [own, other] = [await start(), await start()];
  const { fetch } = await fetchOf(t, own.url, { tls: { verify: made.ca, cert: made.clientBoth } });
  await fetch(`${own.url}/own`);
  await fetch(`${other.url}/other`);
  t.same(shown, ['/own client', '/other none']);
});

t.test('TLS-1 · NODE_EXTRA_CA_CERTS and the system’s bundle are trusted', async (t) => {
  const made = makeCertificates(makeHome(t).path);
  const { url } = await peer(t, {}, serverOptions(made));
  const module = (name: string): string =>
    JSON.stringify(new URL(`../../../actors/mcp/${name}.js`, import.meta.url).href);
  const script = `
    import { createServerFetch } from ${module('http-fetch')};
    import { readTlsFiles } from ${module('tls-files')};
    const plan = { verify: true, certKey: 'client_cert', keyKey: 'client_cert' };
    const tls = await readTlsFiles({ server: 'x', plan, userHome: '/' });
    const { fetch, close } = createServerFetch({ server: 'x', plan: { url: process.argv[1], headers: {} }, tls, env: {}, version: '1' });
    console.log((await fetch(process.argv[1]).catch((error) => error.cause)).status ?? 'refused');
    await close();
  `;
  for (const [name, expected] of [
    ['NODE_EXTRA_CA_CERTS', '200'],
    ['SSL_CERT_FILE', '200'],
    ['UNRELATED', 'refused'],
  ] as const) {
    const child = await runNode(['--input-type=module', '-e', script, url], { [name]: made.ca });
    t.equal(child.trim(), expected, name);
  }
});

function runNode(words: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, words, { env: { ...process.env, ...env } }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error);
    });
  });
}

/** A proxy that takes every request to one server, whatever host it names. */
async function proxy(t: Test, toPort: number): Promise<Peer & { readonly tunnels: string[] }> {
  const seen: Seen[] = [];
  const tunnels: string[] = [];
  const server = createServer((request, response) => {
    seen.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body: '' });
    response.end('{}');
  });
  server.on('connect', (request, socket) => {
    tunnels.push(request.url ?? '');
    const upstream = connect(toPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    for (const each of [upstream, socket]) each.on('error', () => upstream.destroy());
    t.teardown(() => upstream.destroy());
  });
  const port = await listenOn(t, server);
  return { url: `http://127.0.0.1:${port}`, port, seen, tunnels };
}

t.test('TLS-2 · the proxies of the environment are used, but not for loopback', async (t) => {
  const made = makeCertificates(makeHome(t).path);
  const secure = await peer(t, {}, serverOptions(made));
  const plain = await peer(t);
  const through = await proxy(t, secure.port);
  const address = through.url.replace('//', '//me:pass@');
  const env = { http_proxy: address, HTTPS_PROXY: address, NO_PROXY: 'spared.test' };
  const { fetch } = await fetchOf(t, 'https://mcp.test/mcp', { env, headers: secrets, tls: { verify: made.ca } });

  t.equal((await fetch('https://mcp.test/mcp')).status, 200);
  t.equal((await fetch('http://mcp.test/metadata?x=1')).status, 200);
  t.equal((await fetch(plain.url)).status, 200);
  t.match(await codesOf(fetch('http://spared.test/')), /ENOTFOUND|EAI_AGAIN/);

  t.same(through.tunnels, ['mcp.test:443']);
  t.match(secure.seen, [{ path: '/mcp', headers: { 'x-api-key': 'key', host: 'mcp.test' } }]);
  t.match(through.seen, [
    { path: 'http://mcp.test/metadata?x=1', headers: { 'proxy-authorization': `Basic ${btoa('me:pass')}` } },
  ]);
  t.same(through.seen[0] && credentialsIn(through.seen[0]), [], 'http is another origin than https');
  t.equal(plain.seen[0]?.headers['proxy-authorization'], undefined);
  t.equal(secure.seen[0]?.headers['proxy-authorization'], undefined);
});

t.test('TLS-2 · a proxy that is not reached is named as one', async (t) => {
  const circumstances = { timeoutMs: 1, hadSession: false, exitStatus: undefined, whyClosed: undefined };
  for (const [proxy, what] of [
    ['http://127.0.0.1:1', /^connect ECONNREFUSED 127\.0\.0\.1:1 \(the proxy of the environment\)$/],
    ['http://localhost:1', /ECONNREFUSED.* \(the proxy of the environment\)$/],
    ['http://proxy.invalid:1', /^getaddrinfo \S+ proxy\.invalid \(the proxy of the environment\)$/],
  ] as const) {
    const { fetch } = await fetchOf(t, 'http://mcp.test/mcp', { env: { http_proxy: proxy } });
    const thrown = await fetch('http://mcp.test/mcp').catch((error: unknown) => error);
    t.match(readConnectError(thrown, { timeoutMs: 1 }), { kind: 'network', message: what });
    t.match(readCallError(thrown, circumstances), { kind: 'lost', dispatched: false }, 'nothing was sent');
  }
});

t.test('TLS-2 · TRU-4 · a proxy that refuses the tunnel is named, with its status, and nothing was sent', async (t) => {
  const circumstances = { timeoutMs: 1, hadSession: false, exitStatus: undefined, whyClosed: undefined };
  for (const [status, cure] of [
    [407, 'the login in HTTPS_PROXY or HTTP_PROXY'],
    [403, 'what it allows, or name the host in NO_PROXY'],
  ] as const) {
    const proxy = createServer();
    proxy.on('connect', (_request, socket) => socket.end(`HTTP/1.1 ${status} No\r\n\r\n`));
    const port = await listenOn(t, proxy);
    const https_proxy = `http://127.0.0.1:${port}`;
    const { fetch } = await fetchOf(t, 'https://mcp.test/mcp', { env: { https_proxy } });
    const thrown = await fetch('https://mcp.test/mcp').catch((error: unknown) => error);
    const message = `the proxy of the environment refused the connection (HTTP ${status}); check ${cure}`;
    const failure = readConnectError(thrown, { timeoutMs: 1 });
    t.strictSame(failure, { kind: 'network', message });
    const shown = describeFailure('github', [failure], { profile: 'default', hasLog: true });
    t.equal(shown, `mcp server "github": cannot be reached: ${message}`);
    t.match(readCallError(thrown, circumstances), { kind: 'lost', dispatched: false });
  }
});

t.test('LIF-13 · an answer that is too long is cut off, and a stream of events only where one event is', async (t) => {
  const { url } = await listenHttp(t, (request, response) => {
    const stream = request.url === '/events';
    response.writeHead(200, {
      'content-type': stream ? 'text/event-stream' : 'application/json',
      ...(request.url === '/declared' ? { 'content-length': 1_001 } : {}),
    });
    response.write((stream ? 'data: x\n\n' : 'x').repeat(request.url === '/exact' ? 1_000 : 1_001));
    if (request.url !== '/endless') response.end();
  });
  const { fetch } = await fetchOf(t, url, { maxBodyBytes: 1_000 });
  const read = async (path: string): Promise<number> => (await (await fetch(url + path)).text()).length;
  t.equal(await read('/exact'), 1_000);
  t.equal(await read('/events'), 9_009);
  for (const path of ['/declared', '/chunked', '/endless']) {
    await t.rejects(read(path), { message: 'its answer has more than 1000 bytes' }, path);
  }
});

t.test('LIF-3 · a request that is over leaves nothing on the signal of its session', async (t) => {
  const { url } = await peer(t, { '/loop': [302, '/loop'] });
  const { fetch, close } = await fetchOf(t, url);
  const session = new AbortController();
  const left = (): number => getEventListeners(session.signal, 'abort').length;
  const { signal } = session;
  await (await fetch(`${url}/read`, { signal })).text();
  t.equal(left(), 0, 'read');
  await (await fetch(`${url}/given-up`, { signal })).body?.cancel();
  t.equal(left(), 0, 'given up');
  await t.rejects(fetch(`${url}/loop`, { signal }));
  t.equal(left(), 0, 'refused');
  const answer = await fetch(`${url}/open`, { signal });
  session.abort(new Error('the session is over'));
  await t.rejects(answer.text(), { message: 'the session is over' });
  await close();
});

t.test('TLS-2 · close cuts off what is under way and refuses what comes', async (t) => {
  const asked = new EventEmitter();
  const { url } = await listenHttp(t, () => void asked.emit('request'));
  const { fetch, close } = await fetchOf(t, url);
  const pending = codesOf(fetch(url));
  await once(asked, 'request');
  await close();
  t.match(await pending, /UND_ERR_DESTROYED|UND_ERR_SOCKET|ECONNRESET/);
  await t.rejects(fetch(url), { message: /its connections are closed/ });
});

t.test('TLS-2 · no error quotes a secret of the entry', async (t) => {
  for (const headers of [
    { authorization: 'Bearer top\nsecret' },
    { 'bad name': 'top secret' },
    { token: 'top secret €' },
  ]) {
    await t.rejects(fetchOf(t, 'http://127.0.0.1:1/', { headers }), {
      message: /^(?!.*secret).*\[header-invalid\]$/,
    });
  }
  const mcp = await peer(t);
  const url = mcp.url.replace('//', '//me:top-secret@');
  const { fetch } = await fetchOf(t, url);
  await fetch(url);
  t.equal(mcp.seen[0]?.headers.authorization, `Basic ${btoa('me:top-secret')}`);
  const odd = await fetchOf(t, mcp.url.replace('//', '//me:50%@'));
  await odd.fetch(mcp.url);
  t.equal(mcp.seen[1]?.headers.authorization, `Basic ${btoa('me:50%')}`, 'a percent sign may stand for itself');
});
