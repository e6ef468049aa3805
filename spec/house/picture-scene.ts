/**
 * The daemon that the documentation's pictures are taken of: servers in every state, runs that wait for a person, texts
 * that did and did not arrive, jobs, names of every length. Nothing in it is anybody's.
 */

import type { Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { makeHome } from '../support/home.ts';
import { eventually, type Gateway, startGateway } from '../support/mcp/gateway.ts';
import { type ModelReply, startModelServer } from '../support/model-server.ts';
import { startProtectedServer } from '../support/oauth/protected-server.ts';
import { startScriptedServer } from '../support/oauth/scripted-server.ts';
import { startPlatform } from '../support/platforms/fake-platform.ts';
import { slackApi } from '../support/platforms/slack.ts';
import { postSigned } from '../support/sign.ts';
import { adapterOf } from '../support/webhook-adapter.ts';

const secret = 'picture-scene-secret-of-the-docs';

/** A server over stdio in a few lines: it has these tools and answers each call with what it was given. */
const serverText = `
const tools = JSON.parse(process.argv[1]);
let rest = '';
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    const result = method === 'initialize'
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'scene', version: '1' } }
      : method === 'tools/list' ? { tools }
      : method === 'tools/call' ? { content: [{ type: 'text', text: JSON.stringify(params.arguments, null, 2) }] }
      : {};
    const say = () => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
    if (method === 'tools/call') console.error('info  ' + params.name + ' called');
    if (params?.arguments?.slow) setTimeout(say, 600000); else say();
  }
});
console.error('info  listening on stdio');
console.error('warn  index is 3 days old; rebuilding in the background');
console.error('info  index rebuilt, 18,204 documents');
`;

const text = (description: string): JsonObject => ({ type: 'string', description });

const tools = {
  notes: [
    {
      name: 'find',
      description: 'Finds notes by their words, newest first.',
      annotations: { readOnlyHint: true },
      inputSchema: {
        type: 'object',
        properties: {
          text: text('Words that must all be in the note.'),
          limit: { type: 'integer', minimum: 1, maximum: 50, default: 10, description: 'How many at most.' },
          archived: { type: 'boolean', description: 'Among the archived ones too.' },
          order: { enum: ['newest', 'oldest', 'best match'], default: 'newest' },
        },
        required: ['text'],
      },
    },
    {
      name: 'write',
      description: 'Writes a note. A title that exists already gets a number.',
      inputSchema: {
        type: 'object',
        properties: {
          title: text('One line.'),
          body: text('The note, in Markdown.'),
          tags: { type: 'array', items: { type: 'string' }, description: 'Words to find it by.' },
        },
        required: ['title', 'body'],
      },
    },
    {
      name: 'archive',
      description: 'Puts a note away.',
      annotations: { destructiveHint: true },
      inputSchema: { type: 'object', properties: { id: text('Its number.') }, required: ['id'] },
    },
  ],
  deployer: [
    {
      name: 'deploy',
      description: 'Deploys a version of a service to an environment. Cannot be undone while it runs.',
      annotations: { destructiveHint: true },
      inputSchema: {
        type: 'object',
        properties: {
          service: text('Which service.'),
          version: text('A tag or a commit.'),
          environment: { enum: ['staging', 'prod'] },
        },
        required: ['service', 'version', 'environment'],
      },
    },
    {
      name: 'status',
      description: 'What runs where, in which version.',
      annotations: { readOnlyHint: true },
      inputSchema: { type: 'object', properties: { slow: { type: 'boolean' } } },
    },
  ],
  warehouse: [
    {
      name: 'query',
      description: 'Asks the warehouse one question in SQL and returns the rows.',
      annotations: { readOnlyHint: true },
      inputSchema: { type: 'object', properties: { sql: text('One SELECT.') }, required: ['sql'] },
    },
  ],
} as const;

const serverOf = (name: keyof typeof tools, more: JsonObject = {}): JsonObject => ({
  command: process.execPath,
  args: ['-e', serverText, JSON.stringify(tools[name])],
  ...more,
});

const calls = (name: string, args: JsonObject, said = '') =>
  ({ kind: 'says', text: said, calls: [{ name, args: JSON.stringify(args) }] }) as const;
const says = (said: string) => ({ kind: 'says', text: said }) as const;

/** What the model says next, by what it was asked and how many tools have answered. */
function replyTo({ messages }: JsonObject): ModelReply {
  const said = JSON.stringify(messages);
  const answered = (messages as readonly JsonObject[]).filter(({ role }) => role === 'tool').length;
  if (said.includes('Triage:')) {
    return answered === 0
      ? calls('mcp__notes__find', { text: 'login page' }, 'I look for earlier notes first.')
      : says('The login page was fixed in #412; this reopens it. Assigned to the web team, label “regression”.');
  }
  if (said.includes('Release ')) {
    return answered === 0
      ? calls('mcp__notes__find', { text: 'release 2.4' }, 'What do the notes say of this release?')
      : calls('mcp__deployer__deploy', { service: 'shop', version: '2.4.1', environment: 'prod' });
  }
  if (said.includes('Incident:')) {
    const question = 'Two open incidents match this alert. Which one is it?';
    return calls('clarify', { question, choices: ['INC-311 Checkout is slow', 'INC-318 Payments time out'] });
  }
  return says('Nothing to report.');
}

/** Starts all of it and waits until everything has come to where the pictures want it. */
export async function startScene(t: Test): Promise<Gateway> {
  const authority = await startScriptedServer(t);
  const hub = await startProtectedServer(t, { authorizationServers: [authority.issuer], accepts: authority.accepts });
  const slack = await startPlatform(t, slackApi);
  const model = await startModelServer(t, ({ body }) => replyTo(body));
  const place = { deliver: 'slack', deliver_extra: { chat_id: slackApi.chat ?? '' } };
  const toolsets = ['mcp', 'clarify'];
  const config = {
    inspector: { port: 0 },
    agent: {
      runner: 'model',
      concurrency: 3,
      model: { provider: 'openai-compatible', base_url: model.url, api_key: 'k', name: 'm' },
    },
    platforms: {
      slack: { enabled: true, api_base: slack.base, ...slackApi.options, retries: { max_attempts: 1 } },
      telegram: { enabled: true, api_base: 'http://127.0.0.1:9', token: '1:not-a-real-token' },
      webhook: adapterOf(
        {
          issues: {
            filters: [{ field: 'action', in: ['opened', 'reopened'] }],
            prompt: 'Triage: {title}',
            toolsets,
            ...place,
          },
          releases: { prompt: 'Release {version} of {service}', toolsets, ...place },
          incidents: { prompt: 'Incident: {title}', toolsets, ...place },
          deploys: {
            coalesce: { key: '{service}/{environment}', window_seconds: 600, max_wait_seconds: 3600 },
            prompt: 'Deployed {service}',
            ...place,
          },
          alerts: { prompt: '{severity}: {title}', deliver_only: true, ...place },
          'nightly-reports-of-the-northern-region': { prompt: 'Report {n}', deliver: 'log' },
        },
        { secret },
      ),
    },
  };
  const jobs = {
    jobs: [
      {
        id: 'digest',
        name: 'morning digest',
        schedule: '0 7 * * *',
        timezone: 'Europe/Berlin',
        prompt: 'Summarise the night for the team',
        deliver: 'slack',
      },
      {
        id: 'sweep',
        name: 'sweep stale branches',
        schedule: '@weekly',
        prompt: 'List branches without commits for 60 days',
        deliver: 'log',
      },
      {
        id: 'ping',
        name: 'status page',
        schedule: 'every 15m',
        prompt: 'Look at the status page',
        deliver: 'log',
        enabled: false,
      },
    ],
  };
  const home = makeHome(t, { 'cron/jobs.json': JSON.stringify(jobs) });
  const gateway = await startGateway(
    t,
    {
      notes: serverOf('notes', { trust: 'full' }),
      deployer: serverOf('deployer', { trust: 'untrusted' }),
      'warehouse-of-the-northern-region': serverOf('warehouse', { trust: 'full' }),
      calendar: { command: process.execPath, args: ['-e', 'process.exit(3)'] },
      hub: { url: hub.url, auth: 'oauth' },
      archive: serverOf('warehouse', { enabled: false }),
    } as never,
    { config, home },
  );
  await gateway.reaches('hub', 'needsLogin');
  for (const server of ['notes', 'deployer', 'warehouse-of-the-northern-region'])
    await gateway.reaches(server, 'connected');
  await eventually(
    async () => JSON.stringify(await gateway.control.call('deliveries.targets')).includes('"connected"') || undefined,
  );
  let sent = 0;
  const send = (route: string, payload: JsonObject) => {
    sent += 1;
    return postSigned(`${gateway.daemon.url}/webhooks/${route}`, payload, {
      secret,
      id: `${route.slice(0, 7)}-${7_400 + sent * 13}`,
    });
  };
  const settled = (status: string, route: string) =>
    eventually(
      async () =>
        ((await gateway.control.call('webhook.deliveries', { limit: 1, route, status })) as unknown as unknown[])
          .length > 0 || undefined,
    );

  for (const n of [1, 2]) await send('nightly-reports-of-the-northern-region', { n });
  await eventually(
    async () =>
      ((await gateway.control.call('runs.list', { limit: 9 })) as unknown as { status: string }[]).every(
        ({ status }) => status === 'delivered',
      ) || undefined,
  );
  await send('issues', { action: 'reopened', title: 'Login page is blank on Safari', number: 418 });
  await settled('delivered', 'issues');
  await send('issues', { action: 'labeled', title: 'Login page is blank on Safari', number: 418 });
  slack.scripts.push({ status: 200, json: { ok: false, error: 'is_archived' } });
  await send('alerts', { severity: 'warning', title: 'Disk of db-3 is 91 % full' });
  await send('alerts', { severity: 'info', title: 'Certificate renewed' });
  slack.scripts.push('takenThenReset');
  await send('alerts', { severity: 'critical', title: 'Checkout answers 502' });
  await postSigned(
    `${gateway.daemon.url}/webhooks/alerts`,
    { title: 'x' },
    { secret: 'not-the-secret-of-this-route', id: 'alerts-forged' },
  );
  for (const version of ['2.4.0', '2.4.1', '2.4.1-hotfix'])
    await send('deploys', { service: 'shop', environment: 'prod', version });
  await send('releases', { service: 'shop', version: '2.4.1' });
  await send('incidents', { title: 'Checkout answers 502' });
  await eventually(async () => (await gateway.approvals()).length === 2 || undefined);
  return gateway;
}
