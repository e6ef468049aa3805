/** `agent gateway migrate`, on a real database. */

import t from 'tap';
import { askCli } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { startPostgres, withoutPostgres } from '../support/postgres.ts';

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
    t.match(await migrate(), { code: 1, stderr: /"gw-1"; stop them first/ });
  },
);

t.test('SCA-1 · a journal in no database has no tables', async (t) => {
  t.match(await askCli(['gateway', 'migrate'], makeHome(t).path), { code: 1, stderr: /gateway\.journal is "lmdb"/ });
});
