import t, { type Test } from 'tap';
import { openServerConnections } from '../../../actors/oauth/server-connections.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import { readServerSettings } from '../../../machines/mcp/server-settings.ts';
import { listenHttp } from '../../support/http-listener.ts';

/** Every name is an address inside, as the server's own is, so that only TLS counts; `/to?…` redirects there. */
async function stage(t: Test) {
  const heard: string[] = [];
  const { port } = await listenHttp(t, ({ url = '', headers }, response) => {
    heard.push(`${headers.host}${url}`.replace(`:${port}`, ''));
    const to = /\/to\?(.*)$/.exec(url)?.[1];
    if (to === undefined) response.end('ok');
    else response.writeHead(302, { location: to }).end();
  });
  const entry = { url: `http://hub.test:${port}/mcp`, auth: 'oauth', cross_origin_redirects: true };
  const { transport: plan } = readServerSettings(normaliseServerEntry('hub', entry));
  if (plan.kind === 'stdio') throw new Error('it has a url');
  const connections = await openServerConnections({
    ...{ server: 'hub', plan, env: {}, userHome: '/nowhere', version: '1' },
    reach: { resolve: async () => [{ address: '127.0.0.1', family: 4 }], isPublic: () => false },
  });
  t.teardown(() => connections.close());
  const at = (host: string): string => `http://${host}:${port}`;
  const ask = (url: string): Promise<string> => connections.fetch(url).then((answer) => answer.text());
  return { heard, at, ask };
}

t.test(
  'SEC-5 · a login follows no redirect off TLS, but within the entry’s own origin and on the loopback',
  async (t) => {
    const { heard, at, ask } = await stage(t);

    t.equal(await ask(`${at('hub.test')}/to?${at('hub.test')}/meta`), 'ok');
    t.equal(await ask(`${at('hub.test')}/to?${at('127.0.0.1')}/meta`), 'ok');
    t.equal(await ask(`${at('localhost')}/to?${at('127.0.0.1')}/meta`), 'ok');
    heard.length = 0;
    const refused = /its redirect to http:\/\/\w+\.test:\d+\/\w+ is not followed: .* not served over https/;
    await t.rejects(ask(`${at('hub.test')}/to?${at('as.test')}/meta`), refused);
    await t.rejects(ask(`${at('127.0.0.1')}/to?${at('as.test')}/meta`), refused);
    await t.rejects(
      ask(`${at('127.0.0.1')}/to?${at('hub.test')}/meta`),
      refused,
      'nor to the entry’s own from elsewhere',
    );
    await t.rejects(ask(`${at('as.test')}/meta`), /not served over https/, 'nor without a redirect');

    t.same(
      heard.map((line) => line.split('/to?')[0]),
      ['hub.test', '127.0.0.1', '127.0.0.1'],
    );
  },
);
