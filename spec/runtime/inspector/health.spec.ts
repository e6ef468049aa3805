/** What /metrics and /ready say of a real daemon that has work of every kind. */

import t from 'tap';
import { createActor, createMachine } from 'xstate';
import { createHealth } from '../../../runtime/inspector/health.ts';
import type { McpView } from '../../../runtime/mcp/view.ts';
import { createMetrics, metricCatalogue } from '../../../runtime/observe/metrics.ts';
import { makeHome } from '../../support/home.ts';
import { ask, linkOf } from '../../support/inspector.ts';
import { entryOf, eventually, startGateway } from '../../support/mcp/gateway.ts';
import { started } from '../../support/mcp/http-peer.ts';
import { postSigned } from '../../support/sign.ts';

const secret = 'health-spec-secret-of-the-webhook';
const routes = {
  gh: { filters: [{ field: 'n', equals: 1 }], prompt: 'n is {n}', deliver: 'log' },
  co: { coalesce: { key: 'key', window_seconds: 600 }, prompt: 'burst', deliver: 'log' },
};
const webhook = (port: number) => ({ enabled: true, extra: { host: '127.0.0.1', port, secret, routes } });

/** Samples by name and labels, as a scraper reads them; a line that it could not read is a fault. */
function samplesOf(text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || /^# (HELP|TYPE) [a-z_]+ ./.test(line)) continue;
    const [, series, value] = /^([a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})?) (\S+)$/.exec(line) ?? [];
    if (series === undefined || Number.isNaN(Number(value))) throw new Error(`no sample: ${line}`);
    if (samples.has(series)) throw new Error(`twice: ${series}`);
    samples.set(series, Number(value));
  }
  return samples;
}

/** What nothing has happened to yet has no series. */
const silent = /^agent_webhook_older_secret_total$/;

t.test('OBS-1 · ADP-2 · every metric is written, with what the daemon did and holds', async (t) => {
  const peer = await started(t);
  const gateway = await startGateway(
    t,
    { peer: entryOf(peer, { trust: 'full' }), stranger: entryOf(peer, { trust: 'untrusted' }) },
    {
      config: {
        inspector: { port: 0 },
        agent: { runner: 'echo', concurrency: 3 },
        platforms: { webhook: webhook(0), slack: { enabled: true } },
      },
    },
  );
  for (const server of ['peer', 'stranger']) await gateway.reaches(server, 'connected');
  const send = (route: string, payload: object, id: string, by = secret) =>
    postSigned(`${gateway.daemon.url}/webhooks/${route}`, payload as never, { secret: by, id });
  await send('gh', { n: 1 }, 'd1');
  await send('gh', { n: 2 }, 'd2');
  await send('gh', { n: 1 }, 'd3', 'another-secret');
  await send('co', { key: 'a' }, 'd4');
  await fetch(`${gateway.daemon.url}/webhooks/stranger-${Date.now()}`, { method: 'POST', body: '{}' });
  await gateway.call('mcp__peer__echo', { text: 'hi' });
  void gateway.call('mcp__stranger__write_note', { text: 'asks' }).catch(() => {});
  await gateway.asked();
  const { origin } = new URL(await linkOf(gateway.home.path));
  const samples = await eventually(async () => {
    const read = samplesOf((await ask(`${origin}/metrics`)).body);
    const ended = ['agent_deliveries_total{', 'agent_runs_total{'].every((name) =>
      [...read.keys()].some((series) => series.startsWith(name)),
    );
    return ended && read.get('agent_runs_running') === 0 && read.get('agent_deliveries_in_flight') === 0
      ? read
      : undefined;
  });

  const of = (series: string): number | undefined => samples.get(series);
  const gh = 'profile="default",route="gh"';
  const peerLabels = 'profile="default",server="peer"';
  const rows: readonly (readonly [string, number])[] = [
    ['agent_ready', 1],
    [`agent_webhook_requests_total{${gh},outcome="accepted"}`, 1],
    [`agent_webhook_requests_total{${gh},outcome="ignoredFilter"}`, 1],
    [`agent_webhook_requests_total{${gh},outcome="badSignature"}`, 1],
    ['agent_webhook_requests_total{profile="default",route="co",outcome="coalesced"}', 1],
    ['agent_webhook_requests_total{profile="",route="",outcome="unknownRoute"}', 1],
    [`agent_webhook_request_duration_seconds_count{${gh}}`, 3],
    ['agent_webhook_requests_in_flight', 0],
    ['agent_coalescing_groups', 1],
    [`agent_runs_total{${gh},kind="agent",status="delivered"}`, 1],
    [`agent_run_wait_seconds_count{${gh}}`, 1],
    [`agent_run_duration_seconds_count{${gh}}`, 1],
    ['agent_runs_running', 0],
    ['agent_runs_queued', 0],
    ['agent_runs_concurrency', 3],
    ['agent_delivery_duration_seconds_count{target="log"}', 1],
    ['agent_deliveries_in_flight', 0],
    [`agent_tool_calls_total{${peerLabels},outcome="result"}`, 1],
    [`agent_tool_call_duration_seconds_count{${peerLabels}}`, 1],
    ['agent_tool_calls_in_flight', 1],
    ['agent_approvals_waiting', 1],
    ['agent_mcp_servers{state="connected"}', 2],
    [`agent_mcp_server_state{${peerLabels},state="connected"}`, 1],
    [`agent_mcp_sessions_total{${peerLabels}}`, 1],
    ['agent_target_state{profile="default",target="slack",state="failed"}', 1],
    ['agent_actors{machine="approval"}', 1],
    ['agent_actors_spawned_total{machine="agentRun"}', 1],
    ['agent_actors_crashed_total{machine="agentRun"}', 0],
    ['agent_gateway_restarts_total', 0],
    ['agent_gateway_leader', 1],
    ['agent_gateway_nodes', 1],
    ['agent_journal_up', 1],
    ['agent_inspector_viewers', 0],
  ];
  for (const [series, value] of rows) t.equal(of(series), value, series);
  for (const series of [
    `agent_mcp_tools{${peerLabels}}`,
    'agent_journal_commits_total{verdict="committed"}',
    'agent_log_lines_total{level="info"}',
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'nodejs_heap_size_used_bytes',
  ]) {
    t.ok((of(series) ?? 0) > 0, series);
  }
  t.ok(
    [...samples.keys()].every((series) => !series.includes('stranger-')),
    'a stranger’s path is no label',
  );
  const told = new Set(
    [...samples.keys()].map((series) => series.replace(/\{.*/, '').replace(/_(bucket|sum|count)$/, '')),
  );
  t.same(
    Object.keys(metricCatalogue).filter((name) => !told.has(name) && !silent.test(name)),
    [],
    'metrics that the daemon of this spec does not show',
  );
});

t.test('OBS-1 · ADP-2 · while a part is not well, /ready says 503 and names it', async (t) => {
  const home = makeHome(t, { 'state/data.mdb': 'this is no store' });
  const gateway = await startGateway(
    t,
    {},
    { config: { inspector: { port: 0 }, platforms: { webhook: webhook(0) } }, home },
  );
  await gateway.daemon.line(({ message }) => message.includes('journal unavailable'));
  const { origin } = new URL(await linkOf(gateway.home.path));
  const ready = await ask(`${origin}/ready`);
  t.equal(ready.status, 503);
  t.match(JSON.parse(ready.body), {
    ready: false,
    parts: { journal: { ok: false, state: 'unavailable', why: /state/ }, servers: { ok: true } },
  });
  const samples = samplesOf((await ask(`${origin}/metrics`)).body);
  t.same([samples.get('agent_ready'), samples.get('agent_journal_up')], [0, 0]);
});

t.test('OBS-1 · a look at the page does not empty what the metrics say of the loop', async (t) => {
  const root = createActor(createMachine({})).start();
  t.teardown(() => root.stop());
  const none = () => [];
  let elsewhere: number | undefined;
  const signs = createHealth({
    root: () => root,
    mcp: { approvals: none, states: () => ({}) } as unknown as McpView,
    metrics: createMetrics(),
    keeper: { leads: () => false, place: () => ({ of: 1, at: 0 }) },
    isShared: false,
    profiles: () => ['default'],
    load: () => ({ running: 0, waiting: 0 }),
    concurrency: () => 1,
    routes: () => 1,
    questionsElsewhere: () => elsewhere,
    webhookEnabled: () => false,
    redact: (text) => text,
    viewers: () => 0,
    version: '0',
    home: '/h',
    startedAtMs: 0,
    nowMs: () => 0,
  });
  const told = (): number =>
    signs.measure().find(({ name, labels }) => name === 'nodejs_eventloop_lag_seconds' && labels?.[0] === '0.99')
      ?.value ?? 0;
  told();
  signs.health();
  await eventually(() => {
    for (const heldUntilMs = performance.now() + 400; performance.now() < heldUntilMs; );
    return told() > 0.2 || undefined;
  });
  t.ok(signs.health().lagMs > 200);
  t.notHas(signs.health(), { approvals: 0 }, 'the questions of the others are not known yet');
  elsewhere = 2;
  t.equal(signs.health().approvals, 2, 'those of other gateways are counted too');
  t.ok(told() > 0.2, 'after a look too');
});
