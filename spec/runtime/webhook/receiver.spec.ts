import t from 'tap';
import type { Reply } from '../../../machines/webhook/reply.ts';
import type { RequestInput } from '../../../machines/webhook/webhook-request.machine.ts';
import type { Exchange, RequestHead } from '../../../runtime/http/http-server.ts';
import type { WorkPools } from '../../../runtime/system/work-pools.ts';
import type { LiveRequest } from '../../../runtime/webhook/exchanges.ts';
import { createReceiver } from '../../../runtime/webhook/receiver.ts';
import { fakePool } from '../../support/pools.ts';

function stage({ living = 0, parts = 0, stopped = false } = {}) {
  const exchanges = new Map<string, LiveRequest>();
  const requests = fakePool<RequestInput>();
  const traced: unknown[] = [];
  let made = 0;
  const handle = requests.handle();
  const receive = createReceiver({
    exchanges,
    pools: () =>
      ({
        requests: {
          ...handle,
          ...(living === 0 ? {} : { size: living }),
          ...(stopped ? { spawn: () => undefined } : {}),
        },
      }) as unknown as WorkPools,
    nextId: (atMs) => {
      made += 1;
      return `${atMs}-${made}`;
    },
    traces: { begin: (live, atMs) => void traced.push([live.headers['x-a'], atMs]) },
    nowMs: () => 7,
    parts: () => parts,
  });
  return {
    exchanges,
    spawned: requests.spawned,
    traced,
    ask(method: string, path: string, more: Partial<RequestHead> = {}): readonly Reply[] {
      const replies: Reply[] = [];
      const exchange: Exchange = {
        head: { method, path, headers: { 'x-a': 'b' }, ...more },
        readBody: () => {},
        reply: (reply) => void replies.push(reply),
      };
      receive(exchange);
      return replies;
    },
  };
}

t.test('ADP-2 · health is answered at once, to GET and HEAD alone, and costs no actor', (t) => {
  const { ask, spawned, exchanges } = stage();
  const healthy = { status: 200, body: '{"status":"ok","platform":"webhook"}' };
  t.same(ask('GET', '/health'), [healthy]);
  t.same(ask('HEAD', '/health'), [healthy]);
  t.same(ask('POST', '/health'), [
    { status: 405, body: '{"error":"Method not allowed"}', headers: { allow: 'GET, HEAD' } },
  ]);
  t.same([spawned.length, exchanges.size], [0, 0]);
  t.end();
});

t.test('RTE-3 · at a path that names no route, a POST alone costs an actor: it is recorded', (t) => {
  const { ask, spawned, exchanges } = stage();
  for (const path of [
    '/',
    '/ready',
    '/metrics',
    '/webhooks',
    '/webhooks/',
    '/p/work/webhooks/',
    '/p//webhooks/a',
    '',
  ]) {
    for (const method of ['GET', 'DELETE'])
      t.same(ask(method, path), [{ status: 404, body: '{"error":"Unknown route"}' }], `${method} ${path}`);
  }
  t.same([spawned.length, exchanges.size], [0, 0]);
  t.same(ask('POST', '/webhook/a'), []);
  t.equal(spawned.length, 1);
  t.end();
});

t.test('CON-2 · a request that comes while the gateway stops is answered 503', (t) => {
  const { ask, exchanges } = stage({ stopped: true });
  t.match(ask('POST', '/webhooks/a'), [{ status: 503 }]);
  t.equal(exchanges.size, 0);
  t.end();
});

t.test('INS-1 · RTE-3 · each webhook becomes one request with its head, its time and a row of its own', (t) => {
  const { ask, spawned, exchanges, traced } = stage();
  t.same(ask('POST', '/webhooks/a', { contentLength: 12 }), []);
  t.same(ask('GET', '/p/work/webhooks/b%20c'), [], 'the chart refuses the method');
  const common = { origin: 'http', receivedAtMs: 7 };
  t.same(
    spawned.map(({ key, input }) => ({ key, input })),
    [
      { key: '7-1', input: { ...common, id: '7-1', method: 'POST', path: '/webhooks/a', declaredBytes: 12 } },
      { key: '7-2', input: { ...common, id: '7-2', method: 'GET', path: '/p/work/webhooks/b%20c' } },
    ],
  );
  t.same(
    traced,
    [
      ['b', 7],
      ['b', 7],
    ],
    'OBS-1: each has a span of its own where spans are made',
  );
  t.same(
    [...exchanges].map(([id, live]) => [id, live.headers, live.body.length]),
    [
      ['7-1', { 'x-a': 'b' }, 0],
      ['7-2', { 'x-a': 'b' }, 0],
    ],
  );
  t.end();
});

t.test('LIM-1 · DUR-1 · beyond ten thousand requests at the same time senders are asked to come back', (t) => {
  const full = stage({ living: 10_000 });
  t.match(full.ask('POST', '/webhooks/a'), [{ status: 503, headers: { 'retry-after': /^\d+$/ } }]);
  t.same([full.spawned.length, full.exchanges.size], [0, 0]);
  t.match(full.ask('GET', '/health'), [{ status: 200 }], 'it is still in good health');
  const last = stage({ living: 9_999 });
  t.same(last.ask('POST', '/webhooks/a'), []);
  t.equal(last.spawned.length, 1);
  t.same(stage({ living: 15_000, parts: 5_001 }).ask('POST', '/webhooks/a'), [], 'events of arrays take no room');
  t.end();
});
