import { Client } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { readConnectError } from '../../../actors/mcp/connect-errors.ts';
import { openTransport } from '../../../actors/mcp/transports.ts';
import type { PublicReachPorts } from '../../../actors/oauth/public-reach.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import type { ConnectFailure } from '../../../machines/mcp/connect-failure.ts';
import { readServerSettings } from '../../../machines/mcp/server-settings.ts';
import { listenHttp } from '../../support/http-listener.ts';
import { quietPorts } from '../../support/mcp/open-session.ts';

/** What listens inside, and must hear nothing. */
async function inside(t: Test) {
  const heard: string[] = [];
  const { port } = await listenHttp(t, ({ method, url }, response) => {
    heard.push(`${method} ${url}`);
    response.end();
  });
  return { heard, port };
}

/** The server is 127.0.0.2, which passes for an address of the public internet; 127.0.0.1 is inside. */
function reachOf(addresses: Readonly<Record<string, readonly string[]>> = {}) {
  const asked: string[] = [];
  const reach: Partial<PublicReachPorts> = {
    publicHosts: new Set(),
    isPublic: (address) => address === '127.0.0.2',
    resolve: async (host) => {
      asked.push(host);
      return (addresses[host] ?? []).map((address) => ({ address, family: 4 }));
    },
  };
  return { reach, asked };
}

async function failureOf(entry: JsonObject, reach: Partial<PublicReachPorts>): Promise<ConnectFailure> {
  const settings = readServerSettings(normaliseServerEntry('hub', entry));
  const opened = await openTransport(settings, { ...quietPorts, reach });
  try {
    await new Client({ name: 'spec', version: '1' }).connect(opened.transport, { timeout: 20_000 });
  } catch (thrown) {
    return readConnectError(thrown, { timeoutMs: 20_000 });
  } finally {
    await opened.close();
  }
  throw new Error('it went well');
}

const refused = (host: string) => ({
  kind: 'redirect',
  message: new RegExp(`^mcp server "hub": its redirect to .* is not followed: ${host} is .*\\[leads-inside\\]$`),
});
const entries = {
  'the POST of a message': { kind: 'http', status: 307 },
  'the GET of the preflight': { kind: 'http', status: 302, preflight: true },
  'the GET of an event stream': { kind: 'sse', status: 302 },
} as const;

for (const [hop, { kind, status, ...more }] of Object.entries(entries)) {
  t.test(`SEC-5 · a public server cannot redirect ${hop} inside`, async (t) => {
    const { heard, port } = await inside(t);
    for (const target of [`127.0.0.1:${port}`, `inside.test:${port}`, `both.test:${port}`]) {
      const { port: own } = await listenHttp(
        t,
        (_, response) => {
          response.writeHead(status, { location: `http://${target}/latest/meta-data` }).end();
        },
        { address: '127.0.0.2' },
      );
      const entry = {
        url: `http://hub.test:${own}/mcp`,
        ...(kind === 'sse' ? { transport: 'sse' } : { skip_preflight: !('preflight' in more) }),
        cross_origin_redirects: true,
      };
      const names = {
        'hub.test': ['127.0.0.2'],
        'inside.test': ['127.0.0.1'],
        'both.test': ['127.0.0.2', '127.0.0.1'],
      };
      const { reach, asked } = reachOf(names);
      // A preflight that fails leaves the word to the handshake, whose POST is not turned into a GET.
      const expected = 'preflight' in more ? { kind: 'redirect' } : refused(target.split(':')[0] ?? '');
      t.match(await failureOf(entry, reach), expected, target);
      t.equal(new Set(asked).size, asked.length, 'each name is resolved once');
    }
    t.same(heard, []);
  });
}

t.test('SEC-5 · another port of a server with an address inside is another origin', async (t) => {
  const { heard, port } = await inside(t);
  const { port: own } = await listenHttp(
    t,
    (_, response) => {
      response.writeHead(307, { location: `http://hub.test:${port}/x` }).end();
    },
    { address: '127.0.0.2' },
  );
  const { reach } = reachOf({ 'hub.test': ['127.0.0.2', '127.0.0.1'] });
  const entry = { url: `http://hub.test:${own}/mcp`, skip_preflight: true, cross_origin_redirects: true };
  t.match(await failureOf(entry, reach), refused('hub.test'));
  t.same(heard, []);
});

t.test('SEC-5 · the endpoint that an event stream names is of its own origin', async (t) => {
  const { heard, port } = await inside(t);
  const { port: own } = await listenHttp(
    t,
    (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: http://127.0.0.1:${port}/messages\n\n`);
    },
    { address: '127.0.0.2' },
  );
  const { reach } = reachOf({ 'hub.test': ['127.0.0.2'] });
  const failure = await failureOf({ url: `http://hub.test:${own}/sse`, transport: 'sse' }, reach);
  t.match(failure, { message: /^names http:\S+ for messages, which is not the origin of url; / });
  t.same(heard, []);
});

t.test('SEC-5 · a server that is itself inside leads inside', async (t) => {
  const { heard, port } = await inside(t);
  const { port: own } = await listenHttp(t, (_, response) => {
    response.writeHead(307, { location: `http://inside.test:${port}/moved` }).end();
  });
  const { reach } = reachOf({ 'hub.test': ['127.0.0.1'], 'inside.test': ['127.0.0.1'] });
  await failureOf({ url: `http://hub.test:${own}/mcp`, skip_preflight: true, cross_origin_redirects: true }, reach);
  t.same(heard[0], 'POST /moved');
});
