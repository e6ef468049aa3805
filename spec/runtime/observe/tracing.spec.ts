import t, { type Test } from 'tap';
import { openTracer } from '../../../actors/telemetry/open-tracer.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { createTracing } from '../../../runtime/observe/tracing.ts';
import { startCollector } from '../../support/collector.ts';
import { makeHome } from '../../support/home.ts';
import { listenHttp } from '../../support/http-listener.ts';
import { entryOf, eventually, startGateway } from '../../support/mcp/gateway.ts';
import { started } from '../../support/mcp/http-peer.ts';
import { until } from '../../support/processes.ts';
import { postSigned } from '../../support/sign.ts';
import { adapterOf } from '../../support/webhook-adapter.ts';

const secret = 'tracing-spec-secret-tracing';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const parent = `00-${traceId}-b7ad6b7169203331-01`;

/** An agent program that calls a tool through the gateway and answers with the trace that it was given. */
const program = `
import { connect } from 'node:net';
const { AGENT_HOME, AGENT_RUN_ID: run, TRACEPARENT: traceparent } = process.env;
const socket = connect(process.argv[2]);
const params = { name: 'mcp__peer__echo', arguments: { text: 'hi' }, caller: 'serve', run, traceparent };
socket.write(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'mcp.call', params }) + '\\n');
socket.once('data', () => {
  console.log(traceparent ?? 'none');
  socket.end();
});
`;

async function startTraced(t: Test, telemetry: JsonObject, env: Readonly<Record<string, string>> = {}) {
  const peer = await started(t);
  const home = makeHome(t, { 'agent.mjs': program });
  const config = {
    inspector: { port: 0 },
    telemetry,
    agent: { runner: 'command', command: [process.execPath, `${home.path}/agent.mjs`, `${home.path}/gateway.sock`] },
    platforms: {
      webhook: adapterOf({ gh: { prompt: 'p' } }, { secret }),
    },
  };
  const gateway = await startGateway(t, { peer: entryOf(peer, { trust: 'full' }) }, { config, env, home });
  await gateway.reaches('peer', 'connected');
  const send = (id: string, traceparent?: string) =>
    postSigned(
      `${gateway.daemon.url}/webhooks/gh`,
      { n: 1 },
      {
        secret,
        id,
        headers: traceparent === undefined ? {} : { traceparent },
      },
    );
  /** The response of the run that a delivery led to. */
  const response = (id: string): Promise<string> =>
    eventually(async () => {
      const rows = (await gateway.control.call('runs.list')) as unknown as readonly JsonObject[];
      const row = rows.find((one) => one.delivery_id === id && one.status === 'delivered');
      if (row === undefined) return undefined;
      return String(((await gateway.control.call('runs.show', { id: String(row.id) })) as JsonObject).response);
    });
  return { ...gateway, peer, send, response };
}

t.test('OBS-1 · an event is one trace through run, call and delivery, begun by its sender', async (t) => {
  const collector = await startCollector(t);
  const gateway = await startTraced(t, { otlp_endpoint: collector.url }, { OTEL_BSP_SCHEDULE_DELAY: '20' });
  await gateway.daemon.line(({ message }) => message.startsWith('traces go to'));

  await gateway.send('d1', parent);
  const response = await gateway.response('d1');
  const delivery = await collector.span('deliver log');
  const [webhook, run, call] = await Promise.all(
    ['webhook', 'agent run', 'tools/call mcp__peer__echo'].map((name) => collector.span(name)),
  );

  for (const span of [webhook, run, call, delivery]) t.equal(span?.traceId, traceId);
  t.equal(webhook?.parentSpanId, 'b7ad6b7169203331');
  t.equal(run?.parentSpanId, webhook?.spanId);
  t.equal(call?.parentSpanId, run?.spanId);
  t.equal(delivery.parentSpanId, run?.spanId);
  t.match(webhook?.attributes, { 'agent.delivery_id': 'd1', 'agent.route': 'gh', 'agent.outcome': 'accepted' });
  t.match(delivery.attributes, { 'agent.target': 'log', 'agent.outcome': 'delivered' });
  t.equal(response, `00-${traceId}-${run?.spanId}-01`, 'the program has the run’s trace in its environment');

  const [seen] = gateway.peer.seen('tools/call');
  const told = `00-${traceId}-${call?.spanId}-01`;
  t.equal(seen?.headers.traceparent, told);
  t.match(seen?.body, { params: { _meta: { traceparent: told } } });

  const kept = (await gateway.control.call('webhook.delivery', { id: 'd1' })) as unknown as { record: JsonObject };
  t.equal(kept.record.traceparent, `00-${traceId}-${webhook?.spanId}-01`, 'and it is kept with the event');
  const timeline = (await gateway.control.call('inspect.why', { id: 'd1' })) as unknown as {
    phases: readonly { kind: string; title: string }[];
  };
  t.match(
    timeline.phases.find(({ kind }) => kind === 'call'),
    { title: 'mcp__peer__echo' },
    'the call is part of the timeline',
  );

  const before = collector.spans.length;
  await fetch(`${gateway.daemon.url}/webhooks/nobody`, { method: 'POST', body: '{}' });
  await gateway.send('d2', `00-${traceId}-b7ad6b7169203331-00`);
  await gateway.response('d2');
  await gateway.send('d3');
  await gateway.response('d3');
  await eventually(() => collector.spans.find(({ attributes }) => attributes['agent.delivery_id'] === 'd3'));
  const later = collector.spans.slice(before);
  t.notOk(
    later.some(({ attributes }) => attributes['agent.delivery_id'] === 'd2'),
    'what the sender does not want sampled is not',
  );
  t.notOk(
    later.some(({ name, attributes }) => name === 'webhook' && attributes['agent.route'] === undefined),
    'a request to no route is no span',
  );
  t.ok(later.every((span) => span.traceId !== traceId));
});

t.test('OBS-1 · without a collector a trace is passed on as it came, and a bad one is not', async (t) => {
  const gateway = await startTraced(t, {});
  await gateway.send('d1', parent);
  t.equal(await gateway.response('d1'), parent);
  t.equal(gateway.peer.seen('tools/call')[0]?.headers.traceparent, parent);
  await gateway.send('d2', 'nonsense');
  t.equal(await gateway.response('d2'), 'none');
  t.notOk(gateway.daemon.log.some(({ message }) => message.startsWith('traces')));
});

t.test('OBS-1 · a collector that is not there costs a warning and nothing else', async (t) => {
  const gateway = await startTraced(
    t,
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_BSP_SCHEDULE_DELAY: '20' },
  );
  await gateway.daemon.line(({ message }) => message.startsWith('traces go to'));
  t.equal((await gateway.send('d1')).status, 202);
  t.match(await gateway.response('d1'), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  await gateway.daemon.line(
    ({ message }) =>
      message === 'traces: the collector does not answer (ECONNREFUSED); check OTEL_EXPORTER_OTLP_ENDPOINT',
  );
  t.equal(await gateway.daemon.kill('SIGTERM'), 0);
});

t.test('OBS-1 · a collector that fails is reported once, and again after it has answered', async (t) => {
  const statuses = [404, 404, 200, 404];
  let answered = 0;
  const { url: endpoint } = await listenHttp(t, (request, response) => {
    request.resume().on('end', () => response.writeHead(statuses[answered++] ?? 200).end());
  });
  const lines: string[] = [];
  const log = { log: (_: string, message: string) => void lines.push(message), warnOnce: () => {} };
  const tracer = openTracer({ endpoint, serviceName: 's', version: '1', log, batchMs: 1 });
  for (const [nth] of statuses.entries()) {
    tracer.begin({ name: 'span', kind: 'server', parent: undefined, startMs: 1 }).end({}, 2);
    await until(() => answered > nth);
  }
  await tracer.close();
  const line = `traces: ${endpoint} refuses spans (404 Not Found); check telemetry.otlp_endpoint`;
  t.same(lines, [line, line]);
});

t.test('OBS-1 · CON-2 · spans that wait for their batch leave with the daemon', async (t) => {
  const collector = await startCollector(t);
  const gateway = await startTraced(t, { otlp_endpoint: collector.url }, { OTEL_BSP_SCHEDULE_DELAY: '600000' });
  await gateway.daemon.line(({ message }) => message.startsWith('traces go to'));
  await gateway.send('last', parent);
  await gateway.response('last');
  t.same(collector.spans, [], 'the batch is not due for long');
  t.equal(await gateway.daemon.kill('SIGTERM'), 0);
  const spans = await Promise.all(
    ['webhook', 'agent run', 'tools/call mcp__peer__echo', 'deliver log'].map((name) => collector.span(name)),
  );
  t.ok(spans.every((span) => span.traceId === traceId));
});

t.test('OBS-1 · CFG-2 · of two configurations that come at once the last one stands', async (t) => {
  const collector = await startCollector(t);
  const quiet = { log: () => {}, warnOnce: () => {} };
  const tracing = createTracing({
    env: {},
    version: '0',
    redact: (text) => text,
    learn: () => {},
    nowMs: () => 0,
    log: quiet,
  });
  await Promise.all([tracing.apply(collector.url), tracing.apply(undefined)]);
  t.notOk(tracing.isOn());
  await Promise.all([tracing.apply(undefined), tracing.apply(collector.url)]);
  t.ok(tracing.isOn());
  await tracing.close();
  t.notOk(tracing.isOn());
});

t.test('OBS-1 · an empty variable of OpenTelemetry is none, and true is true in any case', async (t) => {
  const collector = await startCollector(t);
  const log = { log: () => {}, warnOnce: () => {} };
  const tracingOf = (env: Readonly<Record<string, string>>) =>
    createTracing({ env, version: '0', redact: (text) => text, learn: () => {}, nowMs: () => 1, log });
  const named = tracingOf({ OTEL_SERVICE_NAME: '' });
  await named.apply(collector.url);
  named.begin({ name: 'span', kind: 'server', parent: undefined })?.end({});
  await named.close();
  t.match(collector.text(), '"service.name","value":{"stringValue":"agent-gateway"}');
  const off = tracingOf({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SDK_DISABLED: 'TRUE' });
  await off.apply(undefined);
  t.notOk(off.isOn());
  await off.apply(collector.url);
  t.notOk(off.isOn(), 'with an endpoint of the configuration too');
  await off.close();
});

t.test('OBS-1 · the name of a span is redacted and bounded as all its texts', async (t) => {
  const collector = await startCollector(t);
  const tracing = createTracing({
    env: {},
    version: '0',
    redact: (text) => text.replaceAll('planted', '[redacted]'),
    learn: () => {},
    nowMs: () => 1,
    log: { log: () => {}, warnOnce: () => {} },
  });
  await tracing.apply(collector.url);
  tracing.begin({ name: `tools/call planted${'x'.repeat(1_000)}`, kind: 'client', parent: undefined })?.end({});
  await tracing.close();
  const [span] = collector.spans;
  t.match(span?.name, /^tools\/call \[redacted\]x+$/);
  t.equal(span?.name.length, 300);
});
