/** A request that was captured on its way is sent again, under another id and in every other form that its signature allows. */

import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { signV2 } from '../../machines/webhook/signature.ts';
import { askCli, type Daemon, startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { signGithub } from '../support/sign.ts';
import { cliJson } from '../support/webhook-home.ts';

const shared = 'a-secret-shared-with-senders';
const standard = `whsec_${Buffer.from('a standard secret of bytes').toString('base64')}`;
const config = `platforms:
  webhook:
    enabled: true
    secret: ${shared}
    extra:
      host: 127.0.0.1
      port: 0
      routes:
        gh: {prompt: x}
        other: {prompt: x}
        std: {secret: "${standard}", prompt: x}
        twins: {prompt: x, allow_identical_bodies: true}
        open: {secret: INSECURE_NO_AUTH, prompt: x}
        scripted: {prompt: x, script: count.sh}
`;

type Headers = Readonly<Record<string, string>>;
interface Request {
  readonly route: string;
  readonly id: string;
  readonly headers: Headers;
  readonly body?: string;
}

const text = '{"n":1}';
const hmac = (signed: string): string => createHmac('sha256', shared).update(signed).digest('hex');
const nowSeconds = (): number => Math.floor(Date.now() / 1_000);
const accepted = { status: 202, body: { status: 'accepted' } };
const duplicate = (id: string) => ({ status: 200, body: { status: 'duplicate', delivery_id: id } });

async function send(daemon: Daemon, { route, id, headers, body = text }: Request) {
  const answer = await fetch(`${daemon.url}/webhooks/${route}`, {
    method: 'POST',
    body,
    headers: { 'x-request-id': id, ...headers },
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

async function start(t: Test): Promise<{ readonly home: TestHome; readonly daemon: Daemon }> {
  const home = makeHome(t, { 'config.yaml': config, 'scripts/count.sh': 'printf x >>count; cat' });
  return { home, daemon: await startDaemon(t, home.path) };
}

const runsOf = async (home: TestHome) => ((await cliJson(home.path, 'runs', 'list')) as readonly unknown[]).length;

/** How each scheme signs the body, and what else the same signature can be sent as. */
function captures(): readonly {
  readonly scheme: string;
  readonly first: Request;
  readonly again: readonly Request[];
}[] {
  const seconds = nowSeconds();
  const v2 = signV2(shared, seconds, text);
  const upper = (v2['x-webhook-signature-v2'] ?? '').toUpperCase();
  const sent = { 'webhook-id': 'm1', 'webhook-timestamp': String(seconds) };
  const signature = new Webhook(standard).sign('m1', new Date(seconds * 1_000), text);
  const unlike = `v1,${Buffer.alloc(32).toString('base64')}`;
  return [
    {
      scheme: 'V2',
      first: { route: 'gh', id: 'v2-1', headers: v2 },
      again: [
        { route: 'gh', id: 'v2-2', headers: v2 },
        { route: 'gh', id: 'v2-3', headers: { ...v2, 'x-webhook-signature-v2': upper } },
        { route: 'other', id: 'v2-4', headers: v2 },
        { route: 'twins', id: 'v2-5', headers: v2 },
      ],
    },
    {
      scheme: 'GitHub',
      first: { route: 'gh', id: 'a-1', headers: signGithub(shared, text) },
      again: [
        { route: 'gh', id: 'a-2', headers: signGithub(shared, text) },
        { route: 'gh', id: 'a-3', headers: { 'x-hub-signature-256': `sha256=${hmac(text).toUpperCase()}` } },
        { route: 'other', id: 'a-4', headers: signGithub(shared, text) },
        { route: 'gh', id: 'a-5', headers: { 'x-webhook-signature': hmac(text) } },
        { route: 'gh', id: '', headers: signGithub(shared, text) },
      ],
    },
    {
      scheme: 'V1',
      first: { route: 'gh', id: 'v1-1', headers: { 'x-webhook-signature': hmac('{"n":2}') }, body: '{"n":2}' },
      again: [
        {
          route: 'other',
          id: 'v1-2',
          headers: { 'x-webhook-signature': hmac('{"n":2}').toUpperCase() },
          body: '{"n":2}',
        },
        { route: 'gh', id: 'v1-3', headers: signGithub(shared, '{"n":2}'), body: '{"n":2}' },
      ],
    },
    {
      scheme: 'Standard Webhooks',
      first: { route: 'std', id: '', headers: { ...sent, 'webhook-signature': signature } },
      again: [
        { route: 'std', id: '', headers: { ...sent, 'webhook-signature': signature, 'x-github-delivery': 's-2' } },
        {
          route: 'std',
          id: '',
          headers: { ...sent, 'webhook-signature': `${unlike} ${signature} ${signature}`, 'x-hosta-delivery': 's-3' },
        },
      ],
    },
  ];
}

t.test(
  'SEC-6 · DUR-1 · a captured request runs once, under whatever id, route or form, and after a crash',
  async (t) => {
    const { home, daemon } = await start(t);
    const all = captures();
    for (const { scheme, first, again } of all) {
      t.match(await send(daemon, first), accepted, scheme);
      for (const request of again) {
        const answer = await send(daemon, request);
        t.match(answer, { status: 200, body: { status: 'duplicate' } }, `${scheme}: ${JSON.stringify(request)}`);
      }
    }
    const [{ again: [captured] = [] } = {}] = all;
    t.match(await daemon.line(({ delivery_id: id }) => id === 'v2-4'), {
      level: 'warn',
      reason: 'same signature as delivery v2-1 of route "gh"',
      message: 'webhook duplicate',
    });

    await daemon.kill('SIGKILL');
    const next = await startDaemon(t, home.path);
    for (const { again } of all) {
      for (const request of again) t.match(await send(next, request), { status: 200, body: { status: 'duplicate' } });
    }

    t.equal(await runsOf(home), all.length);
    t.match(await cliJson(home.path, 'inspect', 'why', captured?.id ?? ''), {
      verdict:
        'Passed over: this delivery id or signature came before, within the hour: same signature as delivery v2-1.',
    });
  },
);

t.test('SEC-6 · PRF-1 · a captured request runs in no other profile that has the same secret', async (t) => {
  const work = '        theirs: {prompt: x, profile: work}\n';
  const home = makeHome(t, {
    'config.yaml': `gateway: {multiplex_profiles: true}\n${config}${work}`,
    'profiles/work/config.yaml': 'platforms: {webhook: {extra: {routes: {own: {prompt: x}}}}}',
  });
  const daemon = await startDaemon(t, home.path);
  const headers = signGithub(shared, text);
  t.match(await send(daemon, { route: 'gh', id: 'first', headers }), accepted);
  for (const route of ['theirs', 'own']) {
    const response = await fetch(`${daemon.url}/p/work/webhooks/${route}`, { method: 'POST', body: text, headers });
    t.match([response.status, await response.json()], [200, { status: 'duplicate' }], route);
  }
});

t.test('SEC-6 · what is signed anew, or not at all, or ignored, is no repetition', async (t) => {
  const { daemon } = await start(t);
  const seconds = nowSeconds();
  const rows: readonly Request[] = [
    { route: 'gh', id: '1', headers: signV2(shared, seconds, text) },
    { route: 'gh', id: '2', headers: signV2(shared, seconds - 1, text) },
    { route: 'gh', id: '3', headers: signGithub(shared, text) },
    { route: 'gh', id: '4', headers: { 'x-gitlab-token': shared } },
    { route: 'gh', id: '5', headers: { 'x-gitlab-token': shared } },
    { route: 'open', id: '6', headers: {} },
    { route: 'open', id: '7', headers: {} },
    { route: 'open', id: '8', headers: signGithub(shared, text) },
    { route: 'twins', id: '9', headers: signGithub(shared, '{"n":9}'), body: '{"n":9}' },
    { route: 'twins', id: '10', headers: signGithub(shared, '{"n":9}'), body: '{"n":9}' },
  ];
  for (const request of rows) t.match(await send(daemon, request), accepted, request.id);
  t.match(await send(daemon, { route: 'gh', id: '3', headers: signGithub(shared, text) }), duplicate('3'));
});

t.test('SEC-6 · LIM-2 · SCR-2 · a captured request runs no script, fills no window and no disk', async (t) => {
  const { home, daemon } = await start(t);
  const captured: Request = { route: 'scripted', id: 'c', headers: signGithub(shared, text) };
  t.match(await send(daemon, captured), accepted);
  for (let n = 0; n < 35; n += 1)
    t.match(await send(daemon, { ...captured, id: `c${n}` }), { body: duplicate(`c${n}`).body });
  t.match(await send(daemon, { ...captured, route: 'twins' }), duplicate('c'), 'nor on a route of equal bodies');

  t.match(await send(daemon, { route: 'scripted', id: 'd', headers: signGithub(shared, '{}'), body: '{}' }), accepted);
  t.equal(readFileSync(`${home.path}/count`, 'utf8'), 'xx');
  t.match(await cliJson(home.path, 'webhook', 'deliveries', '--route', 'scripted'), [
    { delivery_id: 'd' },
    { delivery_id: 'c34', status: 'duplicate', reason: 'same signature as delivery c', alike: { count: 35 } },
    { delivery_id: 'c' },
  ]);
});

t.test('SEC-6 · SUB-4 · DUR-2 · its owner tests a route and replays an event as often as wanted', async (t) => {
  const { home, daemon } = await start(t);
  t.match(await send(daemon, { route: 'gh', id: 'once', headers: signGithub(shared, text) }), accepted);
  for (const words of [
    ['test', 'gh'],
    ['test', 'gh', '--sample', 'issues.opened'],
    ['replay', 'once'],
  ]) {
    for (const round of [1, 2]) {
      t.match((await askCli(['webhook', ...words], home.path)).stdout, /202/, `${words.join(' ')}, round ${round}`);
    }
  }
  t.match(await send(daemon, { route: 'gh', id: 'other', headers: signGithub(shared, text) }), duplicate('other'));
});
