import t from 'tap';
import { absentPool, type PoolHandle } from '../../../machines/base/pool.ts';
import type { EventRecord } from '../../../machines/webhook/record.ts';
import type { RequestInput } from '../../../machines/webhook/webhook-request.machine.ts';
import type { WorkPools } from '../../../runtime/system/work-pools.ts';
import { type Exchanges, textOf } from '../../../runtime/webhook/exchanges.ts';
import { type ReplayChanges, replayEvent } from '../../../runtime/webhook/own-request.ts';
import { fakePool } from '../../support/pools.ts';

const event = {
  deliveryId: 'd1',
  route: 'r',
  profile: 'default',
  headers: { 'x-github-event': 'push', 'content-type': 'application/json' },
  body: '{"ä":1}',
} as unknown as EventRecord;

function replay(record: EventRecord, changes: ReplayChanges = {}, absent?: PoolHandle<RequestInput>) {
  const exchanges: Exchanges = new Map();
  const requests = fakePool<RequestInput>();
  const answered = replayEvent('k1', record, changes, {
    exchanges,
    pools: () => ({ requests: absent ?? requests.handle() }) as unknown as WorkPools,
    nextId: () => 'k2',
    nowMs: () => 9,
  });
  return { exchanges, live: exchanges.get('k2'), spawned: requests.spawned, answered };
}

t.test('DUR-2 · an event goes through the chart again under a new id, as it was kept', async (t) => {
  const { live, spawned, answered } = replay(event);
  t.same(
    spawned.map(({ key, input }) => [key, input]),
    [
      [
        'k2',
        { id: 'k2', origin: 'replay', method: 'POST', path: '/webhooks/r', receivedAtMs: 9, replay: { of: 'k1' } },
      ],
    ],
  );
  t.same(live?.headers, event.headers);
  t.equal(live && textOf(live), '{"ä":1}');
  live?.exchange.reply({ status: 202, body: '{"status":"accepted"}' });
  t.same(
    await answered,
    { status: 202, body: '{"status":"accepted"}', key: 'k2' },
    "the chart's answer is the replay's",
  );
});

t.test('DUR-2 · PRF-1 · it goes by the route of its profile, its name encoded', (t) => {
  for (const [route, profile, path] of [
    ['a b/c', 'default', '/webhooks/a%20b%2Fc'],
    ['r', 'work', '/p/work/webhooks/r'],
  ] as const) {
    t.equal(replay({ ...event, route, profile }).spawned[0]?.input.path, path);
  }
  t.end();
});

t.test('DUR-2 · LIM-1 · what a person changes goes in place of it, its size declared, and is marked', (t) => {
  const { live, spawned } = replay(event, { payload: '{"ö":2}', event: 'ping', to: 'other', isDry: true });

  t.match(spawned[0]?.input, {
    path: '/webhooks/other',
    declaredBytes: 8,
    replay: { of: 'k1', isEdited: true, isDry: true, event: 'ping' },
  });
  t.equal(live && textOf(live), '{"ö":2}');
  const isEdited = (change: ReplayChanges) => replay(event, change).spawned[0]?.input.replay?.isEdited;
  t.same([{ payload: '{}' }, { event: 'ping' }, { to: 'other' }].map(isEdited), [true, true, true]);
  t.equal(isEdited({ isDry: true }), undefined);
  t.end();
});

t.test('INS-1 · DUR-2 · while no gateway stands a replay is refused, and leaves nothing behind', async (t) => {
  const { exchanges, answered } = replay(event, {}, absentPool('requests'));
  await t.rejects(answered, { code: 'gateway-busy' });
  t.equal(exchanges.get('k2'), undefined);
});
