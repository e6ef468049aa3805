/** `agent journal copy`, with real gateways on a real database. */

import { readFileSync, renameSync } from 'node:fs';
import t, { type Test } from 'tap';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { httpApi } from '../support/platforms/described.ts';
import { startPlatform } from '../support/platforms/fake-platform.ts';
import { startPostgres, withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';
import { adapterOf } from '../support/webhook-adapter.ts';

const secret = 'copying-secret-copying-secret';

function configured(journal: string, reports: string): string {
  return JSON.stringify({
    gateway: { journal, postgres: { url: '${DATABASE_URL}' } },
    agent: { runner: 'echo' },
    inspector: { enabled: false },
    platforms: {
      http: {
        enabled: true,
        url: reports,
        secret: httpApi.options.secret,
        retries: { max_attempts: 100, base_seconds: 0.05, longest_seconds: 0.2 },
      },
      webhook: adapterOf({ builds: { prompt: 'p', deliver: 'http' } }, { secret }),
    },
  });
}

const copy = (home: TestHome, to: string) => askCli(['journal', 'copy', '--to', to], home.path);

async function idsIn(home: TestHome): Promise<readonly string[]> {
  const { stdout } = await askCli(['events', '--json', '--status', 'delivered'], home.path);
  return JSON.parse(stdout).map((row: { readonly delivery_id: string }) => row.delivery_id);
}

t.test(
  'SCA-1 · a journal is copied into a database and back, with its work',
  { skip: withoutPostgres },
  async (t: Test) => {
    const postgres = await startPostgres(t);
    const url = await postgres.url();
    const receiver = await startPlatform(t, httpApi);
    const gone = await startPlatform(t, httpApi);
    await gone.close();
    const away = `${gone.base}/reports?tenant=acme`;
    const home = makeHome(t, { '.env': `DATABASE_URL='${url}'\n`, 'config.yaml': configured('lmdb', away) });
    const send = async (daemon: { readonly url: string }, id: string) =>
      (await postSigned(`${daemon.url}/webhooks/builds`, {}, { secret, id })).status;

    const first = await startDaemon(t, home.path);
    for (const id of ['d-1', 'd-2', 'd-3']) t.equal(await send(first, id), 202);
    const waiting = async () => JSON.parse((await askCli(['deliveries', '--json'], home.path)).stdout);
    await until(
      async () => (await waiting()).filter((row: { readonly attempts: number }) => row.attempts > 0).length > 0,
    );
    t.match(await copy(home, 'postgres'), { code: 1, stderr: /already runs this home.*agent gateway stop/s });
    await first.kill('SIGKILL');

    home.write('config.yaml', configured('postgres', away));
    const hasty = await startDaemon(t, home.path);
    const uncopied = /^\d runs and deliveries wait in \S+\/state, not in Postgres; stop .*journal copy --to postgres/;
    await hasty.line(({ message }) => uncopied.test(message));
    await hasty.kill('SIGKILL');
    t.match(await copy(home, 'postgres'), { code: 0, stdout: /^\d+ records and \d+ claims are in postgres now/ });
    home.write('config.yaml', configured('postgres', `${receiver.base}/reports?tenant=acme`));
    const second = await startDaemon(t, home.path);
    await until(async () => (await idsIn(home)).length === 3);
    t.equal(await send(second, 'd-2'), 200, 'its id is still claimed');
    t.equal(await send(second, 'd-4'), 202);
    await until(async () => (await idsIn(home)).join() === 'd-4,d-3,d-2,d-1');
    t.notOk(second.log.some(({ message }) => uncopied.test(message)));
    t.match(await copy(home, 'lmdb'), { code: 1, stderr: /already runs this home/ });
    const other = makeHome(t, { '.env': `DATABASE_URL='${url}'\n`, 'config.yaml': configured('lmdb', away) });
    t.match(await copy(other, 'lmdb'), { code: 1, stderr: /a gateway uses this database; stop it/ });
    t.match(await askCli(['webhook', 'subscribe', 'late', '--secret', secret, '--prompt', 'p'], home.path), {
      code: 0,
    });
    await askCli(['gateway', 'stop'], home.path);

    t.match(
      await copy(home, 'postgres'),
      { code: 1, stderr: /differ at ".*the target has newer events.*keep using it.*\[journal-differs\]/s },
      'never over a newer one',
    );
    t.match(await copy(home, 'lmdb'), { code: 1, stderr: /the source has newer events; move \S+\/state aside/ });
    renameSync(`${home.path}/state`, `${home.path}/state-before`);
    t.match(await copy(home, 'lmdb'), { code: 0 });
    t.match(await copy(other, 'lmdb'), { code: 0, stdout: /1 documents were written/ });
    t.match(readFileSync(`${other.path}/webhook_subscriptions.json`, 'utf8'), /"late"/);
    const third = await startDaemon(t, other.path);
    t.equal(await send(third, 'd-4'), 200);
    t.same(await idsIn(other), ['d-4', 'd-3', 'd-2', 'd-1']);
    t.equal(receiver.requests.length, 4, 'nothing was sent twice');
  },
);

t.test('SCA-1 · a copy needs two engines', async (t) => {
  t.match(await askCli(['journal', 'copy'], makeHome(t).path), { code: 2, stderr: /--to postgres or --to lmdb/ });
  t.match(await copy(makeHome(t), 'lmdb'), { code: 1, stderr: /gateway\.postgres\.url is not set/ });
});

t.test('SCA-1 · a home without a journal has nothing to copy', { skip: withoutPostgres }, async (t) => {
  const url = await (await startPostgres(t)).url();
  const home = makeHome(t, {
    '.env': `DATABASE_URL='${url}'\n`,
    'config.yaml': configured('lmdb', 'http://127.0.0.1:1/'),
  });
  t.match(await copy(home, 'postgres'), { code: 1, stderr: /there is no journal to copy/ });
});
