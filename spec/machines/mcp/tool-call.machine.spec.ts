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
  /** What each look at the registry finds otherwise. */
  readonly found?: readonly Partial<CallContext>[];
}

function call({ readOnly = false, asks = false, reached = false, verdicts = [], found = [] }: Given) {
  const clock = new SimulatedClock();
  const told: string[] = [];
  const left = [...verdicts];
  const changes = [...found];
  const machine = toolCallMachine.provide({
    actions: {
      resolveTool: assign<CallContext, CallEvent, unknown, CallEvent, never>(({ context }) => {
        told.push('resolve');
        const change = changes.shift() ?? {};
        return {
          server: 's',
          tool: 't',
          readOnly,
          asks,
          reached: context.reached || reached,
          reachMs: 90_000,
          ...change,
        };
      }),
      askApproval: () => void told.push('ask'),
      reachServer: () => void told.push('reach'),
      sendCall: ({ self }) => {
        told.push('send');
        const verdict = left.shift();
        if (verdict !== undefined) self.send({ type: 'call.answered', verdict });
      },
      takeBack: () => void told.push('takeBack'),
    },
  });
  const actor = createActor(compile(machine), { input, clock });
  actor.start();
  return {
    clock,
    told,
    /** Without the looks at the registry. */
    done: () => told.filter((word) => word !== 'resolve'),
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
  t.same(told, ['resolve', 'reach']);
  t.end();
});

t.test('TRU-1 · nothing is reached or sent until the approval; the time to reach counts from then', (t) => {
  const { clock, send, seen, done } = call({ asks: true });
  clock.increment(600_000);
  t.same([seen().value, done()], ['approving', ['ask']]);
  send({ type: 'approval.settled', verdict: 'approved' });
  t.same([seen().value, done()], ['reaching', ['ask', 'reach']]);
  clock.increment(89_999);
  t.equal(seen().value, 'reaching');
  t.end();
});

t.test('TRU-1 · a call that is cancelled while a person is asked takes its question back', (t) => {
  const { send, seen, done } = call({ asks: true });
  send({ type: 'call.cancel' });
  t.same([seen().value, seen().context.fault?.code, done()], ['settled', 'cancelled', ['ask', 'takeBack']]);
  t.end();
});

t.test('LIF-3 · a cancel while the server works takes the request back', (t) => {
  const { send, seen, done } = call({});
  send({ type: 'server.reached' });
  send({ type: 'call.cancel' });
  t.same([seen().value, seen().context.fault?.code, done()], ['settled', 'cancelled', ['reach', 'send', 'takeBack']]);
  t.end();
});

t.test('LIF-7 · a call to a connected server is sent at once; lost before it left, it waits like any other', (t) => {
  const { seen, done } = call({ reached: true, verdicts: [{ kind: 'answered' }] });
  t.same([seen().value, done()], ['settled', ['send']]);
  const second = call({ reached: true, verdicts: [lost(false)] });
  t.same([second.seen().value, second.done()], ['reaching', ['send', 'reach']]);
  const asking = call({ reached: true, asks: true });
  t.same([asking.seen().value, asking.done()], ['approving', ['ask']], 'nobody is passed over');
  t.end();
});

t.test('TRU-2 · a read-only call is replayed once, then unavailable; any other is uncertain at once', (t) => {
  const rows: readonly (readonly [boolean, readonly CallVerdict[], string | undefined, number])[] = [
    [true, [lost(true), { kind: 'answered' }], undefined, 2],
    [true, [lost(true), lost(true)], 'server_unavailable', 2],
    [true, [lost(false), lost(true), { kind: 'answered' }], undefined, 3],
    [true, [lost(true), lost(false)], 'server_unavailable', 2],
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

t.test('TRU-1 · LIF-13 · what a wait may have changed is found anew before anything is sent', (t) => {
  const gone = { code: 'unknown_tool', message: 'gone' } as const;
  const rows: readonly (readonly [string, Partial<CallContext>, state: string, done: readonly string[]])[] = [
    ['nothing changed', {}, 'calling', ['reach', 'send']],
    ['it is gone', { fault: gone }, 'settled', ['reach']],
    ['it may change something now', { asks: true }, 'approving', ['reach', 'ask']],
  ];
  for (const [what, change, state, done] of rows) {
    const waiting = call({ found: [{}, change] });
    waiting.send({ type: 'server.reached' });
    t.same([waiting.seen().value, waiting.done()], [state, done], what);
  }
  const asked = call({ asks: true, found: [{}, { reached: true }] });
  asked.send({ type: 'approval.settled', verdict: 'approved' });
  t.same([asked.seen().value, asked.done()], ['calling', ['ask', 'send']], 'a yes is asked for once');

  const queued = call({ reached: true, verdicts: [{ kind: 'outdated' }], found: [{}, { asks: true }] });
  t.same([queued.seen().value, queued.done()], ['approving', ['send', 'ask']], 'in its queue too');
  t.equal(queued.seen().context.tries, 0, 'no session had it');
  t.end();
});

t.test('TRU-2 · a call that went out while the tool only read is not repeated once it may change something', (t) => {
  const found = [{}, {}, { readOnly: false }];
  const { send, seen, done } = call({ readOnly: true, verdicts: [lost(true)], found });
  send({ type: 'server.reached' });
  send({ type: 'server.reached' });
  t.same([seen().value, done()], ['settled', ['reach', 'send', 'reach']]);
  t.match(seen().context.fault, { code: 'outcome_uncertain', message: /not marked read-only any more/ });
  t.end();
});

t.test('TRU-3 · a call whose entry changed or went while it waited ends, and its question is withdrawn', (t) => {
  const rows: readonly (readonly [Given, how: 'changed' | 'removed', done: readonly string[], RegExp])[] = [
    [{ asks: true }, 'changed', ['ask', 'takeBack'], /its entry was changed while mcp__s__t waited; call it again$/],
    [{ asks: true }, 'removed', ['ask', 'takeBack'], /its entry was removed while mcp__s__t waited$/],
    [{}, 'changed', ['reach', 'takeBack'], /changed/],
    [{ reached: true }, 'removed', ['send', 'takeBack'], /removed/],
  ];
  for (const [given, how, done, message] of rows) {
    const waiting = call(given);
    waiting.send({ type: 'server.retired', how });
    t.same([waiting.seen().value, waiting.done()], ['settled', done]);
    t.match(waiting.seen().context.fault, { code: 'server_unavailable', message });
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
