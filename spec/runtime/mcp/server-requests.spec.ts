import t from 'tap';
import type { AskingCall } from '../../../actors/mcp/open-calls.ts';
import { absentPool, type PoolHandle } from '../../../machines/base/pool.ts';
import type { ServerRequestInput } from '../../../machines/mcp/server-request.machine.ts';
import { createServerRequests } from '../../../runtime/mcp/server-requests.ts';
import { fakePool } from '../../support/pools.ts';

function stage() {
  const pool = fakePool<ServerRequestInput>();
  let nowMs = 0;
  const withdrawn: string[] = [];
  const requests = createServerRequests(
    pool.handle as never,
    () => nowMs,
    (approval) => void withdrawn.push(approval),
  );
  return {
    pool,
    withdrawn,
    requests,
    at: (ms: number) => {
      nowMs = ms;
    },
  };
}
const call = (id: string): AskingCall => ({ id, hold: () => () => {} });
const never = (): AbortSignal => new AbortController().signal;

t.test('SRV-1 · SRV-2 · each request of a server is a chart of its own, and is answered once', async (t) => {
  const { pool, requests } = stage();
  const handlers = requests.handlersOf('work', 's');
  const form = handlers.elicit({ message: 'Who?' }, never(), []);
  const text = handlers.sample({ messages: [] }, never(), []);
  t.match(
    pool.spawned.map(({ input }) => input),
    [
      { profile: 'work', server: 's', kind: 'elicitation' },
      { profile: 'work', server: 's', kind: 'sampling' },
    ],
  );
  const [first = '', second = ''] = pool.spawned.map(({ key }) => key);
  t.same(requests.get(first)?.params, { message: 'Who?' });
  requests.answered(second, { kind: 'refused', reason: 'no model' });
  requests.answered(first, { kind: 'answered', result: { action: 'decline' } });
  requests.answered(first, { kind: 'refused', reason: 'too late' });
  t.same(await form, { kind: 'answered', result: { action: 'decline' } });
  t.same(await text, { kind: 'refused', reason: 'no model' });
  t.equal(requests.get(first), undefined);
});

t.test('SRV-1 · SRV-2 · a request whose chart crashes is refused, and does not count as waiting', async (t) => {
  const { pool, requests, withdrawn } = stage();
  const answer = requests.handlersOf('default', 's').elicit({}, never(), []);
  const key = pool.spawned[0]?.key ?? '';
  const row = requests.get(key);
  if (row !== undefined) row.question = 'a1';
  t.equal(requests.waiting('default', 's'), 1);
  requests.crashed(key);
  t.same(withdrawn, ['a1'], 'nobody fills it in for nothing');
  t.match(await answer, { kind: 'refused', reason: /crashed in the gateway/ });
  t.equal(requests.waiting('default', 's'), 0);
});

t.test('SRV-1 · what a server asks for its calls is taken back with the last of them', (t) => {
  const { pool, requests } = stage();
  for (const calls of [['1', '2'], []]) void requests.handlersOf('work', 's').elicit({}, never(), calls.map(call));
  const [busy, idle] = pool.spawned;
  requests.callEnded('3');
  requests.callEnded('1');
  t.same(busy?.heard, [], 'the other call may be the one that it asks for');
  requests.callEnded('2');
  t.same([busy?.heard, idle?.heard], [[{ type: 'request.cancel' }], []], 'what it asks unbidden stands');
  t.end();
});

t.test('SRV-1 · a request that its server takes back is cancelled', async (t) => {
  const { pool, requests } = stage();
  const stop = new AbortController();
  void requests.handlersOf('default', 's').elicit({}, stop.signal, []);
  stop.abort();
  t.same(pool.spawned[0]?.heard, [{ type: 'request.cancel' }]);
  void requests.handlersOf('default', 's').elicit({}, AbortSignal.abort(), []);
  t.same(pool.spawned[1]?.heard, [{ type: 'request.cancel' }], 'one that was taken back already too');
});

t.test('SRV-1 · the forms before a person are counted by server and profile', (t) => {
  const { pool, requests } = stage();
  for (const [profile, server] of [
    ['default', 's'],
    ['default', 's'],
    ['work', 's'],
  ] as const) {
    void requests.handlersOf(profile, server).elicit({}, never(), []);
  }
  t.equal(requests.waiting('default', 's'), 0, 'nobody was asked yet');
  for (const { key } of pool.spawned) Object.assign(requests.get(key) ?? {}, { question: `a-${key}` });
  t.same(
    [requests.waiting('default', 's'), requests.waiting('work', 's'), requests.waiting('default', 'other')],
    [2, 1, 0],
  );
  requests.answered(pool.spawned[0]?.key ?? '', { kind: 'refused', reason: 'x' });
  t.equal(requests.waiting('default', 's'), 1);
  t.end();
});

t.test('SRV-2 · the rate counts the admitted of the last minute, by server and profile', (t) => {
  const { requests, at } = stage();
  requests.recent('default', 's').push(0);
  at(30_000);
  requests.recent('default', 's').push(30_000);
  t.same(requests.recent('default', 's'), [0, 30_000]);
  t.same([requests.recent('default', 'other'), requests.recent('work', 's')], [[], []]);
  at(60_000);
  t.same(requests.recent('default', 's'), [30_000]);
  t.end();
});

t.test('INS-1 · SRV-1 · a request that is taken back when the pool is gone, or comes then, is harmless', async (t) => {
  const pool = fakePool<ServerRequestInput>();
  let handle = pool.handle as never as () => PoolHandle<ServerRequestInput>;
  const requests = createServerRequests(
    () => handle(),
    () => 0,
  );
  const stop = new AbortController();
  void requests.handlersOf('default', 's').elicit({}, stop.signal, []);
  handle = () => absentPool('serverRequests');
  stop.abort();
  t.same(await requests.handlersOf('default', 's').sample({}, never(), []), {
    kind: 'refused',
    reason: 'the gateway stops',
  });
});
