/** Cron jobs in the real daemon: by the schedule, by webhooks, by hand, of several profiles, and edited meanwhile. */

import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { digest, makeCronHome } from '../support/cron-home.ts';
import { askCli, type Daemon } from '../support/daemon.ts';
import { postSigned } from '../support/sign.ts';
import { cliJson, secret, webhookConfig } from '../support/webhook-home.ts';

interface Node {
  readonly id: string;
  readonly machine: string;
  readonly state: string;
  readonly children: readonly Node[];
}

const routes = '        go: {cron_job: digest, prompt: "context {n}"}\n        gone: {cron_job: nobody}\n';
const responses = ({ log }: Daemon): string[] =>
  log.flatMap(({ message }) => (message.startsWith('response: ') ? [message] : []));

/** A chart that has just begun, or heard of a change, plans for a moment. */
const isPlanned = ({ state }: Node): boolean => state !== 'planning';

/** The charts of the jobs, as `inspect tree` has them. */
async function charts(home: string): Promise<readonly Node[]> {
  const tree = (await cliJson(home, 'inspect', 'tree')) as Node;
  const pool = tree.children.find(({ id }) => id === 'gateway')?.children.find(({ id }) => id === 'gateway/cronJobs');
  return pool?.children ?? [];
}

t.test('CRN-1 · INS-1 · CON-4 · a job is fired when it is due and can be seen all the while', async (t) => {
  const home = makeCronHome(t, { 'config.yaml': webhookConfig(routes) });
  home.setClock(Date.UTC(2026, 5, 1, 8, 59, 58));
  home.jobs([digest]);
  const daemon = await home.start();
  await daemon.line(({ message }) => message === 'cron job fired');
  const { history, next } = await home.shown('digest', ({ state }) => state === 'scheduled');
  t.match(history, [{ cause: 'schedule', status: 'delivered', due_at: '2026-06-01T09:00:00.000Z' }]);
  t.equal((next as string[])[0], '2026-06-02T09:00:00.000Z');
  t.same(responses(daemon), ['response: Sum up.']);

  t.match(await charts(home.path), [{ id: 'cronJobs/default/j', machine: 'cronJob', state: 'scheduled' }]);
  const shown = (await cliJson(home.path, 'inspect', 'show', 'cronJobs/default/j')) as { steps: JsonObject[] };
  t.match(shown, {
    machine: 'cronJob',
    context: { job: 'j', profile: 'default', dueAtMs: Date.UTC(2026, 5, 2, 9) },
    description: /Waits for the next due time/,
  });
  t.same(
    shown.steps.map(({ from, to }) => `${String(from)} → ${String(to)}`).slice(-4),
    ['planning → claimed', 'claimed → running', 'running → planning', 'planning → scheduled'],
    'it was told that its run had ended',
  );
  t.match(await cliJson(home.path, 'gateway', 'status'), { actors: { cronJob: 1 } });
  t.match(await cliJson(home.path, 'runs', 'list', '--route', 'cron/digest'), [{ status: 'delivered' }]);
  t.match(await askCli(['events', 'replay', 'latest'], home.path), {
    code: 1,
    stderr: /cron-.* has no payload: it is a firing of the cron job digest, which `agent cron run j` fires again/,
  });
});

t.test('CRN-2 · DUR-2 · schedule, webhook and hand fire one job; a paused or disabled one is dropped', async (t) => {
  const home = makeCronHome(t, { 'config.yaml': webhookConfig(routes) });
  home.setClock(Date.UTC(2026, 5, 1, 8));
  home.jobs([digest]);
  const daemon = await home.start();
  const post = (id: string, route = 'go') => postSigned(`${daemon.url}/webhooks/${route}`, { n: 4 }, { secret, id });
  const agent = (...words: string[]) => askCli(words, home.path);

  t.match(await post('w1'), { status: 202, body: { status: 'accepted', route: 'go', delivery_id: 'w1' } });
  t.match(await post('w1'), { status: 200, body: { status: 'duplicate' } });
  await daemon.line(({ message }) => message === 'response: Sum up.\n\ncontext 4');
  t.match(await cliJson(home.path, 'cron', 'run', 'digest', '--context', 'Once.'), { run: /./, profile: 'default' });
  await daemon.line(({ message }) => message === 'response: Sum up.\n\nOnce.');
  t.match(
    JSON.parse(readFileSync(`${home.path}/cron/jobs.json`, 'utf8')),
    [{ prompt: 'Sum up.' }],
    'the stored prompt stays as it is',
  );

  t.match((await agent('cron', 'pause', 'digest')).stdout, /^Paused digest/);
  t.equal((await post('w2')).status, 202);
  t.equal((await post('w3', 'gone')).status, 202);
  t.match(await agent('cron', 'run', 'digest'), { code: 1, stderr: /--force.*\[cron-job-paused\]/ });
  home.jobs([{ ...digest, enabled: false }]);
  t.match(await agent('cron', 'run', 'digest'), { code: 1, stderr: /\[cron-job-disabled\]/ });
  t.equal((await post('w4')).status, 202);
  t.equal((await agent('cron', 'run', 'digest', '--force', '--context', 'Forced.')).code, 0);
  await daemon.line(({ message }) => message === 'response: Sum up.\n\nForced.');

  const { history } = await home.shown('digest', ({ history }) => history[0]?.status === 'delivered');
  t.match(history, [
    { cause: 'manual', status: 'delivered' },
    { cause: 'webhook', status: 'ignored', reason: 'cron job "digest" is disabled', delivery_id: 'w4' },
    { cause: 'note', status: 'ignored', reason: 'cron job "digest" is disabled' },
    { cause: 'note', status: 'ignored', reason: 'cron job "digest" is paused' },
    { cause: 'webhook', status: 'ignored', reason: 'cron job "digest" is paused', delivery_id: 'w2' },
    { cause: 'manual', status: 'delivered' },
    { cause: 'webhook', status: 'delivered', delivery_id: 'w1' },
  ]);
  t.equal(history.length, 7);
  t.equal(responses(daemon).length, 3, 'nothing ran twice, and nothing of what was dropped');
  t.match(await cliJson(home.path, 'webhook', 'deliveries', '--route', 'gone'), [
    { delivery_id: 'w3', reason: 'cron job "nobody" does not exist' },
  ]);
  for (const delivery of ['w2', 'w3', 'w4']) {
    t.ok(
      daemon.log.some(({ delivery_id: id, reason }) => id === delivery && /cron job/.test(String(reason))),
      `${delivery} is in the log with its reason`,
    );
  }
});

t.test('CRN-1 · SUB-1 · the file is followed while other processes edit it, and survives a broken edit', async (t) => {
  const home = makeCronHome(t, { 'config.yaml': webhookConfig(routes) });
  home.setClock(Date.UTC(2026, 5, 1, 8));
  const daemon = await home.start();
  const seen = async (fits: (nodes: readonly Node[]) => boolean): Promise<readonly Node[]> => {
    for (;;) {
      const nodes = await charts(home.path);
      if (fits(nodes)) return nodes;
      await wait(20);
    }
  };
  t.same(await charts(home.path), []);
  home.jobs([digest, { ...digest, id: 'never', name: 'never', schedule: '0 0 30 2 *' }]);
  t.match(await seen((nodes) => nodes.length === 2 && nodes.every(isPlanned)), [
    { id: 'cronJobs/default/j', state: 'scheduled' },
    { id: 'cronJobs/default/never', state: 'idle' },
  ]);
  t.match(await daemon.line(({ cron_job: job }) => job === 'never'), { level: 'error', message: /never falls/ });
  const never = await home.shown('never', ({ history }) => history.length > 0);
  t.match(never, { state: 'broken', history: [{ cause: 'note', reason: /never falls/ }] });
  const refused = await askCli(['cron', 'add', 'x', '0 0 31 4 *', '--prompt', 'p'], home.path);
  t.match(refused, { code: 1, stderr: /no chosen month has a day 31.*\[cron-schedule\]/ });

  t.equal((await askCli(['webhook', 'subscribe', 'sub', '--cron-job', 'digest'], home.path)).code, 0);
  home.write('cron/jobs.json', '{');
  await daemon.line(({ message }) => message.includes('no list of jobs'));
  home.write('config.yaml', webhookConfig(`${routes}        more: {}\n`));
  await daemon.line(({ message }) => message === 'configuration reloaded');
  t.equal((await postSigned(`${daemon.url}/webhooks/go`, { n: 1 }, { secret })).status, 202);
  await daemon.line(({ message }) => message === 'response: Sum up.\n\ncontext 1');
  t.match(
    await cliJson(home.path, 'cron', 'list'),
    [{ name: 'digest', state: 'scheduled' }, { name: 'never' }, { name: 'jobs.json', state: 'broken' }],
    'the last good jobs stand, across a reload too',
  );
  t.match(await askCli(['webhook', 'subscribe', 'y', '--cron-job', 'digest'], home.path), {
    code: 1,
    stderr: /correct it.*\[cron-jobs-corrupt\]/,
  });
  t.match(await askCli(['cron', 'pause', 'digest'], home.path), { code: 1, stderr: /\[cron-jobs-corrupt\]/ });

  home.jobs([{ ...digest, id: 'k', name: 'other' }]);
  t.match(await seen(([first]) => first?.id === 'cronJobs/default/k' && isPlanned(first)), [{ state: 'scheduled' }]);
  t.match((await askCli(['webhook', 'subscribe', 'late', '--cron-job', 'digest'], home.path)).stderr, /does not exist/);
});

t.test('PRF-2 · CRN-1 · a job is its profile’s, with its runner, its secrets and its history', async (t) => {
  const home = makeCronHome(t, {
    'config.yaml': webhookConfig('        gh: {}\n', { more: 'gateway: {multiplex_profiles: true}' }),
    'profiles/work/config.yaml': 'agent: {runner: command, command: [sh, -c, "cat; echo; echo in $AGENT_PROFILE"]}\n',
  });
  home.setClock(Date.UTC(2026, 5, 1, 8, 59, 58));
  home.jobs([{ ...digest, prompt: 'At work.' }], 'work');
  home.jobs([{ ...digest, schedule: '0 12 * * *' }]);
  const daemon = await home.start();
  await daemon.line(({ message }) => message === 'response: At work.\nin work');
  t.match(await home.show('digest', '--profile', 'work'), { history: [{ cause: 'schedule' }], profile: 'work' });
  t.match((await home.show('digest')).history, [] as JsonObject[]);
  t.equal((await home.show('digest')).history.length, 0);
  t.match(await cliJson(home.path, 'cron', 'list'), [{ profile: 'default' }, { profile: 'work' }]);
  t.match(await charts(home.path), [{ id: 'cronJobs/default/j' }, { id: 'cronJobs/work/j' }]);
  t.equal((await askCli(['cron', 'remove', 'digest', '--profile', 'work'], home.path)).code, 0);
  t.match(await charts(home.path), [{ id: 'cronJobs/default/j' }]);
});
