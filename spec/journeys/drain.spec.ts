/** What SIGTERM lets end and what it leaves for the next start. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { askCli, main, runCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { httpServers } from '../support/http-servers.ts';
import { eventually } from '../support/mcp/gateway.ts';
import { postSigned } from '../support/sign.ts';
import { inAllOnly } from '../support/tier.ts';
import { cliJson, secret, webhookConfig } from '../support/webhook-home.ts';

/** Says that it has begun, and stays until it is let go. */
const agent = `import { existsSync, writeFileSync } from 'node:fs';
writeFileSync('began', '');
await new Promise((resolve) => setInterval(() => existsSync('go') && resolve(undefined), 10));
process.stdout.write('done');
process.exit(0);
`;

t.test(
  'COA-3 · CON-2 · DUR-1 · a run under way is ended and delivered, a batch becomes a run of the next start',
  async (t) => {
    const home = makeHome(t, {
      'config.yaml': webhookConfig(
        [
          'slow: {prompt: p, deliver: github_comment, deliver_extra: {repo: a/b, pr_number: "1"}}',
          'burst: {prompt: burst, coalesce: {key: id, window_seconds: 600, max_wait_seconds: 600}}',
        ]
          .map((line) => `        ${line}\n`)
          .join(''),
        { more: 'agent: {runner: command, command: [node, scripts/agent.mjs]}' },
      ),
      'scripts/agent.mjs': agent,
      'scripts/gh.sh': '#!/bin/sh\n[ "$1" = auth ] || cat >> sent\n',
    });
    const first = await startDaemon(t, home.path);
    // A delivery that still waits for its target's connection is left to the next start.
    await eventually(async () => {
      const targets = (await cliJson(home.path, 'deliveries', 'targets')) as { target: string; state: string }[];
      return targets.some(({ target, state }) => target === 'github_comment' && state === 'connected');
    });
    t.equal((await postSigned(`${first.url}/webhooks/slow`, {}, { secret, id: 's' })).status, 202);
    t.equal((await postSigned(`${first.url}/webhooks/burst`, { id: 1 }, { secret, id: 'b' })).status, 202);
    while (!existsSync(`${home.path}/began`)) await wait(10);
    first.kill('SIGTERM');
    await first.line(({ message }) => message.includes('SIGTERM'));
    home.write('go', '');
    t.equal(await first.exited, 0);
    t.ok(existsSync(`${home.path}/sent`), 'its response was sent before the end');
    t.notOk(first.log.some(({ message }) => message.startsWith('drain: time is over')));
    t.match(first.log.at(-1), {
      message: 'stopped; 1 run waits on disk for the next start',
      ...{ runs_waiting: 1, deliveries_waiting: 0 },
    });
    const listed = await askCli(['runs', 'list', '--json'], home.path);
    t.equal(listed.code, 0);
    t.match(listed.stderr, /is not running; these runs are read from its journal on disk\.$/m);
    t.match(JSON.parse(listed.stdout), [
      { route: 'burst', status: 'queued', attempt: 0 },
      { route: 'slow', status: 'delivered', attempt: 1 },
    ]);

    const second = await startDaemon(t, home.path);
    await second.line(({ message, route }) => message === 'run delivered' && route === 'burst');
    const rows = await eventually(async () => {
      const found = (await cliJson(home.path, 'runs', 'list')) as { status: string }[];
      return found.every(({ status }) => status === 'delivered') && found;
    });
    t.same((rows as unknown[])[1], JSON.parse(listed.stdout)[1], 'a row is the same with a gateway');
    t.match(rows, [
      { route: 'burst', status: 'delivered', attempt: 1 },
      { route: 'slow', status: 'delivered', attempt: 1 },
    ]);
  },
);

t.test('CLI-1 · CON-2 · a start waits for a gateway that is stopping', async (t) => {
  const home = makeHome(t, {
    'config.yaml': webhookConfig('        slow: {prompt: p}\n', {
      more: 'inspector: {enabled: false}\nagent: {runner: command, command: [node, scripts/agent.mjs]}',
    }),
    'scripts/agent.mjs': agent,
  });
  const first = await startDaemon(t, home.path);
  await postSigned(`${first.url}/webhooks/slow`, {}, { secret });
  while (!existsSync(`${home.path}/began`)) await wait(10);
  first.kill('SIGTERM');
  await first.line(({ message }) => message.includes('SIGTERM'));
  t.teardown(() => runCli(['gateway', 'stop'], home.path));
  const starting = spawn(process.execPath, [main, 'gateway'], { env: { ...process.env, AGENT_HOME: home.path } });
  let said = '';
  for (const stream of [starting.stdout, starting.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += String(chunk);
      if (said.includes('is stopping')) home.write('go', '');
    });
  }
  const [code] = await once(starting, 'close');
  home.write('go', '');
  t.same([code, await first.exited], [0, 0]);
  t.match(
    said,
    /^The gateway is stopping; it is started again once it has ended\.\n[\s\S]*The gateway runs \(pid \d+\)/,
  );
});

/** Counts its beginnings, and stays when it is told to end until it is let go. */
const reluctant = `import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
for await (const _ of process.stdin);
process.on('SIGTERM', () => {
  writeFileSync('notified', '');
  setInterval(() => existsSync('go') && process.exit(1), 10);
});
appendFileSync('began', process.env.AGENT_ATTEMPT + '\\n');
setInterval(() => {}, 1_000);
`;

t.test(
  'DIS-3 · CON-2 · a run that a person cancelled is not begun again because the gateway stops',
  { skip: inAllOnly },
  async (t) => {
    const home = makeHome(t, {
      'config.yaml': webhookConfig('        gh: {prompt: p}\n', {
        more: 'agent: {runner: command, command: [node, scripts/agent.mjs]}',
      }),
      'scripts/agent.mjs': reluctant,
    });
    const first = await startDaemon(t, home.path);
    await postSigned(`${first.url}/webhooks/gh`, {}, { secret });
    while (!existsSync(`${home.path}/began`)) await wait(10);
    const [run] = (await cliJson(home.path, 'runs', 'list')) as { id: string }[];
    const cancelling = askCli(['runs', 'cancel', String(run?.id)], home.path);
    while (!existsSync(`${home.path}/notified`)) await wait(10);

    first.kill('SIGTERM');
    await first.line(({ message }) => message.includes('SIGTERM'));
    home.write('go', '');

    t.equal(await first.exited, 0);
    await cancelling;
    await startDaemon(t, home.path);
    t.match(await cliJson(home.path, 'runs', 'list'), [{ status: 'cancelled', attempt: 1 }]);
    t.equal(readFileSync(`${home.path}/began`, 'utf8'), '1\n');
  },
);

for (const { front, skip } of httpServers) {
  t.test(`CON-2 · a sender whose script outlasts the drain is asked to come back (${front})`, { skip }, async (t) => {
    const home = makeHome(t, {
      'config.yaml': webhookConfig('        slow: {script: hang.sh, script_timeout_seconds: 600}\n', {
        more: `gateway: {front: ${front}, drain_timeout_seconds: 0}`,
      }),
      'scripts/hang.sh': 'touch began\nsleep 600\n',
    });
    const daemon = await startDaemon(t, home.path);
    const asked = postSigned(`${daemon.url}/webhooks/slow`, {}, { secret });
    while (!existsSync(`${home.path}/began`)) await wait(10);
    daemon.kill('SIGTERM');

    const { status, headers, body } = await asked;
    t.same([status, headers.get('retry-after'), body], [503, '5', { error: 'Service unavailable' }]);
    t.equal(await daemon.exited, 0);
    t.ok(daemon.log.some(({ message, reason }) => message === 'webhook draining' && /stopped/.test(String(reason))));
  });
}
