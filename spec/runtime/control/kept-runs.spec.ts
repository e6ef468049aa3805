/** `agent runs list` and `runs show` where no gateway answers: they read the journal on disk, and change nothing there. */

import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import { open as openLmdb } from 'lmdb';
import t, { type Test } from 'tap';
import { tryLock } from '../../../actors/lock-file.ts';
import { layout } from '../../../actors/store/lmdb-upgrade.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { RunRecord } from '../../../machines/webhook/record.ts';
import { askCli, runCli } from '../../support/daemon.ts';
import { makeHome, type TestHome } from '../../support/home.ts';
import { openJournal } from '../../support/open-journal.ts';
import { plainRun } from '../../support/records.ts';

const run: RunRecord = { ...plainRun, eventKey: 'e1', route: 'gh', queuedAtMs: 1_000 };

/** A home that a gateway has left, with some runs by their keys. */
async function leftHome(t: Test, runs: Readonly<Record<string, Partial<RunRecord>>> = { r1: {} }): Promise<TestHome> {
  const home = makeHome(t, {
    '.env': 'TOKEN=hunter2hunter2\n',
    'webhook_subscriptions.json': '{"hook": {"secret": "of-a-subscription"}}',
  });
  const journal = await openJournal(`${home.path}/state`);
  const event = {
    deliveryId: 'd1',
    route: 'gh',
    profile: 'default',
    event: 'push',
    prompt: 'say hunter2hunter2 of-a-subscription',
  };
  await journal.commit([
    { kind: 'put', collection: 'events', key: 'e1', value: event },
    ...Object.entries(runs).map(([key, more]) => ({
      kind: 'put' as const,
      collection: 'runs' as const,
      key,
      value: { ...run, ...more } as JsonObject,
      dueAtMs: more.endedAtMs === undefined ? 1_000 : null,
    })),
  ]);
  await journal.close();
  return home;
}

const list = (home: TestHome, ...words: string[]) => askCli(['runs', 'list', ...words], home.path);

t.test('COA-3 · CLI-5 · without a gateway the runs are read from the journal on disk', async (t) => {
  const home = await leftHome(t, {
    r1: { status: 'failed', reason: 'no hunter2hunter2', attempt: 1, startedAtMs: 2_000, endedAtMs: 3_000 },
    r2: { status: 'running', attempt: 1 },
    r3: { superseded: 2 },
  });
  const before = stateOf(home);

  const { code, stdout, stderr } = await list(home, '--json');

  t.equal(code, 0);
  const same = { delivery_id: 'd1', route: 'gh', profile: 'default', event: 'push', kind: 'agent' };
  const queued_at = '1970-01-01T00:00:01.000Z';
  t.same(JSON.parse(stdout), [
    { id: 'r3', ...same, status: 'queued', attempt: 0, superseded: 2, queued_at },
    {
      ...{ id: 'r2', ...same, status: 'queued', attempt: 1, superseded: 0, queued_at },
      reason: 'cut off in attempt 1; waits to be taken up again',
    },
    {
      ...{ id: 'r1', ...same, status: 'failed', attempt: 1, superseded: 0, queued_at, reason: 'no [redacted]' },
      started_at: '1970-01-01T00:00:02.000Z',
      ended_at: '1970-01-01T00:00:03.000Z',
    },
  ]);
  t.equal(stderr, `The gateway of ${home.path} is not running; these runs are read from its journal on disk.\n`);
  t.match(
    (await list(home)).stdout,
    /^AGO +STATUS +ROUTE +EVENT +TRY +BATCH +RUN +REASON\n.*queued +gh +push +0 +\+2 +r3/,
  );
  t.match((await list(home, '--status', 'failed')).stdout, /r1/);
  t.notMatch((await list(home, '--status', 'failed')).stdout, /r2|r3/);
  t.match(JSON.parse((await list(home, '--status', 'queued', '--limit', '1', '--json')).stdout), [{ id: 'r3' }]);
  const shown = await askCli(['runs', 'show', 'r1', '--json'], home.path);
  t.match(JSON.parse(shown.stdout), { id: 'r1', prompt: 'say [redacted] [redacted]', response: null });
  t.match(shown.stderr, /read from its journal/);
  t.match(await askCli(['runs', 'show', 'r9'], home.path), { code: 1, stderr: /\[run-unknown\]/ });
  t.same(stateOf(home), before, 'nothing of the home is changed');
});

t.test('COA-3 · a home that has never run has no runs, and is left as it is', async (t) => {
  const home = makeHome(t);

  t.same(await list(home), {
    code: 0,
    stdout: 'No runs.\n',
    stderr: `The gateway of ${home.path} is not running; it has no journal on disk yet, so there are no runs.\n`,
  });
  t.same((await list(home, '--json')).stdout, '[]\n');
  t.same(readdirSync(home.path), []);
});

t.test('COA-3 · a journal in memory leaves no runs', async (t) => {
  const home = await leftHome(t);
  home.write('config.yaml', 'gateway: {journal: memory}\n');

  t.match(await list(home), { code: 0, stdout: 'No runs.\n', stderr: /is kept in memory, so no runs are left\.$/m });
});

t.test('COA-3 · SCA-1 · CLI-2 · a journal in Postgres is not listed as an empty one', async (t) => {
  const home = await leftHome(t);
  home.write('config.yaml', 'gateway: {journal: postgres, postgres: {url: "postgres://u@127.0.0.1:1/d"}}\n');

  t.match(await list(home), { code: 3, stdout: '', stderr: /its journal is in Postgres, which only a gateway reads/ });
  const named = await askCli(['--home', home.path, 'runs', 'list'], home.path);
  t.match(named.stderr, `; start it with \`agent --home ${home.path} gateway\` [gateway-not-running]`);
});

t.test('COA-3 · a gateway that holds the home without answering is named', async (t) => {
  const home = await leftHome(t);
  tryLock(`${home.path}/gateway.lock`);

  const { code, stdout, stderr } = await list(home);

  t.equal(code, 0);
  t.match(stdout, /queued .* r1/);
  t.match(
    stderr,
    new RegExp(`\\(process ${process.pid}\\) does not answer: it is starting or stopping, or it hangs; these runs`),
  );
});

t.test('COA-3 · a journal that a gateway writes to meanwhile is read, and goes on', async (t) => {
  const home = await leftHome(t);
  const journal = await openJournal(`${home.path}/state`);
  t.teardown(() => journal.close());
  const put = (key: string) =>
    journal.commit([{ kind: 'put', collection: 'runs', key, value: { ...run } as JsonObject, dueAtMs: 1 }]);
  await put('r2');

  // A process of its own: LMDB must not be opened twice in one.
  const listed = await runCli(['runs', 'list', '--json'], home.path);

  t.match(JSON.parse(listed.stdout), [{ id: 'r2' }, { id: 'r1' }]);
  t.match(await put('r3'), { kind: 'committed' });
});

t.test('COA-3 · DUR-1 · a journal of another layout is refused with what helps, and left as it is', async (t) => {
  for (const [version, words] of [
    [
      layout - 1,
      /is not running, and .*data\.mdb: the store has an earlier layout, which the next start .* up to date/,
    ],
    [
      layout + 1,
      /is not running, and .*data\.mdb: the store has layout \d+, this gateway knows layout \d+; run the gateway/,
    ],
  ] as const) {
    const home = await leftHome(t);
    const root = openLmdb({ path: `${home.path}/state`, noSubdir: false, encoding: 'binary', maxDbs: 20 });
    await root
      .openDB<Buffer, string>({ name: 'meta', encoding: 'binary' })
      .put('layout', Buffer.from(`{"version":${version}}`));
    await root.close();
    const before = stateOf(home);

    const { code, stdout, stderr } = await list(home);

    t.same([code, stdout], [1, '']);
    t.match(stderr, words);
    t.match(stderr, /\[journal-version\]$/m);
    t.same(stateOf(home), before);
  }
});

t.test('COA-3 · DUR-1 · a damaged journal is refused, and left as it is', async (t) => {
  const home = await leftHome(t);
  truncateSync(`${home.path}/state/data.mdb`, 8_192);
  const before = stateOf(home);

  t.match(await list(home), {
    code: 1,
    stdout: '',
    stderr: /is not running, and .* the store is damaged.*\[journal-corrupt\]/,
  });
  t.same(stateOf(home), before);
});

/** The files of a home's journal with what they hold; the readers' table of LMDB apart. */
function stateOf({ path }: TestHome): Readonly<Record<string, string>> {
  const names = readdirSync(`${path}/state`).sort();
  return Object.fromEntries(
    names.map((name) => [name, name === 'lock.mdb' ? '' : readFileSync(`${path}/state/${name}`, 'base64')]),
  );
}
