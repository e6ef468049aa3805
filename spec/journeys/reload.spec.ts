import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import { askCli, runCli, startBlocked, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { httpServers, noUws } from '../support/http-servers.ts';
import { eventually } from '../support/mcp/gateway.ts';
import { postSigned } from '../support/sign.ts';
import { cliJson, secret, webhookConfig } from '../support/webhook-home.ts';

/** A port that somebody else holds until the spec ends, or lets go of it. */
function takePort(t: Test): Promise<{ readonly port: number; release(): Promise<void> }> {
  return new Promise((resolve) => {
    const server = createServer();
    const release = () => new Promise<void>((done) => server.close(() => done()));
    t.teardown(release);
    server.listen(0, '127.0.0.1', () => {
      const at = server.address();
      resolve({ port: typeof at === 'object' && at !== null ? at.port : 0, release });
    });
  });
}

t.test(
  'SUB-2 · SUB-4 · SUB-5 · the last good subscriptions outlive a reload while their file is corrupt',
  async (t) => {
    const home = makeHome(t, { 'config.yaml': webhookConfig('        fixed: {}\n') });
    const { url, line } = await startDaemon(t, home.path);
    const created = (await cliJson(home.path, 'webhook', 'subscribe', 'sub')) as { secret: string };
    home.write('config.yaml', webhookConfig('        other: {}\n'));
    // A disk that was full leaves a file of no bytes.
    for (const text of ['{ broken', '']) {
      home.write('webhook_subscriptions.json', text);
      t.equal((await askCli(['gateway', 'reload'], home.path)).code, 0);

      t.equal((await postSigned(`${url}/webhooks/sub`, {}, { secret: created.secret })).status, 202);
      t.match((await askCli(['webhook', 'test', 'sub'], home.path)).stdout, /HTTP 202/);
      t.match(await cliJson(home.path, 'webhook', 'list'), [
        { name: 'other' },
        { name: 'sub' },
        { name: 'webhook_subscriptions.json', problem: /not a JSON object.*after a start none/ },
      ]);
      t.match((await askCli(['webhook', 'subscribe', 'next'], home.path)).stderr, /\[subscriptions-corrupt\]/);
      t.equal(readFileSync(`${home.path}/webhook_subscriptions.json`, 'utf8'), text, 'not overwritten');
    }
    t.ok(await line(({ level, message }) => level === 'error' && message.includes('not a JSON object')));
  },
);

t.test(
  'CFG-2 · CLI-2 · status and doctor say that the configuration on disk is refused, until it is corrected',
  async (t) => {
    const good = webhookConfig('        one: {}\n');
    const home = makeHome(t, { 'config.yaml': good });
    await startDaemon(t, home.path);
    t.match((await askCli(['gateway', 'status'], home.path)).stdout, /^config +in force/m);

    const folder = { isFolder: true };
    for (const [broken, finding] of [
      [webhookConfig('        one: {delivr: log}\n'), /config\.yaml:\d+:\d+: .*delivr.*\[unknown-key\]/],
      ['platforms: {webhook: [', /config\.yaml:\d+:\d+: .*\[yaml-syntax\]/],
      // A disk that was full leaves a file of no bytes.
      ['', /config\.yaml: is empty, as a write that was cut off leaves it; .*write \{\}/],
      [undefined, /config\.yaml: is gone; put it back, or write \{\}/],
      [folder, /config\.yaml: is a folder, where a file belongs/],
    ] as const) {
      rmSync(`${home.path}/config.yaml`, { recursive: true, force: true });
      if (typeof broken === 'object') mkdirSync(`${home.path}/config.yaml`);
      else if (broken !== undefined) home.write('config.yaml', broken);
      const refused = await askCli(['gateway', 'reload'], home.path);
      t.equal(refused.code, 1);
      t.match(refused.stderr, finding, 'named by the answer');
      t.match(refused.stderr, /the last good one stays in force \[reload-refused\]/);
      t.match(await askCli(['config', 'check'], home.path), { code: 1, stdout: finding });
      const { stdout } = await askCli(['gateway', 'status'], home.path);
      t.match(stdout, /^config +.*refused; the last good one stays in force\n {9}.*`agent config check`/m);
      t.match(stdout, finding);
      t.match(await cliJson(home.path, 'gateway', 'status'), { config: { in_force: false, fault: finding } });
      const doctor = await askCli(['doctor', '--offline', '--json'], home.path);
      t.equal(doctor.code, 1);
      t.match(
        (JSON.parse(doctor.stdout) as readonly { code?: string }[]).find(({ code }) => code === 'config-refused'),
        { area: 'config', level: 'wrong', what: finding },
      );
    }

    rmSync(`${home.path}/config.yaml`, { recursive: true });
    home.write('config.yaml', good);
    t.equal((await askCli(['gateway', 'reload'], home.path)).code, 0);
    t.same(((await cliJson(home.path, 'gateway', 'status')) as { config: unknown }).config, { in_force: true });
  },
);

for (const { front, skip } of httpServers) {
  t.test(
    `ADP-1 · CFG-2 · a reload to an address that is taken changes nothing and says so (${front})`,
    { skip },
    async (t) => {
      const taken = await takePort(t);
      const more = `gateway: {front: ${front}}`;
      const home = makeHome(t, { 'config.yaml': webhookConfig('        one: {}\n', { more }) });
      const { url, line } = await startDaemon(t, home.path);
      home.write('config.yaml', webhookConfig('        two: {}\n', { more, port: taken.port }));

      const refused = await askCli(['gateway', 'reload'], home.path);
      t.equal(refused.code, 1);
      t.match(
        refused.stderr,
        new RegExp(`cannot bind 127\\.0\\.0\\.1:${taken.port}.*stays in force.*\\[reload-refused\\]`),
      );
      t.equal((await postSigned(`${url}/webhooks/one`, {}, { secret })).status, 202, 'still there');
      t.equal((await postSigned(`${url}/webhooks/two`, {}, { secret })).status, 404, 'the old routes with it');
      t.match(await cliJson(home.path, 'gateway', 'status'), {
        config: { in_force: false, fault: /cannot bind.*\[address-unavailable\]/ },
        webhook: { url, fault: /cannot bind.*\[address-unavailable\]/ },
      });
      const { stdout } = await askCli(['gateway', 'status'], home.path);
      t.match(stdout, /^config +the one on disk is refused; the last good one stays in force\nwebhook /m);
      t.equal(stdout.match(/cannot bind.*\[address-unavailable\]/g)?.length, 1, 'told once');
      const doctor = JSON.parse((await askCli(['doctor', '--offline', '--json'], home.path)).stdout);
      t.match(
        (doctor as readonly { code?: string }[]).find(({ code }) => code === 'config-refused'),
        { level: 'wrong', what: /cannot bind/ },
      );
      t.ok(await line(({ level, message }) => level === 'error' && message.includes('[address-unavailable]')));

      home.write('config.yaml', webhookConfig('        one: {}\n', { more }));
      t.equal((await askCli(['gateway', 'reload'], home.path)).code, 0, 'back to where it stands');
      const back = await cliJson(home.path, 'gateway', 'status');
      t.notMatch(back, { webhook: { fault: /./ } });
      t.match(back, { config: { in_force: true } });

      home.write('config.yaml', webhookConfig('        two: {}\n', { more, port: taken.port }));
      await taken.release();
      const moved = await askCli(['gateway', 'reload'], home.path);
      t.equal(moved.code, 0, moved.stderr);
      const next = `http://127.0.0.1:${taken.port}`;
      t.equal((await postSigned(`${next}/webhooks/two`, {}, { secret })).status, 202);
      await t.rejects(fetch(`${url}/health`), 'nobody listens at the old address');
      t.match(await cliJson(home.path, 'gateway', 'status'), { webhook: { url: next } });

      const other = front === 'uws' || noUws !== false ? 'node' : 'uws';
      home.write(
        'config.yaml',
        webhookConfig('        two: {}\n', { more: `gateway: {front: ${other}}`, port: taken.port }),
      );
      t.equal((await askCli(['gateway', 'reload'], home.path)).code, 0, 'another HTTP server on the same port');
      t.equal((await postSigned(`${next}/webhooks/two`, {}, { secret })).status, 202);

      home.write(
        'config.yaml',
        webhookConfig('        two: {}\n').replace('enabled: true\n    \n', 'enabled: false\n'),
      );
      t.equal((await askCli(['gateway', 'reload'], home.path)).code, 0, 'switched off');
      t.match(await cliJson(home.path, 'gateway', 'status'), { webhook: { enabled: false, url: null } });
      await t.rejects(fetch(`${next}/health`));
    },
  );
}

t.test('CFG-3 · CLI-5 · broken routes keep the adapter closed, not the daemon that has other work', async (t) => {
  const broken = '        bad: {deliver_only: true}\n';
  const off = makeHome(t, {
    'config.yaml': webhookConfig(broken).replace('enabled: true\n    \n', 'enabled: false\n'),
  });
  off.write('state/data.mdb', 'this is no store');
  t.teardown(() => runCli(['gateway', 'stop'], off.path));
  const started = await runCli(['gateway'], off.path);
  t.equal(started.code, 0, started.stderr);
  t.match(started.stdout, /webhooks are not enabled/);
  t.match(started.stderr, /nothing is accepted until .*\[journal-corrupt\]/);
  for (const words of [['events'], ['runs', 'list', '--json'], ['deliveries', 'retry', '--all']])
    t.match(await askCli(words, off.path), { code: 1, stdout: '', stderr: /\[journal-corrupt\]$/m }, words.join(' '));

  const servers = 'mcp_servers: {s: {command: "true", enabled: false}}';
  const home = makeHome(t, { 'config.yaml': webhookConfig(broken, { more: servers }) });
  t.teardown(() => runCli(['gateway', 'stop'], home.path));
  const closed = await runCli(['gateway'], home.path);
  t.equal(closed.code, 0, closed.stderr);
  t.match(closed.stderr, /deliver-only-needs-target/);
  t.match(await cliJson(home.path, 'gateway', 'status'), {
    webhook: { enabled: true, url: null, fault: /route "bad" sets deliver_only.*\[deliver-only-needs-target\]/ },
  });
  t.match((await askCli(['gateway', 'status'], home.path)).stdout, /enabled, does not listen\n.*deliver-only/);
  t.match(readFileSync(`${home.path}/logs/gateway.log`, 'utf8'), /"level":"error".*the webhook adapter does not start/);
  home.write(
    'config.yaml',
    webhookConfig(broken, {
      more: 'mcp_servers: {s: {command: "true", enabled: false}, more: {command: "true", enabled: false}}',
    }),
  );
  const incomplete = await askCli(['gateway', 'reload'], home.path);
  t.equal(incomplete.code, 1, 'still broken');
  t.match(incomplete.stderr, /applied; webhooks still do not listen: .*deliver-only.*\[reload-incomplete\]/);
  t.equal(((await cliJson(home.path, 'mcp', 'list')) as unknown[]).length, 2, 'the added server is in force');
  t.equal((await askCli(['mcp', 'disable', 's'], home.path)).code, 0, 'in force too');

  home.write('config.yaml', webhookConfig('        good: {}\n', { more: servers }));
  const mended = await askCli(['gateway', 'reload'], home.path);
  t.equal(mended.code, 0, mended.stderr);
  const status = (await cliJson(home.path, 'gateway', 'status')) as { webhook: { url: string } };
  t.equal((await postSigned(`${status.webhook.url}/webhooks/good`, {}, { secret })).status, 202);
  t.notMatch(status, { webhook: { fault: /./ } });
});

t.test('CFG-3 · CLI-5 · a section that cannot be read takes its default, and webhooks wait for it alone', async (t) => {
  const routes = '        one: {}\n';
  const server = 'mcp_servers: {s: {command: cat}}';
  const home = makeHome(t, { 'config.yaml': webhookConfig(routes, { more: `log: {events: some}\n${server}` }) });
  const started = await startBlocked(t, home.path);
  t.match(started, { code: 0, stderr: /"log\.events" must be one of summary, all \[wrong-value\]/ });
  const finding = /config\.yaml:1:7: "log\.events"/;
  t.match(await cliJson(home.path, 'gateway', 'status'), {
    config: { in_force: true, fault: finding },
    webhook: { enabled: true, url: null, fault: finding },
  });
  const [row] = (await cliJson(home.path, 'mcp', 'list')) as { state: string }[];
  t.ok(row !== undefined && row.state !== 'failed', 'the server is started');
  t.match((await askCli(['gateway', 'status'], home.path)).stdout, /^config +in force, but sections .*defaults\n/m);
  const doctor = await askCli(['doctor', '--offline', '--json'], home.path);
  t.match(doctor.stdout, /"log\.events/);
  t.notMatch(doctor.stdout, 'has refused the configuration on disk');

  home.write('config.yaml', webhookConfig(routes, { more: `log: {events: some}\ninspector: 5\n${server}` }));
  t.match(
    await askCli(['gateway', 'reload'], home.path),
    { code: 1, stderr: /and 1 more.*reload-refused/ },
    'another section',
  );
  home.write('config.yaml', webhookConfig(routes, { more: server }));
  // The watch applies it.
  const url = await eventually(
    async () => ((await cliJson(home.path, 'gateway', 'status')) as { webhook: { url: string | null } }).webhook.url,
  );
  t.equal((await postSigned(`${url}/webhooks/one`, {}, { secret })).status, 202);
  home.write('config.yaml', webhookConfig(routes, { more: `log: {events: some}\n${server}` }));
  t.equal((await askCli(['gateway', 'reload'], home.path)).code, 1, 'the last good one stays in force');
  t.equal((await postSigned(`${url}/webhooks/one`, {}, { secret })).status, 202);
});

t.test('CFG-3 · SEC-1 · an inspector that cannot be read stays off, and what work needs ends the start', async (t) => {
  const home = makeHome(t, { 'config.yaml': 'inspector: {enabled: true, port: 0, scrape_tokn: x}\n' });
  t.match(await startBlocked(t, home.path), { code: 0, stderr: /scrape_tokn/ });
  t.match(await cliJson(home.path, 'gateway', 'status'), { inspector: { enabled: false, url: null } });

  // What waits would be delivered nowhere, or run by another agent.
  for (const files of [
    { 'config.yaml': 'platforms: [\n' },
    { 'config.yaml': 'platfroms: {slack: {}}\n' },
    { 'config.yaml': 'agent: {concurency: 8}\n' },
    { 'config.yaml': 'gateway: {multiplex_profiles: true}\n', 'profiles/work/config.yaml': 'agent: [' },
  ]) {
    const blocked = makeHome(t, { ...files, 'logs/gateway.log': 'a line of an earlier run\n' });
    const ended = await runCli(['gateway'], blocked.path);
    t.equal(ended.code, 1, JSON.stringify(files));
    t.match(ended.stderr, /the gateway does not start until its configuration is corrected/);
    t.notMatch(ended.stderr, 'webhook adapter');
    t.notMatch(ended.stderr, 'earlier run', 'the end of the log is that of this start');
  }
});

t.test('CFG-2 · CLI-2 · a changed journal is named as one of the next start', async (t) => {
  const home = makeHome(t, { 'config.yaml': webhookConfig('        one: {}\n') });
  await startDaemon(t, home.path);
  home.write('config.yaml', webhookConfig('        one: {}\n', { more: 'gateway: {journal: memory}' }));
  const later = /gateway\.journal: the new value takes effect at the next start/;
  t.match(await askCli(['gateway', 'reload'], home.path), { code: 0, stdout: later });
  t.match((await askCli(['gateway', 'status'], home.path)).stdout, later);
  t.match(await cliJson(home.path, 'gateway', 'status'), { restart_for: ['gateway.journal'] });
  const rows = JSON.parse((await askCli(['doctor', '--offline', '--json'], home.path)).stdout) as { area: string }[];
  t.match(
    rows.filter(({ area }) => area === 'config' || area === 'store'),
    [
      { code: 'restart-needed', place: 'gateway.journal' },
      { level: 'good', what: /the running gateway uses/ },
    ],
  );
});
