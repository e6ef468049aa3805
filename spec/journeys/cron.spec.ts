import t from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { runCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';

t.test('CRN-1 · DUR-1 · CLI-5 · a missed job is made up for at the start, and after `kill -9` not again', async (t) => {
  // Due every five days, the last time a minute ago: no due time falls into this spec.
  const madeAtMs = Date.now() - 5 * 86_400_000 - 60_000;
  const home = makeHome(t, {
    'config.yaml': 'platforms: {webhook: {enabled: true, port: 0, secret: abcdefabcdef}}\n',
    'cron/jobs.json': JSON.stringify([
      {
        id: 'j',
        name: 'digest',
        prompt: 'Sum up.',
        schedule: 'every 5d',
        created_at: new Date(madeAtMs).toISOString(),
      },
      { id: 'n', name: 'never', prompt: 'x', schedule: '0 0 30 2 *' },
    ]),
  });
  const agent = (...words: string[]) => runCli(words, home.path);
  const show = async (job: string) =>
    JSON.parse((await agent('cron', 'show', job, '--json')).stdout) as JsonObject & { history: JsonObject[] };

  const first = await startDaemon(t, home.path);
  await first.line(({ message }) => message === 'run delivered');
  t.match(await show('digest'), {
    state: 'scheduled',
    history: [{ cause: 'schedule', status: 'delivered', reason: /late/ }],
  });
  t.match(await show('never'), { state: 'broken', history: [{ cause: 'note', reason: /never falls/ }] });
  first.kill('SIGKILL');
  await first.exited;

  const second = await startDaemon(t, home.path);
  t.match((await agent('cron', 'pause', 'digest')).stdout, /^Paused/);
  t.match(await agent('cron', 'run', 'digest'), { code: 1, stderr: /--force/ });
  t.equal((await agent('cron', 'resume', 'digest')).code, 0);
  const fired = await agent('cron', 'run', 'digest', '--context', 'Once.');
  t.equal(fired.code, 0, fired.stderr);
  await second.line(({ message }) => message === 'response: Sum up.\n\nOnce.');
  const { history } = await show('digest');
  t.same(
    history.map(({ cause }) => cause),
    ['manual', 'note', 'schedule'],
    'the due time was not fired again',
  );
  second.kill('SIGTERM');
  t.equal(await second.exited, 0);
  t.equal((await agent('cron', 'run', 'digest')).code, 3);
});
