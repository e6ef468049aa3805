import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { commands, runAtHome } from '../../../runtime/control/commands.ts';
import type { AuditRow } from '../../../runtime/control/contract/gateway.ts';
import { isOfHome } from '../../../runtime/control/methods.ts';
import { memoryRows } from '../../support/document-rows.ts';
import { makeHome } from '../../support/home.ts';

const peer = { notify: () => {}, onEnd: () => () => {} };

t.test('CLI-2 · CLI-3 · CLI-5 · CRN-1 · every method that is not of the home says that no gateway runs', async (t) => {
  const { path } = makeHome(t, {
    'config.yaml': 'platforms: {webhook: {secret: a-secret-of-the-home, routes: {x: {}}}}\n',
  });
  const host = { source: { home: path, env: {} } };
  const named = ['actor', 'id', 'job', 'machine', 'name', 'server', 'text', 'uri', 'url'];
  const params = Object.fromEntries(named.map((name) => [name, 'x']));
  for (const [method, command] of commands) {
    // A journal of this gateway alone has no database to look at.
    if (isOfHome(method) || method === 'gateway.database') continue;
    const asked = async () => command(host, params, peer);
    await t.rejects(asked(), { code: 'gateway-not-running' }, method);
  }
});

t.test('SEC-1 · the audit log has what was refused while no gateway ran too, and no secret', async (t) => {
  const home = makeHome(t, { 'config.yaml': 'platforms: {}\n', '.env': 'HELD=Violet-Otter-81\n' });
  const run = (method: string, params: object): Promise<unknown> =>
    runAtHome(method, { ...params }, { source: { home: home.path, env: {} }, peer });
  await t.rejects(run('webhook.remove', { name: 'gone' }), { code: 'subscription-unknown' });
  await t.rejects(run('webhook.remove', { name: 'Violet-Otter-81' }));
  await run('webhook.list', {});
  const rows = (await run('audit.list', { limit: 10 })) as readonly AuditRow[];
  t.match(rows, [
    { what: 'removed a route', on: { name: '[redacted]' }, refused: String },
    { who: 'owner', from: 'terminal', what: 'removed a route', on: { name: 'gone' }, refused: /gone/ },
  ]);
  t.equal(rows.length, 2);
  t.notMatch(readFileSync(join(home.path, 'logs', 'audit.log'), 'utf8'), /Violet/);
  t.match(await run('audit.list', { limit: 1 }), [{ on: { name: '[redacted]' } }], 'the newest');
  t.match(await run('audit.list', { limit: 1, search: 'GONE' }), [{ on: { name: 'gone' } }]);
  for (const wrong of [{ limit: -1 }, { limit: 'all' }, { since: 'yesterday' }, { since: '2026-02-30' }]) {
    await t.rejects(run('audit.list', wrong), { code: 'params-missing' }, JSON.stringify(wrong));
  }
});

t.test('SEC-1 · SCA-3 · a change stays done where the connection to the database ends with an error', async (t) => {
  const home = makeHome(t, {
    'config.yaml': `gateway: {journal: postgres, postgres: {url: 'postgres://db/agent'}}\nplatforms: {webhook: {enabled: true}}\n`,
  });
  const source = { home: home.path, env: {} };
  const rows = memoryRows();
  const connect = async () => ({ ...(await rows.connect()), close: () => Promise.reject(new Error('reset by peer')) });

  const added = runAtHome('webhook.subscribe', { name: 'ci' }, { source, peer, connect });

  t.match(await added, { name: 'ci' });
  const [row] = (await runAtHome('audit.list', {}, { source, peer })) as readonly AuditRow[];
  t.match(row, { what: 'subscribed a route', on: { name: 'ci' } });
  t.equal(row?.refused, undefined);
});

t.test('CLI-6 · OBS-1 · the settings show no known secret, in a list neither, and references as written', async (t) => {
  const home = makeHome(t, {
    'config.yaml': 'agent: {runner: command, command: [run, --as, Violet-Otter-81, "${HELD}", --token=abc-def-123]}\n',
    '.env': 'HELD=Violet-Otter-81\n',
  });
  const source = { home: home.path, env: {} };
  const { settings } = (await runAtHome('config.show', {}, { source, peer })) as {
    readonly settings: readonly object[];
  };
  t.match(
    settings.find((row) => (row as { key?: unknown }).key === 'agent.command'),
    {
      value: ['run', '--as', '[redacted]', '${HELD}', '--token=[redacted]'],
    },
  );
});
