/**
 * The gateway's chart falls over a flaw while a job, a run and deliveries live in it: it is started again in the same
 * process, and everything goes on from what the journal knows.
 */

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { digest, makeCronHome } from '../support/cron-home.ts';
import { startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { commandOf, eventually, folder } from '../support/mcp/gateway.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { startPlatform } from '../support/platforms/fake-platform.ts';
import { slackApi } from '../support/platforms/slack.ts';
import { hasEnded, numbersIn, until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';
import { inAllOnly } from '../support/tier.ts';
import { cliJson, secret, webhookConfig } from '../support/webhook-home.ts';

const support = (name: string): URL => new URL(`../support/${name}.js`, import.meta.url);

/** Stays in its first attempt, and answers in the second. */
const agent = `import { appendFileSync } from 'node:fs';
for await (const _ of process.stdin);
appendFileSync('pids', process.pid + '\\n');
if (process.env.AGENT_ROUTE === 'gh' && process.env.AGENT_ATTEMPT === '1') setInterval(() => {}, 1_000);
else process.stdout.write(process.env.AGENT_ROUTE + ' attempt ' + process.env.AGENT_ATTEMPT);
`;

t.test('INS-1 · DUR-1 · CRN-1 · a gateway whose chart crashes is started again, and loses nothing', async (t) => {
  const slack = await startPlatform(t, slackApi);
  slack.scripts.push({ status: 503 });
  const place = `deliver: slack, deliver_extra: {chat_id: ${slackApi.chat}}`;
  const home = makeCronHome(t, {
    'config.yaml': webhookConfig(
      `        gh: {prompt: p}\n        later: {prompt: p, ${place}}\n        burst: {prompt: p, coalesce: {key: id, window_seconds: 600}}\n`,
      {
        more: 'agent: {runner: command, command: [node, scripts/agent.mjs]}',
      },
    ).replace(
      'platforms:\n',
      `platforms:\n  slack: {enabled: true, api_base: "${slack.base}", token: ${slackApi.options.token}, retries: {base_seconds: 600}}\n`,
    ),
    'scripts/agent.mjs': agent,
  });
  home.setClock(Date.UTC(2026, 5, 1, 8, 50));
  home.jobs([digest]);
  const env = {
    NODE_OPTIONS: `--import ${support('shifted-clock').href}`,
    SPEC_CLOCK_FILE: `${home.path}/clock.txt`,
  };
  const daemon = await startDaemon(t, home.path, env, { entry: support('crash-gateway').pathname, timePasses: true });
  const post = (route: string, id: string, url = daemon.url) =>
    postSigned(`${url}/webhooks/${route}`, { id: 1 }, { secret, id });
  await post('later', 'l');
  await daemon.line(({ message }) => message === 'delivery waiting to retry');
  await post('gh', 'g');
  await until(() => numbersIn(`${home.path}/pids`).length === 2);
  await post('burst', 'b');
  await home.shown('digest', ({ state }) => state === 'scheduled');

  daemon.kill('SIGUSR2');

  await daemon.line(({ message }) => message.includes('gateway crashed: a flaw of the chart'));
  t.match(await home.shown('digest', ({ state }) => state === 'scheduled'), { history: [] });
  home.setClock(Date.UTC(2026, 5, 1, 8, 59, 59));
  await daemon.pass(600_000);
  const all = await eventually(async () => {
    const rows = (await cliJson(home.path, 'runs', 'list')) as { route: string; status: string; attempt: number }[];
    return rows.length === 4 && rows.every(({ status }) => status === 'delivered') ? rows : undefined;
  });
  t.same(
    all.map(({ route, attempt }) => [route, attempt]).sort(),
    [
      ['burst', 1],
      ['cron/digest', 1],
      ['gh', 2],
      ['later', 1],
    ],
    'only what was under way began again',
  );
  // The agent of the first attempt goes.
  await until(() => hasEnded(numbersIn(`${home.path}/pids`)[1] ?? 0));
  t.same(
    slack.world.messages.map(({ text }) => text),
    ['later attempt 1'],
  );
  t.equal(daemon.child.exitCode, null);
  const { webhook } = (await cliJson(home.path, 'gateway', 'status')) as { webhook: { url: string } };
  t.match(await post('gh', 'g', webhook.url), { status: 200, body: { status: 'duplicate' } });
});

t.test('INS-1 · DUR-1 · a sender that waits when the gateway crashes is asked at once to retry', async (t) => {
  const home = makeHome(t, {
    'config.yaml': webhookConfig('        slow: {prompt: p, script: slow.sh}\n', { more: 'agent: {runner: echo}' }),
    'scripts/slow.sh': 'touch begun\nexec sleep 600\n',
  });
  const daemon = await startDaemon(t, home.path, {}, { entry: support('crash-gateway').pathname });
  const answer = postSigned(`${daemon.url}/webhooks/slow`, { id: 1 }, { secret, id: 's' });
  await until(() => existsSync(`${home.path}/begun`));

  daemon.kill('SIGUSR2');

  const { status, headers } = await answer;
  t.match([status, headers.get('retry-after')], [503, /^\d+$/]);
});

t.test(
  'INS-1 · DUR-1 · a commit that lands after the gateway has crashed takes nothing with it',
  { skip: inAllOnly },
  async (t) => {
    const pidFile = join(folder(t), 'pids');
    const server = commandOf(stdioPeer([], { pidFile }));
    const home = makeHome(t, {
      'config.yaml': webhookConfig('        burst: {prompt: p, coalesce: {key: id, window_seconds: 600}}\n', {
        more: `agent: {runner: echo}\ngateway: {journal: memory}\nmcp_servers: ${JSON.stringify({ s: server })}`,
      }),
    });
    const holdFile = `${home.path}/hold`;
    const daemon = await startDaemon(
      t,
      home.path,
      { SPEC_HOLD_FILE: holdFile },
      { entry: support('crash-gateway').pathname, timePasses: true },
    );
    const state = async () => ((await cliJson(home.path, 'mcp', 'list')) as { state: string }[])[0]?.state;
    await eventually(async () => (await state()) === 'connected' || undefined);
    const pids = numbersIn(pidFile);
    await postSigned(`${daemon.url}/webhooks/burst`, { id: 1 }, { secret, id: 'b' });
    home.write('hold', '');
    await daemon.pass(600_000);
    await until(() => existsSync(`${holdFile}.held`));
    rmSync(holdFile);

    daemon.kill('SIGUSR2');

    await daemon.line(({ message }) => message.includes('gateway crashed: a flaw of the chart'));
    const [run] = await eventually(async () => {
      const rows = (await cliJson(home.path, 'runs', 'list')) as { route: string; status: string; attempt: number }[];
      return rows.length > 0 && rows.every(({ status }) => status === 'delivered') ? rows : undefined;
    });
    t.match(run, { route: 'burst', attempt: 1 });
    t.equal(daemon.child.exitCode, null);
    t.equal(await state(), 'connected');
    t.same(numbersIn(pidFile), pids, 'the servers were neither asked nor notified');
    t.same(
      daemon.log.filter(({ level, message }) => level === 'error' && !message.includes('gateway crashed')),
      [],
    );
  },
);
