/** Cron jobs against time: missed firings, clocks that are set, changed clocks of a zone, and `kill -9`. */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { digest, fileHolds, type JobView, makeCronHome } from '../support/cron-home.ts';
import { cliJson, webhookConfig } from '../support/webhook-home.ts';

const config = webhookConfig('        gh: {}\n');
const minute = 60_000;
const nine = Date.UTC(2026, 5, 1, 9);

/** Writes its attempt down, and stays during the first one. */
const agent = `cat >/dev/null
echo "$AGENT_EVENT $AGENT_ATTEMPT" >>ran.txt
[ "$AGENT_ATTEMPT" = 1 ] && exec sleep 600
printf done
`;
const slow = (more = ''): string =>
  webhookConfig('        gh: {}\n', { more: `agent: {runner: command, command: [sh, scripts/agent.sh]${more}}` });

const firings = ({ history }: JobView) => history.filter(({ cause }) => cause !== 'note');

t.test('CRN-1 · DUR-1 · kill -9 between the claim and the run loses nothing and fires nothing twice', async (t) => {
  const home = makeCronHome(t, { 'config.yaml': slow(', concurrency: 1'), 'scripts/agent.sh': agent });
  home.setClock(nine - 5 * minute);
  home.jobs([digest]);
  const first = await home.start();
  await cliJson(home.path, 'cron', 'run', 'digest');
  await fileHolds(home, 'ran.txt', 'cron.manual 1');
  // The one place is taken, so that the firing is claimed and its run waits.
  home.setClock(nine);
  await first.line(({ message }) => message === 'cron job fired');
  const claimed = await home.shown('digest', (job) => job.state === 'running' && firings(job).length === 2);
  t.match(firings(claimed), [
    { cause: 'schedule', status: 'cron' },
    { cause: 'manual', status: 'running' },
  ]);
  await first.kill('SIGKILL');
  t.equal(readFileSync(`${home.path}/ran.txt`, 'utf8'), 'cron.manual 1\n');

  // The run by hand was begun and is run once more; that of the schedule was not.
  const second = await home.start();
  await fileHolds(home, 'ran.txt', 'cron.due 1');
  // What was run once more has left its place; that it has arrived is told a moment later.
  const cut = await home.shown('digest', (job) => firings(job)[1]?.status === 'delivered');
  t.match(cut, { state: 'running', history: [{ cause: 'schedule', status: 'running' }] });
  await second.kill('SIGKILL');

  const third = await home.start();
  const job = await home.shown('digest', (found) => firings(found).every(({ status }) => status === 'delivered'));
  t.match(firings(job), [{ cause: 'schedule', due_at: '2026-06-01T09:00:00.000Z' }, { cause: 'manual' }]);
  t.equal(firings(job).length, 2);
  t.equal(readFileSync(`${home.path}/ran.txt`, 'utf8'), 'cron.manual 1\ncron.manual 2\ncron.due 1\ncron.due 2\n');
  t.equal(await third.kill('SIGTERM'), 0);
});

t.test('CRN-3 · the due times that are shown hold one right after a gap that ends at midnight', async (t) => {
  const home = makeCronHome(t, { 'config.yaml': config });
  home.jobs([{ ...digest, schedule: '30 23 * * *', timezone: 'America/Nuuk', created_at: '2026-03-01T00:00:00Z' }]);
  home.setClock(Date.UTC(2026, 2, 28, 2));
  await home.start();
  const { next } = await home.shown('digest', (job) => (job.next as string[]).length > 1);
  t.same((next as string[]).slice(0, 2), ['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z']);
});
