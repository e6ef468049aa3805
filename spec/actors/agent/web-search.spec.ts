import t from 'tap';
import { createWebSearch } from '../../../actors/agent/web-search.ts';
import { listenHttp } from '../../support/http-listener.ts';
import { lendEnv } from '../../support/lent-env.ts';
import { page, startPageServer } from '../../support/page-server.ts';
import { selfSigned } from '../../support/tls.ts';

const never = new AbortController().signal;
const results = [
  { title: 'One', url: 'https://one.example/', content: 'the  first\nhit' },
  { title: 'Two', url: 'https://two.example/', content: 'x'.repeat(600) },
  { title: 'No address' },
  { title: 'Three', url: 'https://three.example/' },
];

t.test('DIS-5 · a search asks SearXNG for JSON and lists what it found', async (t) => {
  const { url, asked } = await startPageServer(t, { '/search': page('application/json', JSON.stringify({ results })) });
  const { call } = createWebSearch({ provider: 'searxng', baseUrl: `${url}/`, apiKey: 'key-of-search' });
  const answer = await call({ query: 'the thing', limit: 2 }, never);
  t.equal(asked[0]?.url, '/search?q=the+thing&format=json');
  t.equal(asked[0]?.headers.authorization, 'Bearer key-of-search');
  t.same(answer, {
    text: `1. One\nhttps://one.example/\nthe first hit\n\n2. Two\nhttps://two.example/\n${'x'.repeat(500)}`,
    isError: false,
  });
  t.match(await call({ query: 'all' }, never), { text: /3\. Three\nhttps:\/\/three\.example\/$/ });
});

t.test(
  'DIS-5 · Brave, Tavily and Exa are asked in their own ways, and what they refuse is led to its cause',
  async (t) => {
    const hit = { title: 'One', url: 'https://one.example/' };
    const rows = [
      {
        provider: 'brave',
        answer: { type: 'search', web: { results: [{ ...hit, description: 'a b' }] } },
        none: { type: 'search' },
        query: ` ${'x '.repeat(51)}`,
        url: `/search?q=${'x+'.repeat(49)}x&count=2&text_decorations=false`,
        key: ['x-subscription-token', 'key-of-search'],
        refusal: [422, /HTTP 422; check agent\.web_search\.api_key$/],
      },
      {
        provider: 'tavily',
        answer: { results: [{ ...hit, content: 'a b' }] },
        none: { results: [] },
        url: '/search',
        body: { query: 'x'.repeat(400), max_results: 2 },
        key: ['authorization', 'Bearer key-of-search'],
        refusal: [432, /HTTP 432; its rate or quota is used up$/],
      },
      {
        provider: 'exa',
        answer: { results: [{ ...hit, highlights: ['a', 'b'] }] },
        none: { results: [] },
        url: '/search',
        body: { query: 'x'.repeat(401), numResults: 2, contents: { highlights: true } },
        key: ['x-api-key', 'key-of-search'],
        refusal: [401, /HTTP 401; check agent\.web_search\.api_key$/],
      },
    ] as const;
    for (const { provider, answer, none, url, key, refusal, ...row } of rows) {
      const replies = [answer, none, refusal[0], {}].map((reply) => JSON.stringify(reply));
      const asked: { url: string | undefined; key: unknown; body: string }[] = [];
      const server = await listenHttp(t, (req, res) => {
        let body = '';
        req.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        req.on('end', () => {
          asked.push({ url: req.url, key: req.headers[key[0]], body });
          const reply = replies[asked.length - 1] ?? '';
          res.writeHead(reply === String(refusal[0]) ? refusal[0] : 200).end(reply);
        });
      });
      const { call } = createWebSearch({ provider, baseUrl: server.url, apiKey: 'key-of-search' });
      const found = await call({ query: 'query' in row ? row.query : 'x'.repeat(401), limit: 2 }, never);
      t.match(found, { text: /^1\. One\nhttps:\/\/one\.example\/\na (?:… )?b$/, isError: false }, provider);
      t.same(asked, [{ url, key: key[1], body: 'body' in row ? JSON.stringify(row.body) : '' }], provider);
      t.match(await call({ query: 'q' }, never), { text: 'Nothing was found.', isError: false }, provider);
      t.match(await call({ query: 'q' }, never), { text: refusal[1], isError: true }, provider);
      t.match(await call({ query: 'q' }, never), { text: /no list of results/, isError: true }, provider);
    }
  },
);

t.test('DIS-5 · an endpoint that fails is reported without its address', async (t) => {
  const { url } = await startPageServer(t, {
    '/none/search': page('application/json', '{"results": []}'),
    '/html/search': page('text/html', '<p>blocked'),
    '/other/search': page('application/json', '{"answers": []}'),
    '/forbidden/search': (res) => void res.writeHead(403).end(),
    '/limited/search': (res) => void res.writeHead(429).end(),
    '/moved/search': (res) => void res.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
    '/flood/search': page('application/json', `{"results": [], "x": "${'x'.repeat(3_000_000)}"}`),
  });
  const rows = [
    ['none', 'Nothing was found.', false],
    ['html', /no list of results/, true],
    ['other', /no list of results/, true],
    ['forbidden', /HTTP 403; SearXNG needs `json` among its `search\.formats`$/, true],
    ['limited', /HTTP 429; its rate or quota is used up$/, true],
    ['moved', /HTTP 302/, true],
    ['flood', /no list of results/, true],
  ] as const;
  for (const [path, text, isError] of rows) {
    const { call } = createWebSearch({ provider: 'searxng', baseUrl: `${url}/${path}` });
    t.match(await call({ query: 'q' }, never), { text, isError }, path);
  }
  const closed = await listenHttp(t, () => {});
  closed.server.close();
  const gone = createWebSearch({ provider: 'searxng', baseUrl: `${closed.url}/secret-path` });
  const answer = await gone.call({ query: 'q' }, never);
  t.match(answer, { text: /was not reached: the connection failed \(ECONNREFUSED\)$/, isError: true });
  t.notMatch(answer.text, 'secret-path');
  t.match(await gone.call({ query: ' ' }, never), { isError: true });
  t.match(await gone.call({ query: 'q' }, AbortSignal.abort()), { text: /was stopped/ });
});

t.test(
  'DIS-5 · a certificate that is not trusted is named with what helps, and the search is not tried again',
  async (t) => {
    const { key, pem } = selfSigned();
    const { url } = await listenHttp(t, () => {}, { tls: { key, cert: pem } });
    const { call } = createWebSearch({ provider: 'searxng', baseUrl: url });
    t.match(await call({ query: 'q' }, never), {
      text: /not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\); correct it, or name/,
    });
    const { fetch } = globalThis;
    t.teardown(() => {
      globalThis.fetch = fetch;
    });
    globalThis.fetch = () => Promise.reject(Object.assign(new Error('dates'), { code: 'CERT_HAS_EXPIRED' }));
    t.match(await call({ query: 'q' }, never), { text: /not trusted \(CERT_HAS_EXPIRED\); correct it, or the clock/ });
  },
);

t.test('TLS-2 · DIS-5 · a search goes through the proxy of the environment', async (t) => {
  const asked: (string | undefined)[] = [];
  const proxy = await listenHttp(t, (req, res) => {
    asked.push(req.url);
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results }));
  });
  lendEnv(t, { http_proxy: proxy.url, no_proxy: '' });
  const { call } = createWebSearch({ provider: 'searxng', baseUrl: 'http://search.invalid' });
  t.match(await call({ query: 'q' }, never), { text: /^1\. One\n/, isError: false });
  t.same(asked, ['http://search.invalid/search?q=q&format=json']);
  lendEnv(t, { http_proxy: 'socks5://user:hunter2@127.0.0.1:9' });
  const refused = await call({ query: 'q' }, never);
  t.match(refused, { text: /^web_search: .*http_proxy: .*speaks socks5/, isError: true });
  t.notMatch(refused.text, 'hunter2');
});
