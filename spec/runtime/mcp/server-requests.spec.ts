import t from 'tap';
import type { AskingCall } from '../../../actors/mcp/open-calls.ts';
import { absentWard, type WardHandle } from '../../../machines/base/ward.ts';
import type { ServerRequestInput } from '../../../machines/mcp/server-request.machine.ts';
import { createServerRequests } from '../../../runtime/mcp/server-requests.ts';
import { fakeWard } from '../../support/wards.ts';

function stage() {
  const ward = fakeWard<ServerRequestInput>();
  let nowMs = 0;
  const withdrawn: string[] = [];
  const requests = createServerRequests(
    ward.handle as never,
    () => nowMs,
    (approval) => void withdrawn.push(approval),
  );
  return {
    ward,
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
  const { ward, requests } = stage();
  const handlers = requests.handlersOf('work', 's');
  const form = handlers.elicit({ message: 'Who?' }, never(), []);
  const text = handlers.sample({ messages: [] }, never(), []);
  t.match(
    ward.spawned.map(({ input }) => input),
    [
      { profile: 'work', server: 's', kind: 'elicitation' },
      { profile: 'work', server: 's', kind: 'sampling' },
    ],
  );
  const [first = '', second = ''] = ward.spawned.map(({ key }) => key);
  t.same(requests.get(first)?.params, { message: 'Who?' });
  requests.answered(second, { kind: 'refused', reason: 'no model' });
  requests.answered(first, { kind: 'answered', result: { action: 'decline' } });
  requests.answered(first, { kind: 'refused', reason: 'too late' });
  t.same(await form, { kind: 'answered', result: { action: 'decline' } });
  t.same(await text, { kind: 'refused', reason: 'no model' });
  t.equal(requests.get(first), undefined);
});

t.test('SRV-1 · SRV-2 · a request whose chart crashes is refused, and does not count as waiting', async (t) => {
  const { ward, requests, withdrawn } = stage();
  const answer = requests.handlersOf('default', 's').elicit({}, never(), []);
  const key = ward.spawned[0]?.key ?? '';
  const row = requests.get(key);
  if (row !== undefined) row.question = 'a1';
  t.equal(requests.waiting('default', 's'), 1);
  requests.crashed(key);
  t.same(withdrawn, ['a1'], 'nobody fills it in for nothing');
  t.match(await answer, { kind: 'refused', reason: /crashed in the gateway/ });
  t.equal(requests.waiting('default', 's'), 0);
});

t.test('SRV-1 · what a server asks for its calls is taken back with the last of them', (t) => {
  const { ward, requests } = stage();
  for (const calls of [['1', '2'], []]) void requests.handlersOf('work', 's').elicit({}, never(), calls.map(call));
  const [busy, idle] = ward.spawned;
  requests.callEnded('3');
  requests.callEnded('1');
  t.same(busy?.heard, [], 'the other call may be the one that it asks for');
  requests.callEnded('2');
  t.same([busy?.heard, idle?.heard], [[{ type: 'request.cancel' }], []], 'what it asks unbidden stands');
  t.end();
});

t.test('SRV-1 · a request that its server takes back is cancelled', async (t) => {
  const { ward, requests } = stage();
  const stop = new AbortController();
  void requests.handlersOf('default', 's').elicit({}, stop.signal, []);
  stop.abort();
  t.same(ward.spawned[0]?.heard, [{ type: 'request.cancel' }]);
  void requests.handlersOf('default', 's').elicit({}, AbortSignal.abort(), []);
  t.same(ward.spawned[1]?.heard, [{ type: 'request.cancel' }], 'one that was taken back already too');
});

t.test('SRV-1 · the forms before a person are counted by server and profile', (t) => {
  const { ward, requests } = stage();
  for (const [profile, server] of [
    ['default', 's'],
    ['default', 's'],
    ['work', 's'],
  ] as const) {
    void requests.handlersOf(profile, server).elicit({}, never(), []);
  }
  t.equal(requests.waiting('default', 's'), 0, 'nobody was asked yet');
  for (const { key } of ward.spawned) Object.assign(requests.get(key) ?? {}, { question: `a-${key}` });
  t.same(
    [requests.waiting('default', 's'), requests.waiting('work', 's'), requests.waiting('default', 'other')],
    [2, 1, 0],
  );
  requests.answered(ward.spawned[0]?.key ?? '', { kind: 'refused', reason: 'x' });
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

t.test('INS-1 · SRV-1 · a request that is taken back when the ward is gone, or comes then, harms nobody', async (t) => {
  const ward = fakeWard<ServerRequestInput>();
  let handle = ward.handle as never as () => WardHandle<ServerRequestInput>;
  const requests = createServerRequests(
    () => handle(),
    () => 0,
  );
  const stop = new AbortController();
  void requests.handlersOf('default', 's').elicit({}, stop.signal, []);
  handle = () => absentWard('serverRequests');
  stop.abort();
  t.same(await requests.handlersOf('default', 's').sample({}, never(), []), {
    kind: 'refused',
    reason: 'the gateway stops',
  });
});
