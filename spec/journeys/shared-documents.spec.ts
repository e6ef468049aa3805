/**
 * Gateways with homes of their own on one Postgres: what is subscribed, scheduled or logged in to at one is there at the
 * others, without a daemon too.
 */

import t, { type Test } from 'tap';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { entryOf, eventually, startGateway } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { loginByControl } from '../support/oauth/control-login.ts';
import { startProtectedServer } from '../support/oauth/protected-server.ts';
import { paths, startScriptedServer } from '../support/oauth/scripted-server.ts';
import { follow } from '../support/oauth/stage.ts';
import { startPostgres, withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';

const secret = 'shared-secret-shared-secret';
const database = { journal: 'postgres', postgres: { url: '${DATABASE_URL}' } };

function homeOn(t: Test, url: string, files: Readonly<Record<string, string>> = {}): TestHome {
  return makeHome(t, {
    '.env': `DATABASE_URL='${url}'\n`,
    'config.yaml': JSON.stringify({
      gateway: database,
      agent: { runner: 'echo' },
      inspector: { enabled: false },
      platforms: { webhook: { enabled: true, extra: { host: '127.0.0.1', port: 0, secret } } },
    }),
    ...files,
  });
}

t.test(
  'SCA-3 · SUB-1 · CRN-1 · subscriptions and cron jobs of one gateway are those of all',
  { skip: withoutPostgres },
  async (t) => {
    const url = await (await startPostgres(t)).url();
    const old = homeOn(t, url, {
      'webhook_subscriptions.json': JSON.stringify({ old: { secret, prompt: 'old' } }),
      'cron/jobs.json': '[{"id": "j1", "name": "digest", "prompt": "Sum up."}]',
    });
    const other = homeOn(t, url);
    const bare = homeOn(t, url);
    const cli = async (home: TestHome, ...words: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await askCli(words, home.path);
      return code === 0 ? stdout : `${code}: ${stderr}`;
    };
    const subscribe = (home: TestHome, name: string) =>
      cli(home, 'webhook', 'subscribe', name, '--secret', secret, '--prompt', 'run');
    const active = await startDaemon(t, old.path);
    await until(async () => (await postSigned(`${active.url}/webhooks/old`, {}, { secret })).status === 202);
    const reserve = await startDaemon(t, other.path);

    t.match(await subscribe(other, 'late'), /late/);
    t.match(await subscribe(bare, 'bare'), /bare/, 'where no daemon runs');
    for (const name of ['late', 'bare']) {
      await until(async () => (await postSigned(`${active.url}/webhooks/${name}`, {}, { secret })).status === 202);
    }
    t.match(await cli(bare, 'webhook', 'list'), /old.*late.*bare/s);
    // Held where no daemon runs, it is held at all, until it is released at one.
    t.match(await cli(bare, 'webhook', 'hold', 'late'), /^Held late/);
    for (const home of [old, other]) await until(async () => /^late +held/m.test(await cli(home, 'webhook', 'list')));
    const statesOf = async (route: string): Promise<string> => cli(other, 'runs', 'list', '--route', route);
    const earlier = (await cli(other, 'runs', 'list', '--route', 'late', '--json')).match(/"id"/g)?.length ?? 0;
    for (const at of [active, reserve]) await postSigned(`${at.url}/webhooks/late`, {}, { secret });
    await postSigned(`${active.url}/webhooks/old`, { last: true }, { secret });
    await until(async () => !/queued|running|delivering/.test(await statesOf('old')));
    t.equal((await statesOf('late')).match(/queued/g)?.length, 2);
    t.match(await cli(old, 'webhook', 'release', 'late'), /^Released late: 2 runs that waited begin/);
    await until(async () => (await statesOf('late')).match(/delivered/g)?.length === earlier + 2);
    t.match(await cli(bare, 'cron', 'add', 'nightly', '0 3 * * *', '--prompt', 'Tidy up.'), /nightly/);
    await until(async () => /digest.*nightly/s.test(await cli(other, 'cron', 'list')));

    active.kill('SIGKILL');
    await until(async () => /^Fired|run/i.test(await cli(other, 'cron', 'run', 'nightly')));
    t.equal((await postSigned(`${reserve.url}/webhooks/old`, {}, { secret })).status, 202);
    t.equal((await postSigned(`${reserve.url}/webhooks/none`, {}, { secret })).status, 404);
  },
);

t.test('SCA-3 · CLI-2 · without the database a command changes nothing, and says what is missing', async (t) => {
  const home = homeOn(t, 'postgres://me:hunter2@127.0.0.1:1/db');
  for (const words of [
    ['cron', 'add', 'nightly', '0 3 * * *', '--prompt', 'Tidy up.'],
    ['webhook', 'subscribe', 'late', '--prompt', 'run'],
    ['webhook', 'list'],
  ]) {
    const { code, stderr } = await askCli(words, home.path);
    t.match([code, stderr], [1, /postgres:\/\/127\.0\.0\.1:1\/db: the database does not answer.*see that it runs/]);
    t.notMatch(stderr, /hunter2/);
  }
  t.equal((await askCli(['config', 'check'], home.path)).code, 0, 'what needs no database does not ask it');

  const daemon = await startDaemon(t, home.path);
  t.same(
    await Promise.all(
      ['POST', 'GET'].map(async (method) => (await fetch(`${daemon.url}/webhooks/late`, { method })).status),
    ),
    [503, 503],
    'a route may be subscribed as long as nobody knows',
  );
});

t.test(
  'SUB-2 · SCA-3 · a gateway that started without the database learns that nothing is subscribed',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t);
    const way = await postgres.lossy();
    way.block(true);
    const daemon = await startDaemon(t, homeOn(t, way.url(await postgres.url())).path);
    const post = async () => (await fetch(`${daemon.url}/webhooks/unknown`, { method: 'POST' })).status;
    t.equal(await post(), 503);
    way.block(false);
    await until(async () => (await post()) === 404);
  },
);

t.test(
  'SCA-3 · OAU-1 · OAU-2 · a login at one gateway connects the others, one of them renews the tokens, and a logout ends all',
  { skip: withoutPostgres },
  async (t) => {
    const url = await (await startPostgres(t)).url();
    const authority = await startScriptedServer(t);
    const peer = await startProtectedServer(t, {
      authorizationServers: [authority.issuer],
      accepts: authority.accepts,
      scopes: ['mcp:tools'],
    });
    const start = () =>
      startGateway(
        t,
        { hub: { url: peer.url, auth: 'oauth', supports_parallel_tool_calls: true } },
        { home: makeHome(t, { '.env': `DATABASE_URL='${url}'\n` }), config: { gateway: database } },
      );
    const [one, other] = [await start(), await start()];
    await Promise.all([one, other].map((gateway) => gateway.reaches('hub', 'needsLogin')));

    const login = await loginByControl(t, one.home, 'hub', {}, follow);

    t.equal(await login.ended, 'loggedIn');
    await Promise.all([one, other].map((gateway) => gateway.reaches('hub', 'connected')));
    const opened = (): number => peer.seen('initialize').length;
    const sessions = opened();
    authority.expireTokens();
    const answers = await Promise.all([one, other].map((gateway) => gateway.call('mcp__hub__echo', { text: 'x' })));
    t.match(answers, [{ isError: false }, { isError: false }]);
    const renewals = authority.at(paths.token).filter(({ form }) => form.get('grant_type') === 'refresh_token');
    t.equal(renewals.length, 1);
    t.equal(opened(), sessions, 'a renewal elsewhere leaves a session as it is');

    t.match(await other.cli('mcp', 'logout', 'hub'), { code: 0 });
    await Promise.all([one, other].map((gateway) => gateway.reaches('hub', 'needsLogin')));
  },
);

t.test(
  'SCA-3 · TRU-3 · CLI-3 · a question is answered at any gateway, and each can be asked about the others',
  { skip: withoutPostgres },
  async (t) => {
    const url = await (await startPostgres(t)).url();
    const peer = await started(t);
    const start = (node: string) =>
      startGateway(
        t,
        { peer: entryOf(peer, { trust: 'untrusted' }) },
        { home: makeHome(t, { '.env': `DATABASE_URL='${url}'\n` }), config: { gateway: { ...database, node } } },
      );
    const [one, other] = [await start('one'), await start('other')];
    await Promise.all([one, other].map((gateway) => gateway.reaches('peer', 'connected')));
    const nodes = async (gateway: typeof one) =>
      JSON.parse((await gateway.cli('gateway', 'nodes', '--json')).stdout) as Record<string, unknown>[];
    await until(async () => (await nodes(one)).length === 2);
    t.match(await nodes(one), [
      { node: 'one', leader: true, self: true, status: { pid: one.daemon.child.pid } },
      { node: 'other', leader: false, self: false, status: { pid: other.daemon.child.pid } },
    ]);
    t.match((await other.cli('gateway', 'nodes')).stdout, /^GATEWAY.*\n *one +leader .*\n *other \(this one\) .*\n$/s);

    const call = one.call('mcp__peer__write_note', { text: 'x' });
    const [row] = await eventually(async () => {
      const found = JSON.parse((await other.cli('approvals', '--json')).stdout) as { id: string; node: string }[];
      return found.length > 0 ? found : undefined;
    });
    t.match(row, { node: 'one', server: 'peer', tool: 'write_note' });
    const id = row?.id ?? '';
    t.match((await other.cli('approvals', 'show', id)).stdout, /write_note/);
    t.match(await other.cli('approvals', 'approve', id), { code: 0 });
    t.match(await call, { isError: false });
    t.match(await other.cli('approvals', 'approve', id), { code: 1, stderr: /approval-unknown/ });
    t.match((await one.cli('audit', '--json')).stdout, new RegExp(`answered a question.*${id}`, 's'));

    const tree = JSON.parse((await other.cli('--node', 'one', 'inspect', 'tree', '--json')).stdout);
    t.match(tree, { id: String });
    t.match(await other.cli('--node', 'one', 'inspect', 'tree'), {
      code: 0,
      stdout: /^supervisor .*connections\/peer/s,
    });
    t.match(JSON.parse((await other.cli('--node', 'one', 'gateway', 'status', '--json')).stdout), {
      pid: one.daemon.child.pid,
    });
    t.match(await other.cli('--node', 'third', 'gateway', 'status'), {
      code: 1,
      stderr: /no gateway "third".*node-unknown/,
    });
    t.match(await other.cli('--node', 'one', 'mcp', 'call', 'mcp__peer__echo', '{"text":"x"}'), {
      code: 1,
      stderr: /answered by the gateway of the home alone/,
    });
  },
);
