import { createServer } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { createFetchPublic, type FetchOutcome, type FetchPublic } from '../../../actors/agent/fetch-public.ts';
import { listenOn } from '../../support/http-listener.ts';
import { lentTime } from '../../support/lent-time.ts';
import { fetchLoopback, page, startPageServer } from '../../support/page-server.ts';

const never = new AbortController().signal;

function get(url: string, fetch: FetchPublic = fetchLoopback, signal = never): Promise<FetchOutcome> {
  return fetch({ url, accept: ['text/'], maxBytes: 1_000, timeoutMs: 600_000 }, signal);
}

const why = (outcome: FetchOutcome): string => (outcome.kind === 'refused' ? outcome.why : '');

t.test('DIS-5 · a page is fetched as it is, whatever it is compressed with', async (t) => {
  const text = 'hällo';
  const { url, asked } = await startPageServer(t, {
    '/plain': page('text/plain; charset=utf-8', text),
    '/gzip': page('text/plain', gzipSync(text), { 'content-encoding': 'gzip' }),
    '/deflate': page('text/plain', deflateSync(text), { 'content-encoding': 'deflate' }),
    '/br': page('text/plain', brotliCompressSync(text), { 'content-encoding': 'br' }),
  });
  for (const path of ['/plain', '/gzip', '/deflate', '/br']) {
    const outcome = await get(`${url}${path}`);
    t.equal(outcome.kind === 'fetched' && outcome.bytes.toString(), text, path);
  }
  t.match(asked[0]?.headers, { 'user-agent': 'AgentGateway-Agent' });
  t.equal(asked[0]?.headers.cookie ?? asked[0]?.headers.authorization, undefined);
});

t.test('DIS-5 · a private address is refused in every notation', async (t) => {
  const { port, asked } = await startPageServer(t, { '/': page('text/plain', 'inside') });
  const fetch = createFetchPublic();
  for (const host of [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    'localhost',
    '0',
  ]) {
    t.match(why(await get(`http://${host}:${port}/`, fetch)), /not on the public internet/, host);
  }
  t.equal(asked.length, 0);
});

t.test('DIS-5 · a redirect to a private address is refused, and a public one followed', async (t) => {
  const server = await startPageServer(t, {
    '/inward': (res) => void res.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
    '/onward': (res) => void res.writeHead(307, { location: '/there' }).end(),
    '/there': page('text/plain', 'there'),
    '/bare': (res) => void res.writeHead(301, { location: Buffer.from('/größe').toString('latin1') }).end(),
    '/gr%C3%B6%C3%9Fe': page('text/plain', 'size'),
    '/round': (res) => void res.writeHead(302, { location: '/round' }).end(),
    '/out': (res) => void res.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    '/odd': (res) => void res.writeHead(302, { location: 'http://[' }).end(),
  });
  t.match(why(await get(`${server.url}/inward`)), /10\.0\.0\.1 is not on the public internet/);
  t.match(await get(`${server.url}/onward`), { kind: 'fetched', url: `${server.url}/there` });
  t.match(await get(`${server.url}/bare`), { kind: 'fetched', url: `${server.url}/gr%C3%B6%C3%9Fe` });
  t.match(why(await get(`${server.url}/round`)), /more than 5 times/);
  t.match(why(await get(`${server.url}/out`)), /only http and https/);
  t.match(why(await get(`${server.url}/odd`)), /no URL/);
});

t.test('DIS-5 · an address that the system refuses at once is a refusal', async (t) => {
  const fetch = createFetchPublic({
    resolve: () => Promise.resolve([{ address: '255.255.255.255', family: 4 }]),
    isAllowed: () => true,
  });
  t.match(await get('http://broadcast.invalid/', fetch), {
    kind: 'refused',
    why: /^it could not be fetched: the connection failed \(E[A-Z]+\)$/,
  });
});

t.test('DIS-5 · a name that changes its mind after the check changes nothing', async (t) => {
  const { port, asked } = await startPageServer(t, { '/': page('text/plain', 'inside') });
  let asks = 0;
  const fetch = createFetchPublic({
    resolve: () => {
      asks += 1;
      // Public when it is checked; to the system the name is this machine.
      return Promise.resolve([{ address: '192.0.2.1', family: 4 }]);
    },
    isAllowed: (address) => address === '192.0.2.1',
  });
  const outcome = await fetch(
    { url: `http://localhost:${port}/`, accept: ['text/'], maxBytes: 1_000, timeoutMs: 300 },
    never,
  );
  t.equal(outcome.kind, 'refused');
  t.equal(asks, 1, 'the name is asked once');
  t.equal(asked.length, 0, 'the connection went to what was checked');

  const known = createFetchPublic({
    resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    isAllowed: () => true,
  });
  t.match(await get(`http://no-such-name.invalid:${port}/`, known), { kind: 'fetched' }, 'nobody else is asked');

  const mixed = createFetchPublic({
    resolve: () =>
      Promise.resolve([
        { address: '8.8.8.8', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ]),
  });
  t.match(
    why(await get(`http://mixed.example:${port}/`, mixed)),
    /not on the public internet/,
    'one bad address is enough',
  );
  const none = createFetchPublic({ resolve: () => Promise.resolve([]) });
  t.match(why(await get('http://none.example/', none)), /not on the public internet/);
});

t.test('DIS-5 · what is no page is refused with its reason', async (t) => {
  const { url } = await startPageServer(t, {
    '/binary': page('application/octet-stream', 'x'),
    '/typeless': (res) => void res.writeHead(200).end('x'),
    '/long': page('text/plain', 'x'.repeat(1_001)),
    '/bomb': page('text/plain', gzipSync(Buffer.alloc(1_000_000)), { 'content-encoding': 'gzip' }),
    '/odd': page('text/plain', 'x', { 'content-encoding': 'zstd' }),
    '/broken': page('text/plain', 'no gzip', { 'content-encoding': 'gzip' }),
    '/reset': (res) => void res.socket?.resetAndDestroy(),
  });
  const rows = [
    ['/binary', /of the type application\/octet-stream/],
    ['/typeless', /of the type unknown/],
    ['/long', /longer than 1000 bytes/],
    ['/bomb', /longer than 1000 bytes/],
    ['/odd', /compressed in a way/],
    ['/broken', /could not be fetched: .* \(Z_DATA_ERROR\)/],
    ['/reset', /could not be fetched: the connection failed \(ECONNRESET\)/],
    ['/missing', /HTTP 404/],
  ] as const;
  for (const [path, expected] of rows) t.match(why(await get(`${url}${path}`)), expected, path);
  for (const [bad, expected] of [
    ['nothing', /no URL/],
    ['ftp://example.com/', /only http and https/],
    ['http://user:secret@example.com/', /a login is not fetched/],
    [`http://example.com/${'x'.repeat(5_000)}`, /no URL/],
  ] as const)
    t.match(why(await get(bad)), expected, bad.slice(0, 40));
});

t.test('DIS-5 · the time for a page is bounded, and a stopped run stops it', async (t) => {
  const time = lentTime(t);
  const { url } = await startPageServer(t, {
    '/silent': () => time.pass(100),
    // The time is over once the half has left, or before.
    '/half': (res) => void res.writeHead(200, { 'content-type': 'text/plain' }).write('half', () => time.pass(100)),
  });
  for (const path of ['/silent', '/half']) {
    const outcome = await fetchLoopback(
      { url: `${url}${path}`, accept: ['text/'], maxBytes: 100, timeoutMs: 100 },
      never,
    );
    t.match(why(outcome), /no complete answer within 0\.1 s/, path);
  }
  const stop = new AbortController();
  const asking = get(`${url}/silent`, fetchLoopback, stop.signal);
  stop.abort();
  t.equal(why(await asking), 'the run was stopped');
  const hanging = createFetchPublic({ resolve: () => new Promise(() => {}) });
  const waiting = hanging({ url: 'http://slow.example/', accept: [], maxBytes: 1, timeoutMs: 50 }, never);
  time.pass(50);
  t.match(why(await waiting), /no complete answer/, 'a resolver that hangs is not waited for');
});

t.test('DIS-5 · a server that speaks another protocol is refused', async (t: Test) => {
  const server = createServer((socket) => {
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    );
    socket.on('error', () => {});
  });
  const port = await listenOn(t, server);
  t.match(why(await get(`http://127.0.0.1:${port}/`)), /another protocol/);
});
