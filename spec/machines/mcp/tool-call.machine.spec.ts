import t from 'tap';
import { assign, createActor, SimulatedClock } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import {
  type CallContext,
  type CallEvent,
  type CallVerdict,
  toolCallMachine,
} from '../../../machines/mcp/tool-call.machine.ts';

const input = { id: '1', profile: 'default', name: 'mcp__s__t', caller: 'cli' };

interface Given {
  readonly readOnly?: boolean;
  readonly asks?: boolean;
  readonly reached?: boolean;
  readonly verdicts?: readonly CallVerdict[];
}

function call({ readOnly = false, asks = false, reached = false, verdicts = [] }: Given) {
  const clock = new SimulatedClock();
  const told: string[] = [];
  const left = [...verdicts];
  const machine = toolCallMachine.provide({
    actions: {
      resolveTool: assign<CallContext, CallEvent, unknown, CallEvent, never>(() => ({
        server: 's',
        tool: 't',
        readOnly,
        asks,
        reached,
        reachMs: 90_000,
      })),
      askApproval: () => void told.push('ask'),
      withdrawApproval: () => void told.push('withdraw'),
      reachServer: () => void told.push('reach'),
      sendCall: ({ self }) => {
        told.push('send');
        const verdict = left.shift();
        if (verdict !== undefined) self.send({ type: 'call.answered', verdict });
      },
      abandonCall: () => void told.push('abandon'),
    },
  });
  const actor = createActor(compile(machine), { input, clock });
  actor.start();
  return {
    clock,
    told,
    send: (event: CallEvent) => actor.send(event),
    seen: () => actor.getSnapshot() as unknown as { value: string; context: CallContext; status: string },
  };
}

const lost = (dispatched: boolean): CallVerdict => ({ kind: 'lost', dispatched, why: 'its command ended' });

t.test('LIF-7 · a server that is not reached in time is unavailable, and the message says so', (t) => {
  const { clock, seen, told } = call({});
  clock.increment(89_999);
  t.equal(seen().value, 'reaching');
  clock.increment(1);
  t.equal(seen().value, 'settled');
  t.same(seen().context.fault, {
    code: 'server_unavailable',
    message: 'mcp server "s": not reached within 90 s',
  });
  t.same(told, ['reach']);
  t.end();
});

t.test('TRU-1 · nothing is reached or sent until the approval; the time to reach counts from then', (t) => {
  const { clock, send, seen, told } = call({ asks: true });
  clock.increment(600_000);
  t.same([seen().value, told], ['approving', ['ask']]);
  send({ type: 'approval.settled', verdict: 'approved' });
  t.same([seen().value, told], ['reaching', ['ask', 'reach']]);
  clock.increment(89_999);
  t.equal(seen().value, 'reaching');
  t.end();
});

t.test('TRU-1 · a call that is cancelled while a person is asked takes its question back', (t) => {
  const { send, seen, told } = call({ asks: true });
  send({ type: 'call.cancel' });
  t.same([seen().value, seen().context.fault?.code, told], ['settled', 'cancelled', ['ask', 'withdraw']]);
  t.end();
});

t.test('LIF-3 · a cancel while the server works takes the request back', (t) => {
  const { send, seen, told } = call({});
  send({ type: 'server.reached' });
  send({ type: 'call.cancel' });
  t.same([seen().value, seen().context.fault?.code, told], ['settled', 'cancelled', ['reach', 'send', 'abandon']]);
  t.end();
});

t.test('LIF-7 · a call to a connected server is sent at once; lost before it left, it waits like any other', (t) => {
  const { seen, told } = call({ reached: true, verdicts: [{ kind: 'answered' }] });
  t.same([seen().value, told], ['settled', ['send']]);
  const second = call({ reached: true, verdicts: [lost(false)] });
  t.same([second.seen().value, second.told], ['reaching', ['send', 'reach']]);
  const asking = call({ reached: true, asks: true });
  t.same([asking.seen().value, asking.told], ['approving', ['ask']], 'nobody is passed over');
  t.end();
});

t.test('TRU-2 · a read-only call is replayed once, then uncertain; any other is uncertain at once', (t) => {
  const rows: readonly (readonly [boolean, readonly CallVerdict[], string | undefined, number])[] = [
    [true, [lost(true), { kind: 'answered' }], undefined, 2],
    [true, [lost(true), lost(true)], 'outcome_uncertain', 2],
    [true, [lost(false), lost(true), { kind: 'answered' }], undefined, 3],
    [true, [lost(true), lost(false)], 'outcome_uncertain', 2],
    [false, [lost(true), { kind: 'answered' }], 'outcome_uncertain', 1],
    [false, [lost(false), { kind: 'answered' }], undefined, 2],
    [false, [lost(false), lost(true)], 'outcome_uncertain', 2],
    [false, [lost(false), lost(false), lost(false)], 'server_unavailable', 3],
  ];
  for (const [readOnly, verdicts, code, tries] of rows) {
    const { send, seen, told } = call({ readOnly, verdicts });
    for (let step = 0; step < 4 && seen().value !== 'settled'; step += 1) {
      send({ type: 'server.reached' });
    }
    const sent = told.filter((word) => word === 'send').length;
    t.same(
      [seen().value, seen().context.fault?.code, sent],
      ['settled', code, tries],
      JSON.stringify([readOnly, verdicts]),
    );
  }
  t.end();
});

t.test('LIF-13 · the words of an uncertain outcome name the server, the tool and what to do', (t) => {
  const { send, seen } = call({ verdicts: [lost(true)] });
  send({ type: 'server.reached' });
  t.equal(
    seen().context.fault?.message,
    'mcp server "s": the connection was lost during mcp__s__t (its command ended); the tool may have run: check before you call it again',
  );
  t.end();
});
