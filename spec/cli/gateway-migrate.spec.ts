/** `agent gateway migrate`, on a real database. */

import t from 'tap';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { startPostgres, withoutPostgres } from '../support/postgres.ts';
import { postSigned } from '../support/sign.ts';

const secret = 'migrate-secret-migrate-secret';

t.test(
  'SCA-1 · the tables of a database are made and brought to this release',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t);
    const url = await postgres.url();
    const home = makeHome(t, {
      '.env': `DATABASE_URL='${url}'\n`,
      'config.yaml': 'gateway: {journal: postgres, postgres: {url: "${DATABASE_URL}"}}\n',
    });
    const migrate = async () => askCli(['gateway', 'migrate'], home.path);
    t.match(await migrate(), { code: 0, stdout: /^The tables are of version \d+ now\.\n$/ });
    await postgres.run(url, `update agent_meta set value = value - 1 where name = 'schema'`);
    t.match(await migrate(), { code: 0, stdout: /now; they were of version \d+\.\n$/ });
    t.match(await migrate(), { code: 0, stdout: /already/ });
    await postgres.run(url, `update agent_meta set value = value - 1 where name = 'schema'`);
    await postgres.run(url, `insert into agent_session values ('s9', 'gw-1', agent_now() + 60000, 9)`);
    t.match(await migrate(), {
      code: 1,
      stderr: /"gw-1"; stop them first \(one that was killed counts for up to 12 seconds\)/,
    });
  },
);

t.test(
  'SCA-1 · SCA-2 · a gateway answers 503 until its tables are migrated, and then by itself no more',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t);
    const url = await postgres.url();
    const home = makeHome(t, {
      '.env': `DATABASE_URL='${url}'\n`,
      'config.yaml': `gateway: {journal: postgres, postgres: {url: "\${DATABASE_URL}"}}
inspector: {enabled: false}
platforms: {webhook: {enabled: true, extra: {host: 127.0.0.1, port: 0, secret: ${secret}, routes: {r: {prompt: p}}}}}
`,
    });
    await askCli(['gateway', 'migrate'], home.path);
    await postgres.run(url, `update agent_meta set value = value - 1 where name = 'schema'`);
    const daemon = await startDaemon(t, home.path);
    await daemon.line(({ message }) => message.includes('run `agent gateway migrate`'));
    const post = async (id: string) => (await postSigned(`${daemon.url}/webhooks/r`, {}, { secret, id })).status;
    t.equal(await post('d-1'), 503);
    t.match(await askCli(['gateway', 'migrate'], home.path), { code: 0 });
    await daemon.line(({ message }) => message.includes('journal writes again'));
    t.equal(await post('d-1'), 202);
  },
);

t.test('SCA-1 · OBS-1 · a URL that would be misread is refused, and its password is shown nowhere', async (t) => {
  const home = makeHome(t, {
    '.env': "DATABASE_URL='postgres://agent:/s3cret@127.0.0.1:1/db'\n",
    'config.yaml': 'gateway: {journal: postgres, postgres: {url: "${DATABASE_URL}"}}\n',
  });
  for (const words of [
    ['gateway', 'migrate'],
    ['journal', 'copy', '--to', 'postgres'],
    ['config', 'check'],
    ['doctor'],
  ]) {
    const { code, stdout, stderr } = await askCli(words, home.path);
    t.equal(code, 1, words.join(' '));
    t.match(stdout + stderr, /gateway\.postgres\.url/);
    t.notMatch(stdout + stderr, /s3cret/);
  }
});

t.test('SCA-1 · a journal in no database has no tables', async (t) => {
  t.match(await askCli(['gateway', 'migrate'], makeHome(t).path), { code: 1, stderr: /gateway\.journal is "lmdb"/ });
});
