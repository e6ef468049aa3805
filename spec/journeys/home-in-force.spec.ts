import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { askCli, startBlocked, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { eventually } from '../support/mcp/gateway.ts';
import { postSigned } from '../support/sign.ts';
import { cliJson, secret, webhookConfig } from '../support/webhook-home.ts';

t.test('SIG-1 · RTE-1 · a secret whose variable is not set is a refusal and never a key', async (t) => {
  const literal = '${WEBHOOK_SECRET}';
  const home = makeHome(t, { 'config.yaml': webhookConfig('        gh: {}\n').replace(secret, `"${literal}"`) });
  t.match((await startBlocked(t, home.path)).stderr, /refers to "WEBHOOK_SECRET", which is not set.*\.env/);
  await askCli(['gateway', 'stop'], home.path);

  home.write('.env', `WEBHOOK_SECRET=${secret}\n`);
  home.write('webhook_subscriptions.json', JSON.stringify({ sub: { secret: literal } }));
  const { url } = await startDaemon(t, home.path);
  t.equal((await postSigned(`${url}/webhooks/gh`, {}, { secret: literal })).status, 401);
  t.equal((await postSigned(`${url}/webhooks/gh`, {}, { secret })).status, 202);
  t.equal((await postSigned(`${url}/webhooks/sub`, {}, { secret: literal })).status, 404);
  t.match(await cliJson(home.path, 'webhook', 'list'), [
    { name: 'gh' },
    { name: 'sub', problem: /references are not read in the subscriptions file/ },
  ]);
});

t.test('PRF-1 · PRF-2 · work of a profile that is gone fails by that name and sees no other secrets', async (t) => {
  const agent = 'agent: {runner: command, command: [sh, -c, "touch started; exec sleep 600"]}\n';
  const home = makeHome(t, {
    'config.yaml': webhookConfig('        bound: {profile: work}\n', { more: 'gateway: {multiplex_profiles: true}' }),
    '.env': 'KEY=of-the-default-profile\n',
    'profiles/work/config.yaml': agent,
  });
  const first = await startDaemon(t, home.path);
  t.equal((await postSigned(`${first.url}/p/work/webhooks/bound`, {}, { secret })).status, 202);
  while (!existsSync(`${home.path}/profiles/work/started`)) await wait(10);
  await first.kill('SIGKILL');

  rmSync(`${home.path}/profiles/work`, { recursive: true });
  t.match((await startBlocked(t, home.path)).stderr, /the profile "work", which does not exist/);

  home.write(
    'config.yaml',
    webhookConfig('        plain: {}\n', {
      more: 'gateway: {multiplex_profiles: true}\nagent: {runner: command, command: [sh, -c, "echo $KEY"]}',
    }),
  );
  const log = () => readFileSync(`${home.path}/logs/gateway.log`, 'utf8');
  await eventually(async () => log().includes('"run failed"'));
  t.match(log(), /profile \\"work\\" is not configured any more/);
  t.notMatch(log(), 'of-the-default-profile');
});

t.test(
  'PRF-1 · LIF-12 · a profile that is made or removed while the gateway runs is served, or not any more',
  async (t) => {
    const home = makeHome(t, {
      'config.yaml': webhookConfig('        plain: {}\n', { more: 'gateway: {multiplex_profiles: true}' }),
    });
    const { url } = await startDaemon(t, home.path);
    const answers = async (status: number): Promise<void> => {
      while ((await postSigned(`${url}/p/late/webhooks/r`, {}, { secret })).status !== status) await wait(50);
    };
    await answers(404);
    home.write('profiles/late/config.yaml', 'platforms: {webhook: {routes: {r: {prompt: p}}}}\n');
    await answers(202);
    rmSync(`${home.path}/profiles/late`, { recursive: true, maxRetries: 10 });
    await answers(404);
    t.pass('both were noticed');
  },
);

t.test('OBS-1 · FIL-1 · DUR-2 · DLV-3 · what carries a credential is neither stored nor shown', async (t) => {
  const token = 'glpat-abcdefghijklmnopqrst';
  const home = makeHome(t, {
    'config.yaml': webhookConfig(
      [
        `tok: {filters: [{field: headers.X-Gitlab-Token, equals: expected-operand}]}`,
        'auth: {filters: [{field: headers.Authorization, exists: false}]}',
        'direct: {deliver: github_comment, deliver_only: true, prompt: x, deliver_extra: {repo: a/b, pr_number: "1"}}',
      ]
        .map((line) => `        ${line}\n`)
        .join(''),
      { more: 'agent: {runner: command, command: [sh, -c, "cat webhook_subscriptions.json"]}' },
    ),
    '.env': 'GH_TOKEN=value-of-the-token\n',
    'scripts/gh.sh': '#!/bin/sh\necho "bad credentials $GH_TOKEN" >&2\nexit 1\n',
  });
  const daemon = await startDaemon(t, home.path);
  const headers = { 'x-gitlab-token': token, authorization: 'Plain hunter2hunter2' };
  for (const route of ['tok', 'auth']) {
    const answer = await postSigned(`${daemon.url}/webhooks/${route}`, {}, { secret, id: route, headers });
    t.match(answer.body, { status: 'ignored', reason: 'filter' });
  }
  t.equal((await postSigned(`${daemon.url}/webhooks/direct`, {}, { secret, id: 'direct' })).status, 502);
  const created = (await cliJson(home.path, 'webhook', 'subscribe', 'sub')) as { secret: string };
  t.equal((await postSigned(`${daemon.url}/webhooks/sub`, {}, { secret: created.secret })).status, 202);
  await daemon.line(({ message }) => message.startsWith('response: ') && message.includes('created_at'));

  const rows = await eventually(async () => {
    const found = (await cliJson(home.path, 'webhook', 'deliveries')) as { delivery_id: string; reason?: string }[];
    return found.filter(({ reason }) => reason !== undefined).length >= 3 && found;
  });
  const reasons = Object.fromEntries(rows.map(({ delivery_id, reason }) => [delivery_id, reason]));
  t.equal(reasons.tok, 'filter: headers.X-Gitlab-Token equals [redacted] saw [redacted]');
  t.equal(reasons.auth, 'filter: headers.Authorization exists false saw [redacted]');
  t.match(reasons.direct, /bad credentials \[redacted\]/);
  const shown = await Promise.all(['tok', 'direct'].map((id) => cliJson(home.path, 'webhook', 'deliveries', id)));
  const stored = readdirSync(`${home.path}/state`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(`${entry.parentPath}/${entry.name}`, 'latin1'));
  t.match(stored.join(''), 'x-github-event', 'what a replay needs of the head is there to be read');
  const all = [JSON.stringify([rows, shown, daemon.log]), ...stored].join('\n');
  for (const value of [token, 'hunter2', 'expected-operand', 'value-of-the-token']) t.notMatch(all, value, value);
  t.notMatch(JSON.stringify(daemon.log), created.secret, 'a secret of a subscription is learnt too');
});

t.test('DUR-2 · LIM-3 · EVT-1 · an ignored event is replayed with its type and its encoding', async (t) => {
  const home = makeHome(t, { 'config.yaml': webhookConfig('        gh: {events: [issues], prompt: "P {n}"}\n') });
  const daemon = await startDaemon(t, home.path);
  const answer = await postSigned(`${daemon.url}/webhooks/gh`, `payload=${encodeURIComponent('{"n":5}')}`, {
    secret,
    id: 'form',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  t.match(answer.body, { status: 'ignored', event: 'push' });
  // It is answered before it is written down.
  await eventually(async () => ((await cliJson(home.path, 'webhook', 'deliveries')) as unknown[]).length > 0);
  home.write('config.yaml', webhookConfig('        gh: {events: [push], prompt: "P {n}"}\n'));
  t.equal((await askCli(['gateway', 'reload'], home.path)).code, 0);
  const replayed = await askCli(['webhook', 'replay', 'form'], home.path);
  t.match(replayed.stdout, /HTTP 202\n.*"event":"push"/);
  t.match(await daemon.line(({ message }) => message.startsWith('response: ')), { message: /P 5$/ });
});

t.test('LIM-3 · a form that is not UTF-8 keeps its letters in a prompt, to a reader and in a replay', async (t) => {
  const home = makeHome(t, { 'config.yaml': webhookConfig('        shop: {prompt: "P {name} {n}"}\n') });
  const daemon = await startDaemon(t, home.path);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await postSigned(`${daemon.url}/webhooks/shop`, 'name=M%FCller&n=%805', {
    secret,
    id: 'form',
    headers,
  });
  t.equal(answer.status, 202);
  const isRead = ({ message }: { readonly message: string }) => /^response: .*P Müller €5$/s.test(message);
  await daemon.line(isRead);
  t.match((await askCli(['events', 'show', 'form'], home.path)).stdout, '{"name":"Müller","n":"€5"}');
  t.match((await askCli(['webhook', 'replay', 'form'], home.path)).stdout, /HTTP 202/);
  await eventually(async () => daemon.log.filter(isRead).length === 2);
});

t.test('CLI-5 · SUB-1 · CON-4 · list, show and test say what is in force, and the findings of the files', async (t) => {
  const home = makeHome(t, { 'config.yaml': webhookConfig('        one: {}\n') });
  const { url } = await startDaemon(t, home.path);
  await cliJson(home.path, 'webhook', 'subscribe', 'sub');
  home.write('config.yaml', webhookConfig('        two: {deliver: fax}\n        three: {}\n'));

  const rows = (await cliJson(home.path, 'webhook', 'list')) as { name: string; url: string; problem?: string }[];
  t.match(rows, [
    { name: 'one', url: `${url}/webhooks/one` },
    { name: 'sub', url: `${url}/webhooks/sub` },
    { name: /^config\.yaml:\d+$/, problem: /delivers to "fax"/ },
  ]);
  t.equal(rows.length, 3);
  t.equal((await askCli(['webhook', 'show', 'one'], home.path)).code, 0);
  t.match(
    (await askCli(['webhook', 'show', 'three'], home.path)).stderr,
    /no route is named "three"; `agent webhook list` lists them \[route-unknown\]/,
  );
  t.match((await askCli(['webhook', 'test', 'sub'], home.path)).stdout, /HTTP 202/);
});

t.test('SUB-4 · PRF-1 · a subscription of the same name in another profile can be named', async (t) => {
  const home = makeHome(t, {
    'config.yaml': webhookConfig('        fixed: {}\n', { more: 'gateway: {multiplex_profiles: true}' }),
    'profiles/work/config.yaml': '',
    'profiles/home/config.yaml': '',
  });
  const { url } = await startDaemon(t, home.path);
  const agent = (...words: string[]) => askCli(words, home.path);
  for (const flags of [[], ['--profile', 'work'], ['--route-profile', 'home']]) {
    t.equal((await agent('webhook', 'subscribe', 'hook', ...flags)).code, 0);
  }
  t.match(await cliJson(home.path, 'webhook', 'show', 'hook'), { profile: 'default' });
  t.match(await cliJson(home.path, 'webhook', 'show', 'hook', '--profile', 'work'), {
    url: `${url}/p/work/webhooks/hook`,
  });
  t.match((await agent('webhook', 'test', 'hook', '--profile', 'work')).stdout, /HTTP 202/);
  t.match(await cliJson(home.path, 'webhook', 'deliveries'), [{ profile: 'work', route: 'hook' }]);
  t.equal((await agent('webhook', 'remove', 'hook')).code, 0);
  t.match((await agent('webhook', 'test', 'hook')).stderr, /profiles home, work; .*\[route-ambiguous\]/);
  t.equal((await agent('webhook', 'remove', 'hook', '--profile', 'home')).code, 0);
  t.match((await agent('webhook', 'test', 'hook')).stdout, /HTTP 202/, 'the only one of its name');
  t.match((await agent('webhook', 'test', 'hook', '--profile', 'home')).stderr, /\[route-unknown\]/);
});

t.test('CON-2 · DIS-2 · SIGTERM lets a direct delivery that is under way be answered', async (t) => {
  const home = makeHome(t, {
    'config.yaml': webhookConfig(
      '        direct: {deliver: github_comment, deliver_only: true, prompt: x, deliver_extra: {repo: a/b, pr_number: "1"}}\n',
    ),
    'scripts/gh.sh':
      '#!/bin/sh\n[ "$1" = auth ] && exit 0\ntouch sending\nwhile [ ! -e go ]; do sleep 0.02; done\necho sent\n',
  });
  const daemon = await startDaemon(t, home.path);
  const answer = postSigned(`${daemon.url}/webhooks/direct`, {}, { secret, id: 'd' });
  while (!existsSync(`${home.path}/sending`)) await wait(10);
  daemon.kill('SIGTERM');
  // Nobody listens any more once the drain has begun.
  while (
    await fetch(`${daemon.url}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
  )
    await wait(10);
  mkdirSync(`${home.path}/go`);
  t.match((await answer).body, { status: 'delivered', delivery_id: 'd' });
  t.equal(await daemon.exited, 0);
});
