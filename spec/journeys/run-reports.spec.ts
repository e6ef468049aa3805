/** A system of the user's own follows runs by signed reports, through refusals and through a daemon that is killed. */

import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { eventually } from '../support/mcp/gateway.ts';
import { httpApi } from '../support/platforms/described.ts';
import { type FakeRequest, startPlatform } from '../support/platforms/fake-platform.ts';
import { postSigned } from '../support/sign.ts';

const secret = 'reports-secret-reports-secret';
const reportSecret = String(httpApi.options.secret);
const agent = `let prompt = '';
for await (const chunk of process.stdin) prompt += chunk;
if (prompt.includes('fail')) {
  process.stderr.write('no such build');
  process.exit(1);
}
process.stdout.write('Fine: ' + prompt.trim());
`;

interface Row {
  readonly id: string;
  readonly delivery_id: string;
  readonly status: string;
  readonly attempts: number;
}

async function openReports(t: Test) {
  const home = makeHome(t, { 'scripts/agent.mjs': agent });
  const receiver = await startPlatform(httpApi);
  t.teardown(() => receiver.close());
  const prompt = '{n}';
  const config = {
    agent: { runner: 'command', command: ['node', 'scripts/agent.mjs'] },
    platforms: {
      http: {
        enabled: true,
        url: `${receiver.base}/reports?tenant=acme`,
        secret: reportSecret,
        retries: { max_attempts: 3, base_seconds: 0.05, longest_seconds: 0.2 },
      },
      webhook: {
        enabled: true,
        extra: {
          host: '127.0.0.1',
          port: 0,
          secret,
          routes: {
            all: { prompt, deliver: 'http' },
            finished: { prompt, deliver: 'http', on: ['finished'] },
            failed: { prompt, deliver: 'http', on: ['failed'] },
            direct: { prompt, deliver: 'http', deliver_only: true },
          },
        },
      },
    },
  };
  // JSON is YAML.
  home.write('config.yaml', JSON.stringify(config));
  const rows = async <Value>(...words: readonly string[]): Promise<readonly Value[]> =>
    JSON.parse((await askCli([...words, '--json'], home.path)).stdout) as readonly Value[];
  return {
    home,
    receiver,
    rows,
    reaches: (id: string, status: string): Promise<Row> =>
      eventually(async () =>
        (await rows<Row>('deliveries', 'list')).find((row) => row.delivery_id === id && row.status === status),
      ),
    /** Resolves once a run has ended in a status. */
    ended: (id: string, status: string): Promise<Row> =>
      eventually(async () =>
        (await rows<Row>('runs', 'list')).find((row) => row.delivery_id === id && row.status === status),
      ),
    reports: (id: string): readonly FakeRequest[] =>
      receiver.requests.filter(({ json }) => json.data.delivery_id === id),
  };
}

/** The report as the library of Standard Webhooks accepts it; throws where the signature is wrong. */
function verified(report: FakeRequest | undefined): JsonObject {
  return new Webhook(reportSecret).verify(report?.text ?? '', report?.headers as Record<string, string>) as JsonObject;
}

t.test('DLV-6 · DUR-1 · runs are reported with a signature, each end once, also through kill -9', async (t) => {
  const it = await openReports(t);
  const daemon = await startDaemon(t, it.home.path);
  const post = (route: string, n: string, id: string, { url } = daemon) =>
    postSigned(`${url}/webhooks/${route}`, { n }, { secret, id });

  t.equal((await post('all', 'build', '1')).status, 202);
  const row = await it.reaches('1', 'delivered');
  const [finished] = it.reports('1');
  t.match(verified(finished), {
    type: 'run.finished',
    data: { status: 'finished', text: 'Fine: build', run_id: row.id, route: 'all', event: 'push', attempts: 1 },
  });
  t.equal(finished?.headers['webhook-id'], row.id);

  await post('all', 'fail', '2');
  const notice = await it.reaches('2', 'delivered');
  const [failed] = it.reports('2');
  t.match(verified(failed), {
    type: 'run.failed',
    data: {
      status: 'failed',
      run_id: notice.id.replace('.failed', ''),
      reason: /no such build/,
      text: /^Run failed: /,
    },
  });
  t.equal(failed?.headers['webhook-id'], notice.id);

  // `on` leaves the other end out; what comes later shows that nothing was sent before it.
  await post('finished', 'fail', '3');
  await it.ended('3', 'failed');
  await post('failed', 'build', '4');
  await it.ended('4', 'delivered');
  t.equal((await post('direct', 'now', '5')).status, 200);
  t.match(verified(it.reports('5')[0]), { type: 'event.accepted', data: { status: 'accepted', text: 'now' } });
  t.same([it.reports('3'), it.reports('4')], [[], []]);

  it.receiver.scripts.push({ status: 503 });
  await post('all', 'again', '6');
  t.match(await it.reaches('6', 'delivered'), { attempts: 2 });
  const tries = it.reports('6');
  t.equal(tries.length, 2);
  for (const one of tries) t.match(verified(one), { data: { text: 'Fine: again' } });
  t.equal(tries[0]?.headers['webhook-id'], tries[1]?.headers['webhook-id']);
  t.equal(tries[0]?.text, tries[1]?.text);

  it.receiver.scripts.push('hang');
  const arrived = it.receiver.arrival();
  await post('all', 'killed', '7');
  await arrived;
  daemon.kill('SIGKILL');
  await daemon.exited;
  await startDaemon(t, it.home.path);
  t.match(await it.reaches('7', 'delivered'), { status: 'delivered' });
  const [before, after] = it.reports('7');
  t.equal(before?.headers['webhook-id'], after?.headers['webhook-id']);
  t.equal(it.receiver.world.messages.filter(({ text }) => text === 'Fine: killed').length, 1);
  t.notMatch(JSON.stringify([...daemon.log]), reportSecret.slice('whsec_'.length));
});
