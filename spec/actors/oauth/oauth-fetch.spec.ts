import t from 'tap';
import { createOauthFetch } from '../../../actors/oauth/oauth-fetch.ts';
import { lentTime } from '../../support/lent-time.ts';
import { html, paths, silence, startScriptedServer } from '../../support/oauth/scripted-server.ts';

const settings = { fetch, version: '1.2.3', userAgent: undefined };

t.test(
  'OAU-3 · discovery and registration carry the product’s agent, the token endpoint the configured one',
  async (t) => {
    const authority = await startScriptedServer(t);
    const asked = async (userAgent: string | undefined): Promise<unknown[]> => {
      const oauth = createOauthFetch({ ...settings, userAgent });
      const before = authority.seen.length;
      await (await oauth.fetch(`${authority.origin}${paths.metadata}`, { headers: { 'user-agent': 'x' } })).text();
      await (await oauth.fetch(`${authority.origin}${paths.register}`, { method: 'POST', body: '{}' })).text();
      await (await oauth.tokenFetch(`${authority.origin}${paths.token}`, { method: 'POST' })).text();
      return authority.seen.slice(before).map(({ headers }) => headers['user-agent']);
    };
    const product = 'AgentGateway-Agent/1.2.3';

    t.same(await asked('Fleet/7'), [product, product, 'Fleet/7']);
    t.same(await asked(undefined), [product, product, product]);
  },
);

t.test('OAU-7 · what answered a request for metadata is kept, in order; nothing else is', async (t) => {
  const authority = await startScriptedServer(t);
  const oauth = createOauthFetch(settings);
  const look = (path: string) => oauth.fetch(`${authority.origin}${path}`).then((answer) => answer.text());
  await look(paths.metadata);
  await look(paths.openid);
  authority.on(paths.openid, html);
  await look(paths.openid);
  await look('/elsewhere');
  authority.on(paths.metadata, { kind: 'reset' });
  await t.rejects(look(paths.metadata));
  await t.rejects(oauth.fetch(`http://as.example${paths.openid}`));

  t.same(
    oauth.seen.map(({ url, status }) => [new URL(url).pathname, status]),
    [
      [paths.metadata, 200],
      [paths.openid, 404],
      [paths.openid, '200 with text/html'],
      [paths.metadata, 'no answer'],
      [paths.openid, 'no request'],
    ],
  );
  t.match(oauth.seen.at(-1)?.refusal, /not served over https \(http:\/\/as\.example\)/);
});

t.test('OAU-7 · a request that hangs ends by its timeout or when it is cancelled', async (t) => {
  const authority = await startScriptedServer(t);
  const time = lentTime(t);
  authority.on(paths.metadata, silence(time));
  authority.on(paths.token, silence(time));
  const slow = createOauthFetch(settings);
  for (const [asked, path] of [
    [slow.fetch, paths.metadata],
    [slow.tokenFetch, paths.token],
  ] as const) {
    const message = `${authority.origin}${path} did not answer in time`;
    await t.rejects(asked(`${authority.origin}${path}?secret=x`), { name: 'TimeoutError', message });
  }
  t.match(slow.seen, [{ status: 'no answer' }]);

  authority.on(paths.token, { kind: 'hang' });
  const person = new AbortController();
  const cancelled = createOauthFetch({ ...settings, signal: person.signal });
  const asked = cancelled.tokenFetch(`${authority.origin}${paths.token}`);
  person.abort();
  await t.rejects(asked, { name: 'AbortError' });
});

t.test('DEV-4 · the polls of a long device login are not reported as a leak', async (t) => {
  const authority = await startScriptedServer(t);
  authority.on(paths.token, { json: {} });
  const warnings = t.capture(process, 'emitWarning');
  const { signal } = new AbortController();
  const oauth = createOauthFetch({ ...settings, signal });
  for (let poll = 0; poll < 12; poll++) await oauth.tokenFetch(`${authority.origin}${paths.token}`);
  t.same(warnings.args(), []);
});

t.test('OAU-1 · plain HTTP goes to the loopback, and for metadata to the server itself', async (t) => {
  const asked: string[] = [];
  const oauth = createOauthFetch({
    ...settings,
    url: 'http://192.168.1.5/mcp',
    fetch: async (url) => {
      asked.push(String(url));
      return new Response('{}');
    },
  });
  await oauth.fetch('http://192.168.1.5/.well-known/oauth-protected-resource');
  await oauth.fetch('http://127.0.0.1:9/metadata');
  await oauth.fetch('https://as.example/metadata');
  await oauth.tokenFetch('https://as.example/token');
  t.equal(asked.length, 4);
  for (const url of ['http://192.168.1.6/metadata', 'http://as.example/register'])
    await t.rejects(oauth.fetch(url), /an address that the server leads to is not served over https/, url);
  await t.rejects(oauth.tokenFetch('http://192.168.1.5/token'), /the token endpoint is not served over https/);
  t.equal(asked.length, 4);
});
