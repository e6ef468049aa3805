import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { connectControl } from '../../../runtime/control/client.ts';
import type { AuditRow } from '../../../runtime/control/contract/gateway.ts';
import type { ActorDetails, ActorRow, Chart } from '../../../runtime/control/contract/wire.ts';
import { askCli, runCli, startDaemon } from '../../support/daemon.ts';
import { makeHome } from '../../support/home.ts';
import { ask, linkOf, openPage, sessionIn } from '../../support/inspector.ts';
import { eventually } from '../../support/mcp/gateway.ts';
import { postSigned } from '../../support/sign.ts';
import { adapterOf } from '../../support/webhook-adapter.ts';

const secret = 'inspector-server-secret';
const config = {
  inspector: { port: 0 },
  platforms: {
    webhook: adapterOf(
      {
        co: { prompt: 'p', coalesce: { key: 'id', window_seconds: 600, max_wait_seconds: 600 } },
        gh: { prompt: 'Do {x}', events: ['push'], filters: [{ field: 'x', equals: '1' }] },
      },
      { secret },
    ),
  },
  mcp_servers: { remote: { url: 'http://127.0.0.1:1/mcp', auth: 'oauth', enabled: true, oauth: { flow: 'device' } } },
};

const home = makeHome(t, { 'config.yaml': JSON.stringify(config) });
const daemon = await startDaemon(t, home.path);

t.test('INS-2 · a link opens the page once, and only once', async (t) => {
  const link = await linkOf(home.path);
  t.equal((await ask(link, { method: 'HEAD' })).status, 200, 'one that only looks');
  t.equal((await ask(link, { headers: { 'sec-purpose': 'prefetch' } })).status, 503, 'one that fetches ahead');
  const opened = await ask(link);
  t.equal(opened.status, 200);
  const { key } = sessionIn(opened.body);
  t.match(key, /^[\w-]{43}$/, 'the page has its key');
  t.notMatch(JSON.stringify(opened.headers), key, 'no cookie carries it');
  t.match(
    opened.headers['set-cookie']?.[0],
    /^agent_inspector_\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/,
  );
  t.equal((await ask(link)).status, 401, 'the second time');
  t.equal((await ask(link, { method: 'HEAD' })).status, 401);
  t.equal((await ask(`${new URL(link).origin}/open?token=guess`)).status, 401);
});

t.test(
  'INS-2 · the page’s files are sent as they are kept, compressed, or unpacked for who takes no gzip',
  async (t) => {
    const page = await openPage(t, home.path);
    const index = (await page.ask('/')).body;
    const style = /href="\.(\/assets\/[^"]+\.css)"/.exec(index)?.[1] ?? '';

    const packed = await page.ask(style, { headers: { 'accept-encoding': 'gzip, br' } });
    const unpacked = await page.ask(style);

    t.match(packed.headers, { 'content-encoding': 'gzip', vary: 'accept-encoding' });
    t.match(packed.headers['cache-control'], /immutable/);
    t.equal(unpacked.headers['content-encoding'], undefined);
    t.match(unpacked.body, /light-dark\(/);
    t.ok(Number(packed.headers['content-length']) < unpacked.body.length / 2);
  },
);

t.test('INS-2 · nothing is answered without a session, under a rebound name or to another page', async (t) => {
  const page = await openPage(t, home.path);
  for (const path of ['/', '/stream', '/actor/supervisor', '/chart/gateway', '/nothing']) {
    t.equal((await ask(`${page.url}${path}`)).status, 401, path);
    t.equal((await page.ask(path, { headers: { host: 'evil.example' } })).status, 421, path);
    t.equal((await page.ask(path, { headers: { origin: 'https://evil.example' } })).status, 403, path);
  }
  const call = { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"gateway.status"}' };
  const typed = { 'content-type': 'application/json' };
  t.equal(
    (await ask(`${page.url}/rpc`, { ...call, headers: { ...typed, cookie: page.cookie } })).status,
    403,
    'no origin',
  );
  t.equal(
    (await page.ask('/rpc', { ...call, headers: { 'content-type': 'text/plain' } })).status,
    415,
    'a form’s type',
  );
  t.equal((await page.ask('/rpc', { ...call, headers: typed })).status, 200);
  t.equal((await page.ask('/rpc')).status, 405);
  t.equal((await page.ask('/stream', { method: 'DELETE' })).status, 405);
});

t.test('INS-2 · every answer forbids what the page does not need', async (t) => {
  const page = await openPage(t, home.path);
  for (const path of ['/actor/supervisor', '/nothing', '/metrics', '/open?token=x']) {
    const { headers } = await page.ask(path);
    t.match(headers['content-security-policy'], /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'$/);
    t.notMatch(headers['content-security-policy'], /unsafe|https?:/);
    t.equal(headers['cache-control'], 'no-store');
    t.equal(headers['x-content-type-options'], 'nosniff');
    t.equal(headers['referrer-policy'], 'no-referrer');
  }
});

t.test('INS-1 · INS-2 · the stream begins with the present and goes on with what changes', async (t) => {
  const page = await openPage(t, home.path);
  await postSigned(`${daemon.url}/webhooks/co`, { id: 'x' }, { secret, id: 'before' });
  const stream = await page.stream();
  const [snapshot] = stream.snapshots;
  const byId = new Map(snapshot?.actors.map((row) => [row.id, row]));
  t.match(byId.get('supervisor'), { parent: null, machine: 'supervisor', state: 'up.running' });
  t.match(byId.get('groups/default/co/x'), {
    parent: 'gateway/groups',
    machine: 'coalescingGroup',
    state: 'pending',
    tags: ['resting'],
    meta: { route: 'co', delivery: 'before', waiting: 1 },
  });
  for (const { parent } of snapshot?.actors ?? []) t.ok(parent === null || byId.has(parent), String(parent));
  t.match(snapshot?.health, { ready: true, url: daemon.url, pid: daemon.child.pid });

  await postSigned(`${daemon.url}/webhooks/co`, { id: 'y' }, { secret, id: 'after' });
  const rows = (): readonly ActorRow[] => stream.deltas.flatMap(({ changed }) => changed);
  const stepped = () =>
    stream.deltas.flatMap((delta) => delta.steps).filter(({ machine }) => machine === 'webhookRequest');
  // The last step and the group may come in two batches.
  await stream.until(
    () => rows().some(({ id }) => id === 'groups/default/co/y') && stepped().some(({ from }) => from === 'dispatching'),
  );
  const steps = stepped();
  t.same(
    steps.map(({ from }) => from),
    [
      'sizing',
      'routing',
      'throttling',
      'readingBody',
      'verifying',
      'parsing',
      'matching',
      'rendering',
      'claiming',
      'dispatching',
    ],
    'states passed through without a pause included',
  );
  t.equal(new Set(steps.map(({ actor }) => actor)).size, 1, 'one address from the first step to the last');
  t.equal(steps.at(-1)?.delivery, 'after');
  stream.close();
});

t.test('INS-2 · the cookie alone, which is sent to every port of this machine, reads and does nothing', async (t) => {
  const page = await openPage(t, home.path);
  const ran = `${home.path}/ran`;
  const entry = { command: 'sh', args: ['-c', `echo ran > ${ran}`] };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'mcp.test', params: { server: 'x', entry } });
  const asking = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
  const stolen = { cookie: page.cookie, origin: page.url };
  const { status } = await ask(`${page.url}/rpc`, { ...asking, headers: { ...asking.headers, ...stolen } });
  t.equal(status, 401);
  for (const path of ['/stream', '/actor/supervisor', '/chart/gateway']) {
    t.equal((await ask(`${page.url}${path}`, { headers: stolen })).status, 401, path);
  }
  t.equal((await ask(`${page.url}/`, { headers: stolen })).status, 200, 'the page itself holds no secret');
  t.equal(sessionIn((await ask(`${page.url}/`, { headers: stolen })).body).key, '');

  t.equal(existsSync(ran), false);
  const link = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'inspect.link', params: {} });
  const refused = JSON.parse((await page.ask('/rpc', { ...asking, body: link })).body);
  t.match(refused, { error: { message: /terminal only/ } }, 'a session makes no link to itself');
});

t.test('SEC-1 · who may only read changes nothing, and the audit log says who changed what', async (t) => {
  const reader = await openPage(t, home.path, { as: 'ines', read_only: true });
  t.match(await reader.rpc('gateway.status'), { pid: daemon.child.pid });
  const refused = { code: -32_000, data: { code: 'page-read-only' } };
  for (const method of ['webhook.disable', 'mcp.call', 'gateway.stop', 'nobody.there']) {
    t.match(await reader.rpc(method, { name: 'ci', server: 'x' }), refused, method);
  }
  t.ok(Array.isArray(await reader.rpc('mcp.importable')));
  t.match(await reader.rpc('mcp.importable', { block: '{}' }), refused, 'it would say what .env holds');
  const writer = await openPage(t, home.path, { as: 'noor' });
  await writer.rpc('cron.pause', { job: 'no such job' });
  const client = await connectControl(`${home.path}/gateway.sock`);
  t.teardown(() => client?.close());
  await client?.call('webhook.subscribe', {
    name: 'audited',
    record: { prompt: 'a secret prompt', secret: 'a-secret-of-mine-0' },
  });
  await client?.call('webhook.remove', { name: 'audited' });
  await t.rejects(Promise.resolve(client?.call('inspect.link', { as: 'two words' })), { code: 'guest-name' });
  await reader.rpc('webhook.disable', { name: 'again' });
  const rows = (await reader.rpc('audit.list', { limit: 20 })) as unknown as readonly AuditRow[];
  t.match(rows.slice(0, 10), [
    { who: 'owner', from: 'terminal', what: 'made a link to the page', on: { as: 'two words' }, refused: /letters/ },
    { who: 'owner', from: 'terminal', what: 'removed a route', on: { name: 'audited' } },
    { who: 'owner', from: 'terminal', what: 'subscribed a route', on: { name: 'audited' } },
    { who: 'noor', from: 'page', what: 'paused a job', on: { job: 'no such job' }, refused: /no such job/ },
    { who: 'noor', from: 'page', what: 'signed in', on: { by: 'link' } },
    { who: 'owner', from: 'terminal', what: 'made a link to the page', on: { as: 'noor' } },
    { who: 'ines', from: 'page', what: 'stopped the gateway', on: {}, refused: /only read/ },
    { who: 'ines', from: 'page', what: 'disabled a route', on: {}, refused: /only read/ },
    { who: 'ines', from: 'page', what: 'signed in', on: { by: 'link' } },
    { who: 'owner', from: 'terminal', what: 'made a link to the page', on: { as: 'ines' } },
  ]);
  t.notMatch(JSON.stringify(rows), /secret/);
});

t.test('CLI-3 · DEV-5 · the page asks what the socket answers, and begins no device login', async (t) => {
  const page = await openPage(t, home.path);
  t.match(await page.rpc('gateway.status'), { pid: daemon.child.pid });
  t.match(await page.rpc('nobody.there'), { code: -32_601 });
  t.match(await page.rpc('inspect.link'), { code: -32_000 }, 'no link to itself');
  t.match(await page.rpc('inspect.endSessions'), { code: -32_000 }, 'nor an end of all sessions');
  t.match(await page.rpc('mcp.login', { server: 'remote', flow: 'device', from: 'terminal' }), {
    data: { code: 'login-terminal-only' },
  });
  const lines = await page.ask('/rpc', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
    body: '{"jsonrpc":"2.0","id":"a","method":"webhook.deliveries"}',
  });
  t.equal(lines.headers['content-type'], 'application/x-ndjson');
  t.equal(lines.headers['x-accel-buffering'], 'no', 'a proxy holds no line back');
  t.match(JSON.parse(lines.body), { id: 'a', result: [{ delivery_id: String }] });
  for (const body of ['', '[]', 'nonsense', '{"jsonrpc":"2.0","method":"gateway.stop"}']) {
    const answer = await page.ask('/rpc', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    t.equal(answer.status, 400, body);
  }
  t.match(await page.rpc('gateway.status'), { pid: daemon.child.pid }, 'nothing was stopped');
});

t.test('INS-1 · an actor is shown in full, and its chart as it is defined', async (t) => {
  const page = await openPage(t, home.path);
  const actor = JSON.parse((await page.ask('/actor/groups%2Fdefault%2Fco%2Fx')).body) as ActorDetails;
  t.match(actor, { machine: 'coalescingGroup', state: 'pending', rule: 'COA-1', context: { route: 'co' } });
  t.match(actor.timers, [{ event: /^xstate\.after/ }]);
  t.ok((actor.timers[0]?.due ?? 0) > Date.now());
  t.match(actor.steps, [{ from: 'resuming', to: 'pending' }]);
  t.equal((await page.ask('/actor/nobody')).status, 404);

  const chart = JSON.parse((await page.ask('/chart/coalescingGroup')).body) as Chart;
  t.match(
    chart.states.find(({ id }) => id === 'pending'),
    { kind: 'atomic', rule: 'COA-1', description: String },
  );
  t.ok(chart.transitions.some(({ from, event }) => from === 'pending' && event === 'event.joined'));
  const nested = JSON.parse((await page.ask('/chart/supervisor')).body) as Chart;
  t.match(
    nested.states.find(({ id }) => id === 'up.running'),
    { parent: 'up' },
  );
  t.equal((await page.ask('/chart/requestsPool')).status, 404);
  t.equal((await page.ask('/chart/__proto__')).status, 404);
});

t.test(
  'ADP-2 · readiness and metrics are served on this machine without a session, and not at the adapter',
  async (t) => {
    const { url } = await openPage(t, home.path);
    const ready = await ask(`${url}/ready`);
    t.equal(ready.status, 200);
    t.match(JSON.parse(ready.body), { ready: true, parts: { gateway: { ok: true, state: 'listening' } } });
    const metrics = await ask(`${url}/metrics`);
    t.equal(metrics.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
    t.match(metrics.body, /^agent_webhook_requests_total\{profile="default",route="co",outcome="coalesced"\} 2$/m);
    for (const path of ['/ready', '/metrics']) {
      t.equal((await ask(`${url}${path}`, { headers: { host: 'evil.example' } })).status, 421);
      t.equal((await ask(`${daemon.url}${path}`)).status, 404);
    }
    t.same(JSON.parse((await ask(`${daemon.url}/health`)).body), { status: 'ok', platform: 'webhook' });
  },
);

t.test('SEC-1 · a token closes the metrics and the readiness, also after a reload, and stands in no log', async (t) => {
  const token = 'planted-scrape-token-1';
  const guarded = makeHome(t, {
    'config.yaml': JSON.stringify({ ...config, inspector: { port: 0, scrape_token: '${SCRAPE}' } }),
    '.env': `SCRAPE=${token}\n`,
  });
  const other = await startDaemon(t, guarded.path);
  const { url } = await openPage(t, guarded.path);
  for (const path of ['/metrics', '/ready']) {
    for (const authorization of [undefined, 'Bearer wrong', `Basic ${token}`]) {
      const answer = await ask(`${url}${path}`, { headers: authorization === undefined ? {} : { authorization } });
      t.match([answer.status, answer.headers['www-authenticate']], [401, 'Bearer realm="agent"'], path);
      t.notMatch(answer.body, token);
    }
    t.equal((await ask(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })).status, 200, path);
  }
  const page = await openPage(t, guarded.path);
  t.equal((await page.ask('/ready')).status, 200, 'the page says why it is not ready');
  t.equal((await ask(`${other.url}/health`)).status, 200, 'health stays open');

  guarded.write('config.yaml', JSON.stringify({ ...config, inspector: { port: 0, scrape_token: '${UNSET}' } }));
  t.equal((await askCli(['gateway', 'reload'], guarded.path)).code, 0);
  const moved = await openPage(t, guarded.path);
  for (const authorization of ['Bearer ${UNSET}', 'Bearer ', `Bearer ${token}`]) {
    t.equal((await ask(`${moved.url}/metrics`, { headers: { authorization } })).status, 401, authorization);
  }
  t.notMatch(JSON.stringify(other.log), token);
});

t.test('INS-2 · the reason why an event was ignored or refused is found by its delivery id', async (t) => {
  const page = await openPage(t, home.path);
  const push = { 'x-github-event': 'push' };
  await postSigned(`${daemon.url}/webhooks/gh`, { x: '2' }, { secret, id: 'ignored', headers: push });
  await postSigned(`${daemon.url}/webhooks/gh`, { x: '1' }, { secret: 'wrong', id: 'refused', headers: push });
  // What owes nobody anything is written down after its answer.
  const timelineOf = (id: string): Promise<JsonObject> =>
    eventually(async () => {
      const told = (await page.rpc('inspect.why', { id })) as unknown as JsonObject;
      return told.verdict === undefined ? undefined : told;
    });
  t.match(await timelineOf('ignored'), {
    status: 'ignored',
    verdict: 'Ignored: a filter does not hold: x equals "1" saw "2".',
  });
  t.match(await timelineOf('refused'), { status: 'refused', verdict: /signature is not genuine/, cure: /secret/ });
  const told = await askCli(['inspect', 'why', 'ignored'], home.path);
  t.equal(told.code, 0);
  t.match(told.stdout, /■ matching .*saw "2" {2}FIL-1/);
  t.equal((await askCli(['inspect', 'why', 'nobody'], home.path)).code, 1);
});

t.test('SEC-1 · the page of a listener at `localhost` has an address, not a name', async (t) => {
  const named = makeHome(t, {
    'config.yaml': JSON.stringify({ ...config, inspector: { host: 'localhost', port: 0 } }),
  });
  await startDaemon(t, named.path);
  const page = await openPage(t, named.path);
  t.match(page.url, /^http:\/\/127\.0\.0\.1:\d+$/);
  const host = `localhost:${new URL(page.url).port}`;
  t.equal((await page.ask('/stream', { headers: { host } })).status, 421);
  t.equal((await ask(`${page.url}/ready`, { headers: { host } })).status, 200);
});

t.test('INS-2 · a listener that cannot stand stops nothing, and says why', async (t) => {
  const { url } = await openPage(t, home.path);
  const taken = makeHome(t, {
    'config.yaml': JSON.stringify({ ...config, inspector: { port: Number(new URL(url).port) } }),
  });
  const other = await startDaemon(t, taken.path);
  await other.line(({ message }) =>
    /inspector: \S+ cannot be bound: another program has it; set inspector\.port/.test(message),
  );
  t.match((await runCli(['inspect', '--web'], taken.path)).stderr, /another program has it.*\[inspector-closed\]/s);

  taken.write('config.yaml', JSON.stringify({ ...config, inspector: { host: '0.0.0.0', port: 0 } }));
  t.equal((await askCli(['gateway', 'reload'], taken.path)).code, 0);
  await other.line(({ message }) => /no loopback address/.test(message));

  taken.write('config.yaml', JSON.stringify(config));
  t.equal((await askCli(['gateway', 'reload'], taken.path)).code, 0);
  const moved = await openPage(t, taken.path);
  t.equal((await moved.ask('/ready')).status, 200);
  t.equal((await ask(`${other.url}/health`)).status, 200);
});

/** What the listener answers to bytes as they are written; its answer is read only once they are. */
function answerTo(port: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(bytes, () => {
      socket.on('data', (chunk) => {
        text += String(chunk);
      });
    });
    socket.once('error', reject).once('end', () => resolve(text));
  });
}

t.test('SEC-1 · a command that is too long is answered, also to one that reads when it has written', async (t) => {
  const page = await openPage(t, home.path);
  const { port } = new URL(page.url);
  const body = `"${'z'.repeat(12_000_000)}"`;
  const head = { ...page.own, host: `127.0.0.1:${port}`, 'content-type': 'application/json' };
  const lines = Object.entries({ ...head, 'content-length': body.length }).map(([name, value]) => `${name}: ${value}`);
  const answer = await answerTo(port, `POST /rpc HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  t.match(answer, /^HTTP\/1\.1 413 [\s\S]*too long/);
});

t.test('SEC-1 · a head that is too long is answered with what to do', async (t) => {
  const { port } = new URL(await linkOf(home.path));
  const answer = await answerTo(port, `GET / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncookie: ${'z'.repeat(1_200_000)}`);
  t.match(answer, /^HTTP\/1\.1 431 [\s\S]*Clear the cookies of this address[\s\S]*`agent inspect --web`\.$/);
});

t.test('INS-2 · the stream of a 33rd page says that there are too many, and ends', async (t) => {
  const page = await openPage(t, home.path);
  const streams = await Promise.all(Array.from({ length: 32 }, () => page.stream()));
  t.match((await page.ask('/stream')).body, /^retry: 1000\n\nevent: full\ndata: \{\}\n\n$/);
  for (const stream of streams) stream.close();
});
