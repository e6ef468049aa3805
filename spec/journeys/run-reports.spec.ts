/** A system of the user's own follows runs by signed reports, through refusals and through a daemon that is killed. */

import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { entryOf, eventually } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { httpApi } from '../support/platforms/described.ts';
import { type FakeRequest, startPlatform } from '../support/platforms/fake-platform.ts';
import { slackApi } from '../support/platforms/slack.ts';
import { postSigned } from '../support/sign.ts';
import { inAllOnly } from '../support/tier.ts';
import { adapterOf } from '../support/webhook-adapter.ts';

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
  const receiver = await startPlatform(t, httpApi);
  const slack = await startPlatform(t, slackApi);
  const peer = await started(t);
  const prompt = '{n}';
  const toSlack = { to: 'slack', extra: { chat_id: slackApi.chat ?? '' } };
  const everyStep = ['accepted', 'approval', 'finished', 'failed'];
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
      slack: { enabled: true, api_base: slack.base, ...slackApi.options, home_channel: slackApi.chat ?? '' },
      webhook: adapterOf(
        {
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
          both: {
            prompt,
            deliver: [toSlack, { to: 'http', on: everyStep }],
            on_failure: 'slack',
            toolsets: ['mcp__peer__*'],
          },
          some: {
            prompt,
            deliver: [toSlack, { to: 'http', on: ['accepted'], when: [{ field: 'n', contains: 'urgent' }] }],
          },
        },
        { secret },
      ),
    },
  };
  // JSON is YAML.
  home.write('config.yaml', JSON.stringify(config));
  const rows = async <Value>(...words: readonly string[]): Promise<readonly Value[]> =>
    JSON.parse((await askCli([...words, '--json'], home.path)).stdout) as readonly Value[];
  return {
    home,
    receiver,
    slackTexts: () => slack.world.messages.map(({ text }) => text),
    /** Resolves with the only question that a run asks. */
    asked: () =>
      eventually(async () => {
        const [question, ...others] = await rows<{ readonly id: string }>('approvals', 'list');
        return others.length === 0 ? question : undefined;
      }),
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
  const question = await it.asked();
  await eventually(() => it.reports('step').length === 3);
  await askCli(['approvals', 'approve', question.id], it.home.path);
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
        question: { id: question.id, kind: 'tool', server: 'peer', tool: 'mcp__peer__write_note' },
        text: /waits for an approval to call mcp__peer__write_note: agent approvals show /,
      },
    },
    { type: 'run.finished', data: { run_id, text: 'Fine: ask' } },
  ]);
  t.notMatch(JSON.stringify(steps), /private/);
  const written = await it.rows<Row & { readonly reports?: string }>('deliveries', 'list');
  const listed = written.filter(({ delivery_id }) => delivery_id === 'step');
  t.same(listed.map(({ reports }) => reports).sort(), ['accepted', 'approval', undefined]);
  const ids = listed.map(({ id }) => id);
  t.same(ids, [...ids].sort().reverse(), 'the list is by id');

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
  await daemon.kill('SIGKILL');
  await startDaemon(t, it.home.path);
  t.match(await it.reaches('7', 'delivered'), { status: 'delivered' });
  const [before, after] = it.reports('7');
  t.equal(before?.headers['webhook-id'], after?.headers['webhook-id']);
  t.equal(it.receiver.world.messages.filter(({ text }) => text === 'Fine: killed').length, 1);
  t.notMatch(JSON.stringify([...daemon.log]), reportSecret.slice('whsec_'.length));
});

t.test('DLV-6 · DLV-7 · DIS-4 · DUR-1 · a run is followed beside another target', { skip: inAllOnly }, async (t) => {
  const it = await openReports(t);
  const daemon = await startDaemon(t, it.home.path);
  const post = (route: string, n: string, id: string, { url } = daemon) =>
    postSigned(`${url}/webhooks/${route}`, { n }, { secret, id });
  const types = (id: string): readonly unknown[] => it.reports(id).map((report) => verified(report).type);

  await post('both', 'build', '1');
  await it.ended('1', 'delivered');
  t.same(types('1'), ['run.accepted', 'run.finished']);
  const [, finished] = it.reports('1');
  const run = (await it.rows<Row>('runs', 'list')).find((row) => row.delivery_id === '1');
  t.match(verified(finished), { data: { text: 'Fine: build', run_id: run?.id } });
  t.equal(finished?.headers['webhook-id'], `${run?.id}~2`, 'the second delivery of the run');
  t.same(it.slackTexts(), ['Fine: build']);

  await post('both', 'fail', '2');
  await eventually(() => it.reports('2').length === 2 && it.slackTexts().length === 2);
  t.same(types('2'), ['run.accepted', 'run.failed']);
  t.match(verified(it.reports('2')[1]), { data: { status: 'failed', reason: /no such build/, text: /^Run failed: / } });
  t.match(it.slackTexts()[1], /^Run failed: route "both"/);
  const why = await askCli(['inspect', 'why', '2'], it.home.path);
  for (const target of ['slack', 'http']) t.match(why.stdout, `notice of the failed run to ${target}`);

  await post('some', 'calm', '3');
  await it.ended('3', 'delivered');
  await post('some', 'urgent', '4');
  await it.ended('4', 'delivered');
  await eventually(() => it.reports('4').length === 1);
  t.same([types('3'), types('4')], [[], ['run.accepted']], 'a condition holds for all that its entry reports');
  t.same(it.slackTexts().slice(2), ['Fine: calm', 'Fine: urgent']);

  // Nothing is confirmed before the kill: what was accepted may have arrived, and the question waits behind it.
  it.receiver.scripts.push('hang');
  const arrived = it.receiver.arrival();
  await post('both', 'ask', '5');
  await arrived;
  const before = await it.asked();
  await eventually(async () =>
    (await it.rows<Row & { readonly reports?: string }>('deliveries', 'list')).some(
      ({ delivery_id, reports }) => delivery_id === '5' && reports === 'approval',
    ),
  );
  await daemon.kill('SIGKILL');
  it.receiver.release();
  const second = await startDaemon(t, it.home.path);
  const after = await it.asked();
  await eventually(() => it.reports('5').length === 4);
  await askCli(['approvals', 'approve', after.id], it.home.path);
  await it.ended('5', 'delivered');
  t.same(types('5'), ['run.accepted', 'run.accepted', 'run.approval', 'run.approval', 'run.finished']);
  const ids = it.reports('5').map(({ headers }) => headers['webhook-id']);
  t.equal(ids[0], ids[1], 'a report that may have arrived has the same id');
  t.match(
    [ids[2], ids[3]],
    [before.id, after.id].map((id) => new RegExp(`\\.${id}$`)),
  );
  t.equal(it.slackTexts().filter((text) => text === 'Fine: ask').length, 1);

  t.match(
    (await askCli(['webhook', 'show', 'both'], it.home.path)).stdout,
    /http\n +on accepted, approval, finished, failed/,
  );
  await post('both', 'fail', '6', second);
  await eventually(() => it.reports('6').length === 2);
});
