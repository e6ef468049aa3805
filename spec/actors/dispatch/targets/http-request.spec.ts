import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import { Agent } from 'undici';
import { httpRequest } from '../../../../actors/dispatch/targets/http-request.ts';
import type { Undelivered } from '../../../../machines/dispatch/send-outcome.ts';
import { makeHome } from '../../../support/home.ts';
import { freePort, listenHttp, listenOn } from '../../../support/http-listener.ts';
import { lendEnv } from '../../../support/lent-env.ts';
import { makeCertificates } from '../../../support/tls.ts';

const never = new AbortController().signal;
const timeoutMs = 20_000;

async function listen(t: Test, onConnection: Parameters<typeof createServer>[1]): Promise<string> {
  return `127.0.0.1:${await listenOn(t, createServer(onConnection))}`;
}

t.test('DUR-1 · a request that never left this machine differs from one that was written and lost', async (t) => {
  const resetting = await listen(t, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.resetAndDestroy());
  });
  const silent = await listen(t, (socket) => void socket.on('error', () => {}));
  const closing = await listen(t, (socket) => {
    socket.on('error', () => {});
    socket.resetAndDestroy();
  });
  const gone = `127.0.0.1:${await freePort()}`;
  for (const [title, url, limitMs, expected] of [
    ['refused', `http://${gone}/`, timeoutMs, { kind: 'transient', reason: /ECONNREFUSED/ }],
    ['a port of another protocol', 'http://127.0.0.1:25/', timeoutMs, { kind: 'refused', reason: /port 25.*api_base/ }],
    ['no such name', 'http://host.invalid/', timeoutMs, { kind: 'transient', reason: /host\.invalid was not reached/ }],
    ['no TLS at the other end', `https://${resetting}/`, timeoutMs, { kind: 'transient' }],
    [
      'no answer to the TLS greeting',
      `https://${silent}/`,
      300,
      { kind: 'transient', reason: /no answer within 0\.3 s/ },
    ],
    ['closed at once', `https://${closing}/`, timeoutMs, { kind: 'transient' }],
    ['reset after it was written', `http://${resetting}/`, timeoutMs, { kind: 'unknown', reason: /ECONNRESET/ }],
    ['no answer', `http://${silent}/`, 300, { kind: 'unknown', reason: /no answer within 0\.3 s/ }],
  ] as const) {
    t.match(await httpRequest({ method: 'POST', url, json: { a: 1 }, timeoutMs: limitMs }, never), expected, title);
  }
});

t.test('DLV-4 · a server that demands a client certificate, and a 407 that is no proxy’s, are named', async (t) => {
  const { serverCert, serverKey, ca, read } = makeCertificates(makeHome(t).path);
  const ask = (url: string) => httpRequest({ method: 'POST', url, json: {}, timeoutMs }, never);
  const { fetch } = globalThis;
  t.teardown(() => {
    globalThis.fetch = fetch;
  });
  // The authority of this process cannot be changed.
  const dispatcher = new Agent({ connect: { ca: read(ca) } });
  t.teardown(() => dispatcher.close());
  globalThis.fetch = (request, init) => fetch(request, { ...init, dispatcher } as object);
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const tls = { requestCert: true, ca: read(ca), cert: read(serverCert), key: read(serverKey), maxVersion };
    const { url } = await listenHttp(t, (_, response) => response.end(), { tls });
    const { reason } = (await ask(url)) as Undelivered;
    t.match(reason, /the server may demand a client certificate/, maxVersion);
  }

  globalThis.fetch = fetch;
  const { url } = await listenHttp(t, (_, response) => response.writeHead(407).end('{}'));
  t.match(await ask(url), { kind: 'refused', reason: /HTTP 407/ });
});

t.test('DUR-1 · requests under way at the same time are distinguished', async (t) => {
  const resetting = await listen(t, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.resetAndDestroy());
  });
  const one = (url: string) => httpRequest({ method: 'POST', url, json: 1, timeoutMs }, new AbortController().signal);
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) => one(index % 2 === 0 ? `http://${resetting}/` : `https://${resetting}/`)),
  );

  t.same(
    outcomes.map(({ kind }) => kind),
    outcomes.map((_, index) => (index % 2 === 0 ? 'unknown' : 'transient')),
  );
});

t.test('OBS-1 · no reason quotes an address, a header or a body', async (t) => {
  for (const call of [
    { url: 'http://127.0.0.1:9/bot-secret/send?key=secret' },
    { url: 'http://user:secret@127.0.0.1:9/' },
    { url: 'http://[secret/' },
    { url: 'http://127.0.0.1:9/', headers: { authorization: 'Bearer secret\nX: y' } },
    { url: 'http://127.0.0.1:9/', headers: { 'secret name': 'x' } },
    { url: 'http://127.0.0.1:9/', json: { text: 'secret' } },
  ]) {
    const outcome = await httpRequest({ method: 'POST', timeoutMs, ...call }, never);
    t.not(outcome.kind, 'answered');
    t.notMatch(JSON.stringify(outcome), /secret/);
  }
});

t.test('DLV-4 · an answer is read up to its limit, and no redirect is followed', async (t) => {
  const reply = (text: string) =>
    listen(t, (socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(text));
    });
  const long = await reply(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"${'x'.repeat(8_400_000)}"`);
  const moved = await reply('HTTP/1.1 301 Moved\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n');
  const json = await reply('HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{"a":1}');
  const marked = await reply('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n\ufeff{"b":1}');

  const get = (host: string) => httpRequest({ method: 'GET', url: `http://${host}/`, timeoutMs }, never);
  t.match(await get(long), { kind: 'answered', status: 200, json: undefined });
  t.match(await get(moved), { kind: 'answered', status: 301 });
  t.match(await get(json), { kind: 'answered', json: { a: 1 } });
  t.match(await get(marked), { kind: 'answered', json: { b: 1 } }, 'after a byte order mark');
});

t.test('DLV-4 · a certificate that is not trusted is no outage: it says so, and is not asked again', async (t) => {
  const { serverCert, serverKey, read } = makeCertificates(makeHome(t).path);
  const tls = { cert: read(serverCert), key: read(serverKey) };
  const { url } = await listenHttp(t, (_, response) => response.end(), { tls });

  t.match(await httpRequest({ method: 'GET', url, timeoutMs: 20_000 }, new AbortController().signal), {
    kind: 'refused',
    reason: /^127\.0\.0\.1:\d+: its certificate is not trusted \([A-Z_]+\); .*NODE_EXTRA_CA_CERTS/,
  });
});

t.test('DLV-4 · a certificate whose dates do not fit the clock is an outage that passes', async (t) => {
  const { fetch } = globalThis;
  t.teardown(() => {
    globalThis.fetch = fetch;
  });
  globalThis.fetch = () =>
    Promise.reject(
      new TypeError('fetch failed', { cause: Object.assign(new Error('dates'), { code: 'CERT_NOT_YET_VALID' }) }),
    );
  t.match(await httpRequest({ method: 'GET', url: 'https://hub.example/', timeoutMs }, never), {
    kind: 'transient',
    reason: /^hub\.example: its certificate is not trusted \(CERT_NOT_YET_VALID\); .*clock/,
  });
});

t.test(
  'TLS-2 · requests go through the proxy of the environment, but for loopback and what NO_PROXY names',
  async (t) => {
    const asked: string[] = [];
    const { server, url: own } = await listenHttp(t, (request, response) => {
      asked.push(request.url ?? '');
      if (request.url === 'http://login.invalid/') response.writeHead(407, { 'proxy-authenticate': 'Basic' });
      response.end('{}');
    });
    server.on('connect', (request, socket) => {
      asked.push(`CONNECT ${request.url}`);
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    lendEnv(t, { http_proxy: own, https_proxy: own, no_proxy: 'direct.invalid' });
    const ask = (url: string) => httpRequest({ method: 'POST', url, json: {}, timeoutMs }, never);

    t.match(await ask('http://platform.invalid/send'), { kind: 'answered', status: 200 });
    t.match(await ask(`${own}/own`), { kind: 'answered' });
    t.match(await ask('http://direct.invalid/'), { kind: 'transient', reason: /direct\.invalid was not reached/ });
    t.match(
      await ask('https://platform.invalid/send'),
      {
        kind: 'transient',
        reason:
          /^platform\.invalid was not reached: the proxy of the environment refused the connection \(HTTP 502\); .*NO_PROXY$/,
      },
      'a tunnel that fails has carried nothing',
    );
    t.same(asked, ['http://platform.invalid/send', '/own', 'CONNECT platform.invalid:443']);
    t.match(
      await ask('http://login.invalid/'),
      { kind: 'transient', reason: /^login\.invalid was not reached: the proxy .*\(HTTP 407\); check the login/ },
      'nor has a proxy that wants a login',
    );
    lendEnv(t, { http_proxy: 'http://127.0.0.1:1' });
    t.match(await ask('http://platform.invalid/'), {
      kind: 'transient',
      reason: 'platform.invalid was not reached: the proxy of the environment was not reached (ECONNREFUSED)',
    });
    lendEnv(t, { http_proxy: 'socks5://sec-user:sec-word@127.0.0.1:1' });
    const refused = await ask('http://platform.invalid/');
    t.match(refused, { kind: 'refused', reason: /only http and https proxies/ });
    t.notMatch(JSON.stringify(refused), /sec-/);
  },
);
