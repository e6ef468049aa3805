import t from 'tap';
import type { ProfileName, RouteName } from '../../../machines/base/names.ts';
import type { Route } from '../../../machines/config/route.ts';
import type { CallOutput } from '../../../machines/mcp/tool-call.machine.ts';
import type { RequestContext } from '../../../machines/webhook/webhook-request.machine.ts';
import { createMetrics } from '../../../runtime/observe/metrics.ts';
import {
  anyRoute,
  countCall,
  countDelivery,
  countRun,
  createRequestCount,
  timedKeeper,
} from '../../../runtime/observe/metrics-counts.ts';
import { openKeeper } from '../../support/keeper.ts';
import { plainDelivery, plainRun } from '../../support/records.ts';

const route = { name: 'r' as RouteName, profile: 'work' as ProfileName } as Route;
const request: RequestContext = { id: 'k1', origin: 'http', method: 'POST', path: '/webhooks/r', receivedAtMs: 1_000 };

t.test('OBS-1 · a commit is counted once, whether it was awaited or called back', async (t) => {
  const { keeper } = await openKeeper();
  const metrics = createMetrics();
  const timed = timedKeeper(keeper, metrics);
  const claim = { kind: 'claim', name: 'a', value: {}, forMs: 100_000 } as const;

  const verdicts = [
    await timed.commit([claim]),
    await new Promise<{ readonly kind: string }>((resolve) => timed.submit([claim], resolve)),
  ];

  t.same(
    verdicts.map(({ kind }) => kind),
    ['committed', 'claimed'],
  );
  t.match(metrics.read('agent_journal_commits_total'), [
    { labels: ['committed'], series: { count: 1 } },
    { labels: ['claimed'], series: { count: 1 } },
  ]);
  t.match(metrics.read('agent_journal_commit_duration_seconds'), [{ series: { count: 2 } }]);
});

t.test('OBS-1 · requests are counted by route and outcome; an unknown path makes no series', (t) => {
  const metrics = createMetrics();
  const count = createRequestCount(metrics);
  for (const [context, nowMs] of [
    [{ ...request, route, outcome: { kind: 'duplicate', deliveryId: 'd' } }, 1_250],
    [{ ...request, route, outcome: { kind: 'duplicate', deliveryId: 'd' } }, 1_250],
    [{ ...request, route: { ...route }, outcome: { kind: 'badSignature' } }, 1_500],
    [{ ...request, route, origin: 'replay', outcome: { kind: 'badBody' } }, 9_000],
    [{ ...request, path: '/webhooks/x', outcome: { kind: 'unknownRoute' } }, 1_000],
    [request, 1_000],
  ] as const satisfies readonly (readonly [RequestContext, number])[]) {
    count(context, nowMs);
  }

  t.same(
    metrics.read('agent_webhook_requests_total').map(({ labels, series }) => [...labels, series.count]),
    [
      ['work', 'r', 'duplicate', 2],
      ['work', 'r', 'badSignature', 1],
      ['work', 'r', 'badBody', 1],
      ['', '', 'unknownRoute', 1],
      ['', '', 'abandoned', 1],
    ],
  );
  t.same(
    metrics
      .read('agent_webhook_request_duration_seconds')
      .map(({ labels, series }) => [...labels, series.count, series.sum]),
    [
      ['work', 'r', 3, 1],
      ['', '', 2, 0],
    ],
    'a replay waits for nobody',
  );
  t.equal(metrics.recent.requests.lastHour(anyRoute).at(-1), 3, 'those from outside to a route');
  t.end();
});

t.test('SRC-2 · OBS-1 · requests signed with a later secret of a list are counted by its number', (t) => {
  const metrics = createMetrics();
  const count = createRequestCount(metrics);
  const accepted = { kind: 'accepted', route: 'r', event: 'e', deliveryId: 'd' } as const;
  for (const [scheme, outcome, origin] of [
    ['stripe', accepted, 'http'],
    ['stripe (secret 2)', accepted, 'http'],
    ['stripe (secret 2)', { kind: 'duplicate', deliveryId: 'd' }, 'http'],
    ['github (secret 3)', accepted, 'http'],
    ['github (secret 3)', accepted, 'part'],
  ] as const) {
    count({ ...request, route, scheme, outcome, origin }, 1_000);
  }
  t.same(
    metrics.read('agent_webhook_older_secret_total').map(({ labels, series }) => [...labels, series.count]),
    [
      ['work', 'r', '2', 2],
      ['work', 'r', '3', 1],
    ],
  );
  t.end();
});

t.test('INS-4 · a call that was answered counts with its duration, one that failed as failed', (t) => {
  const metrics = createMetrics();
  const call = { profile: 'work', server: 'hub', fault: null } as CallOutput;

  countCall(call, 0.02, metrics);
  countCall({ ...call, fault: { code: 'rpc_error', message: 'no' } }, 5, metrics);

  t.match(metrics.recent.calls.read('work/hub', 0), { count: 2, failed: 1, median_ms: 20 });
  t.end();
});

t.test('OBS-1 · a clock that is set back during a call or a request takes nothing from a sum', (t) => {
  const metrics = createMetrics();
  const call = { profile: 'work', server: 'hub', fault: null } as CallOutput;

  countCall(call, 2, metrics);
  countCall(call, -3_600, metrics);
  const count = createRequestCount(metrics);
  for (const nowMs of [3_000, -9_000])
    count({ ...request, route, outcome: { kind: 'duplicate' } } as RequestContext, nowMs);

  const sums = (name: Parameters<typeof metrics.read>[0]) =>
    metrics.read(name).map(({ labels, series }) => [...labels, series.count, series.sum]);
  t.same(sums('agent_tool_call_duration_seconds'), [['work', 'hub', 2, 2]]);
  t.same(sums('agent_webhook_request_duration_seconds'), [['work', 'r', 2, 2]]);
  t.end();
});

t.test('OBS-1 · SCA-2 · what is left to another gateway is counted where it ends, and is no failure here', (t) => {
  const metrics = createMetrics();
  for (const status of ['running', 'delivered'] as const) countRun({ ...plainRun, status }, 0, metrics);
  for (const status of ['sending', 'delivered'] as const) countDelivery({ ...plainDelivery, status }, 0, metrics);
  const ends = (name: Parameters<typeof metrics.read>[0]) => metrics.read(name).map(({ labels }) => labels.at(-1));
  t.same([ends('agent_runs_total'), ends('agent_deliveries_total')], [['delivered'], ['delivered']]);
  t.match(metrics.recent.deliveries.read(`default/${plainDelivery.target}`, 0), { count: 1, failed: 0 });
  t.end();
});
