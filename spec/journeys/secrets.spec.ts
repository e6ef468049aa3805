/**
 * Plants secrets wherever one can come from, lets the daemon work with all of them, and looks for them at every door that
 * a person or a program reads.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { connectControl } from '../../runtime/control/client.ts';
import { startCollector } from '../support/collector.ts';
import { askCli } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { listenHttp } from '../support/http-listener.ts';
import { ask, openPage } from '../support/inspector.ts';
import type { PeerTool } from '../support/mcp/catalogue.ts';
import { eventually, startGateway } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { postSigned } from '../support/sign.ts';
import { adapterOf } from '../support/webhook-adapter.ts';

/** By where each comes from. None has the shape of a well-known token unless it says so. */
const planted = {
  globalSecret: 'planted-global-hmac-secret-1',
  routeSecret: 'planted-route-secret-2',
  dotenv: 'planted-dotenv-value-3',
  platformToken: 'planted-platform-token-4',
  serverEnv: 'planted-server-env-5',
  serverHeader: 'planted-server-header-6',
  serverQuery: 'planted-url-password-7',
  oauthAccess: 'planted-oauth-access-8',
  oauthRefresh: 'planted-oauth-refresh-9',
  oauthClient: 'planted-oauth-client-10',
  requestHeader: 'planted-request-authorization-11',
  requestCookie: 'planted-request-cookie-12',
  bodyMember: 'planted-body-password-13',
  bodyToken: 'ghp_plantedplantedplantedplanted140014',
  toolError: 'sk-planted-tool-error-0000000015',
  otlpHeader: 'planted-collector-header-16',
  modelKey: 'planted-model-key-17',
  /** Only its beginning is in the words that are kept of a page, which are cut. */
  cutHeader: 'planted-cut-header',
} as const;

/** Quotes whatever it knows: a careless server. */
function leaking(name: string, words: string): PeerTool {
  return {
    definition: {
      name,
      description: `Quotes ${words}`,
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
    },
    run: () => ({ text: `failed with ${words}`, isError: true }),
  };
}

t.test('OBS-1 · INS-1 · a planted secret is found at no door', async (t) => {
  const collector = await startCollector(t);
  // What nobody has told the daemon of, and what has no shape, an agent that learnt it elsewhere may say.
  const { requestHeader, requestCookie, bodyMember, cutHeader, ...known } = planted;
  const everything = Object.values(known).join(' ');
  const peer = await started(t, {
    tools: ['echo', leaking('leak', `${everything}; Authorization: Bearer ${planted.oauthAccess}`)],
  });
  const proxy = await listenHttp(t, ({ headers }, response) =>
    response.writeHead(403).end(`${'x '.repeat(137)}${headers['x-key']} is not known`),
  );
  const home = makeHome(t, {
    '.env': `FROM_DOTENV=${planted.dotenv}\n`,
    'scripts/leak.sh': `#!/bin/sh\necho "${planted.dotenv} ${planted.oauthAccess}" >&2\nexit 3\n`,
    'agent.sh': `#!/bin/sh\ncat; echo "${everything}"\n`,
    'failing.sh': `#!/bin/sh\necho "${everything}" >&2; exit 1\n`,
  });
  // An access token that a login has stored earlier.
  const tokens = homePaths(home.path);
  mkdirSync(join(home.path, 'mcp-tokens'), { recursive: true, mode: 0o700 });
  writeFileSync(
    join(home.path, 'mcp-tokens', 'oauthed.json'),
    JSON.stringify({
      access_token: planted.oauthAccess,
      refresh_token: planted.oauthRefresh,
      expires_at: Date.now() + 3_600_000,
      issuer: peer.origin,
      client_id: 'client',
      url: peer.url,
    }),
    { mode: 0o600 },
  );
  t.ok(tokens.socket);

  const gateway = await startGateway(
    t,
    {
      peer: {
        url: peer.url,
        trust: 'full',
        headers: { Authorization: `Bearer ${planted.serverHeader}`, 'X-Api-Key': planted.serverHeader },
      },
      oauthed: { url: peer.url, auth: 'oauth', oauth: { client_id: 'client', client_secret: planted.oauthClient } },
      local: {
        command: '/nonexistent/server',
        args: [],
        env: { API_TOKEN: planted.serverEnv, OTHER: planted.serverEnv },
      },
      // A child that says what it was given, in two pieces and without an end.
      chatty: {
        command: '/bin/sh',
        args: [
          '-c',
          'echo "my key is $API_TOKEN" >&2; printf "and planted-server" >&2; printf "%s" "-env-5" >&2; exit 1',
        ],
        env: { API_TOKEN: planted.serverEnv },
      },
      refused: { url: proxy.url, headers: { 'X-Key': `${cutHeader}-of-a-careless-proxy` } },
      guarded: { url: `http://user:${planted.serverQuery}@127.0.0.1:1/mcp` },
    },
    {
      home,
      env: {
        OTEL_BSP_SCHEDULE_DELAY: '20',
        OTEL_EXPORTER_OTLP_HEADERS: `authorization=${planted.otlpHeader}`,
      },
      config: {
        inspector: { port: 0 },
        telemetry: { otlp_endpoint: collector.url },
        agent: {
          runner: 'command',
          command: ['/bin/sh', `${home.path}/agent.sh`],
          model: {
            provider: 'openai-compatible',
            base_url: 'http://127.0.0.1:1',
            name: 'm',
            api_key: planted.modelKey,
          },
        },
        platforms: {
          telegram: { enabled: true, bot_token: planted.platformToken, token: planted.platformToken },
          webhook: adapterOf(
            {
              run: { prompt: 'Look at {token} {note} {__raw__}' },
              filtered: {
                prompt: 'p',
                filters: [{ field: 'headers.authorization', equals: 'x' }],
              },
              noted: { prompt: 'p', filters: [{ field: 'note', equals: 'x' }] },
              scripted: { prompt: 'p', script: 'leak.sh' },
              own: {
                prompt: 'p {note}',
                secret: planted.routeSecret,
                deliver: 'telegram',
                deliver_only: true,
                deliver_extra: { chat_id: '{note}' },
              },
              grouped: { prompt: 'p', coalesce: { key: 'note', window_seconds: 600, max_wait_seconds: 600 } },
            },
            { secret: planted.globalSecret },
          ),
        },
      },
    },
  );
  await gateway.reaches('peer', 'connected');
  await gateway.reaches('refused', 'failed');
  await gateway.daemon.line(({ message }) => message.startsWith('traces go to'));

  // Every door is open before anything happens.
  const page = await openPage(t, home.path);
  const stream = await page.stream();
  const follower = await connectControl(`${home.path}/gateway.sock`);
  if (follower === undefined) throw new Error('the socket is not there');
  t.teardown(() => follower.close());
  const followed: string[] = [];
  follower.onNotification((_, record) => followed.push(JSON.stringify(record)));
  await follower.call('inspect.follow', { full: true });
  // Steps alone are formatted in another way.
  const brief = await connectControl(`${home.path}/gateway.sock`);
  t.teardown(() => brief?.close());
  const briefly: string[] = [];
  brief?.onNotification((_, record) => briefly.push(JSON.stringify(record)));
  await brief?.call('inspect.follow', {});

  const note = `${planted.dotenv} ${planted.oauthAccess} ${planted.bodyToken}`;
  const body = {
    token: planted.bodyToken,
    password: bodyMember,
    note,
    nested: { api_key: bodyMember },
  };
  const headers = {
    authorization: `Bearer ${requestHeader}`,
    cookie: `session=${requestCookie}`,
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  };
  const { globalSecret } = planted;
  for (const route of ['run', 'filtered', 'noted', 'scripted', 'own', 'grouped', planted.dotenv]) {
    const secret = route === 'own' ? planted.routeSecret : globalSecret;
    await postSigned(`${gateway.daemon.url}/webhooks/${route}`, body, { secret, id: `to-${route}`, headers }).catch(
      () => {},
    );
  }
  await postSigned(`${gateway.daemon.url}/webhooks/run`, body, {
    secret: 'wrong',
    id: `refused-${planted.dotenv}`,
    headers: { ...headers, 'x-gitlab-token': planted.routeSecret },
  });
  const leaked = await gateway.call('mcp__peer__leak', { password: bodyMember, text: note });
  await gateway.call('mcp__oauthed__leak', { text: note });
  await gateway.call('mcp__nobody__there', { text: note });
  await eventually(async () =>
    ((await gateway.control.call('runs.list')) as unknown as readonly JsonObject[]).find(
      ({ status }) => status === 'delivered',
    ),
  );
  await stream.until(() => stream.deltas.some(({ steps }) => steps.some(({ to }) => to === 'delivered')));
  await collector.span('deliver log');
  await collector.span('tools/call mcp__peer__leak');

  const doors = new Map<string, string>();
  doors.set('the error of a tool', JSON.stringify(leaked));
  doors.set('log', gateway.daemon.log.map((line) => JSON.stringify(line)).join('\n'));
  doors.set('stream', stream.text());
  doors.set('follow', followed.join('\n'));
  doors.set('follow, steps alone', briefly.join('\n'));
  doors.set('metrics', (await ask(`${page.url}/metrics`)).body);
  doors.set('ready', (await ask(`${page.url}/ready`)).body);
  doors.set('traces', collector.text());
  const again = await page.stream();
  doors.set('snapshot', again.text());
  again.close();
  for (const { id } of stream.snapshots[0]?.actors ?? [])
    doors.set(`actor ${id}`, (await page.ask(`/actor/${encodeURIComponent(id)}`)).body);
  for (const id of new Set(stream.deltas.flatMap(({ changed }) => changed.map((row) => row.id))))
    doors.set(`actor ${id}`, (await page.ask(`/actor/${encodeURIComponent(id)}`)).body);
  const methods = ['gateway.status', 'webhook.list', 'mcp.list', 'inspect.tree', 'approvals.list', 'config.check'];
  for (const method of methods) doors.set(method, told(await page.rpc(method)));
  for (const route of ['run', 'own']) doors.set(`show ${route}`, told(await page.rpc('webhook.show', { name: route })));
  const deliveries = (await page.rpc('webhook.deliveries', { limit: 100 })) as unknown as readonly JsonObject[];
  doors.set('deliveries', told(deliveries as unknown as Json));
  t.ok(deliveries.length >= 6, 'ignored, refused and accepted ones are there');
  for (const { key } of deliveries) {
    doors.set(`delivery ${key}`, told(await page.rpc('webhook.delivery', { id: String(key) })));
    doors.set(`why ${key}`, told(await page.rpc('inspect.why', { id: String(key) })));
  }
  const runs = (await page.rpc('runs.list')) as unknown as readonly JsonObject[];
  for (const { id } of runs) doors.set(`run ${id}`, told(await page.rpc('runs.show', { id: String(id) })));
  for (const server of ['peer', 'oauthed', 'local', 'chatty', 'guarded'])
    doors.set(`logs ${server}`, told(await page.rpc('mcp.logs', { server })));
  for (const words of [
    ['inspect'],
    ['inspect', 'tree', '--json'],
    ['mcp', 'list'],
    ['gateway', 'status'],
    ['webhook', 'deliveries'],
  ])
    doors.set(words.join(' '), (await askCli(words, home.path)).stdout);
  for (const name of filesBelow(join(home.path, 'logs'))) doors.set(name, readFileSync(name, 'utf8'));

  // What is no secret of the configuration is the server's own, and a description may name the form of a token.
  const tools = told(await page.rpc('mcp.tools'));
  for (const [where, secret] of Object.entries(planted).filter(([where]) => !/^(?:bodyToken|toolError)$/.test(where)))
    t.notOk(tools.includes(secret), `${where} in mcp.tools`);
  for (const [door, text] of doors) {
    for (const [where, secret] of Object.entries(planted)) t.notOk(text.includes(secret), `${where} in ${door}`);
  }
  const seen = [...doors.values()].join('\n');
  t.ok(seen.includes('[redacted]') && seen.includes('to-filtered') && seen.includes('refused-'), 'the doors were open');
});

function told(answer: Json): string {
  return JSON.stringify(answer);
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  } catch {
    return [];
  }
}
