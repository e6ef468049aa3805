/** A system of the user's own follows runs by signed reports, through refusals and through a daemon that is killed. */

import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { entryOf, eventually } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/plain-client.ts';
import { httpApi } from '../support/platforms/described.ts';
import { type FakeRequest, startPlatform } from '../support/platforms/fake-platform.ts';
import { postSigned } from '../support/sign.ts';

const secret = 'reports-secret-reports-secret';
const reportSecret = String(httpApi.options.secret);
const agent = `import { connect } from 'node:net';
let prompt = '';
for await (const chunk of process.stdin) prompt += chunk;
if (prompt.includes('fail')) {
  process.stderr.write('no such build');
  process.exit(1);
}
if (prompt.includes('ask')) {
  const socket = connect(process.env.AGENT_SOCKET);
  const params = { name: 'mcp__peer__write_note', arguments: { text: 'private' } };
  socket.write(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'mcp.call', params }) + '\\n');
  await new Promise((answered) => socket.on('data', (data) => String(data).includes('"id":1') && answered()));
  socket.destroy();
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
  const peer = await started(t);
  const prompt = '{n}';
  const config = {
    agent: { runner: 'command', command: ['node', 'scripts/agent.mjs'] },
    mcp_servers: { peer: entryOf(peer, { trust: 'untrusted' }) },
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
            steps: {
              prompt,
              deliver: 'http',
              on: ['accepted', 'approval', 'finished'],
              toolsets: ['mcp__peer__*'],
            },
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

  // The first report is refused once; the others wait behind it.
  it.receiver.scripts.push({ status: 503 });
  await post('steps', 'ask', 'step');
  const [question] = await eventually(async () => {
    const rows = await it.rows<{ readonly id: string }>('approvals', 'list');
    return rows.length === 1 ? rows : undefined;
  });
  await eventually(() => it.reports('step').length === 3);
  await askCli(['approvals', 'approve', String(question?.id)], it.home.path);
  await eventually(() => it.reports('step').length === 4);
  const steps = it.reports('step').slice(1).map(verified);
  const run_id = it.reports('step')[3]?.headers['webhook-id'];
  t.match(steps, [
    { type: 'run.accepted', data: { status: 'accepted', run_id, route: 'steps' } },
    {
      type: 'run.approval',
      data: {
        status: 'waiting for approval',
        run_id,
        question: { id: question?.id, kind: 'tool', server: 'peer', tool: 'mcp__peer__write_note' },
        text: /waits for an approval to call mcp__peer__write_note: agent approvals show /,
      },
    },
    { type: 'run.finished', data: { run_id, text: 'Fine: ask' } },
  ]);
  t.notMatch(JSON.stringify(steps), /private/);
  const written = await it.rows<Row & { readonly reports?: string }>('deliveries', 'list');
  t.same(
    written.filter(({ delivery_id }) => delivery_id === 'step').map(({ reports }) => reports),
    ['approval', 'accepted', undefined],
    'the list is by id',
  );

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
