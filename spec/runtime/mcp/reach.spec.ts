import t from 'tap';
import type { BreakerState } from '../../../machines/mcp/retry-plan.ts';
import { toolName } from '../../../machines/mcp/tool-name.ts';
import { createReach } from '../../../runtime/mcp/reach.ts';
import { fakePool } from '../../support/pools.ts';

interface Connection {
  readonly value: string;
  readonly server?: string;
  readonly tools?: number;
  readonly why?: string | null;
  readonly breaker?: BreakerState;
}

function stage(connections: Readonly<Record<string, Connection>>) {
  const servers = fakePool<Connection>(
    ({ value, server = 's', tools = 0, why = null, breaker = { kind: 'closed', failures: 0 } }) => ({
      value,
      context: { server, profile: 'work', tools, why, breaker, closing: 'its entry was changed' },
    }),
  );
  const calls = fakePool<object>();
  for (const [key, input] of Object.entries(connections)) servers.handle().spawn(key, input as never);
  for (const id of ['1', '2']) calls.handle().spawn(id, {} as never);
  let nowMs = 0;
  const reach = createReach({
    connections: servers.handle,
    calls: calls.handle,
    configured: (key: string) => ['crashed', 'changed'].includes(key),
    steadyMs: () => nowMs,
  } as never);
  return {
    reach,
    wait: (key: string, id: string, isSentAgain = false) =>
      reach.wait(key, { id, isSentAgain, send: (event) => void calls.living(id)?.heard.push(event) }),
    /** The connection ends, and one in this state follows, if any does. */
    ended: (key: string, next?: Connection) => {
      servers.end(key);
      if (next !== undefined) servers.handle().spawn(key, next as never);
      reach.ended(key);
    },
    woken: (key: string) => servers.living(key)?.heard.map(({ type }) => type),
    heard: (id: string) => calls.living(id)?.heard,
    at: (ms: number) => {
      nowMs = ms;
    },
    gone: (id: string) => calls.end(id),
  };
}

t.test('LIF-6 · a call on a connected server continues at once, and wakes no other', (t) => {
  const { wait, woken, heard } = stage({ s: { value: 'connected' } });
  wait('s', '1');
  t.same([heard('1'), woken('s')], [[{ type: 'server.reached' }], []]);
  t.end();
});

t.test('LIF-7 · LIF-8 · a call may be sent at once to a connected server whose breaker lets it through', (t) => {
  const { reach, at } = stage({
    s: { value: 'connected' },
    open: { value: 'connected', breaker: { kind: 'open', untilMs: 5 } },
    lazy: { value: 'lazy' },
  });
  const reached = () => ['s', 'open', 'lazy', 'none'].map((key) => reach.isReached(key));
  t.same(reached(), [true, false, false, false]);
  at(5);
  t.same(reached(), [true, true, false, false]);
  t.end();
});

t.test('LIF-6 · LIF-7 · every other state is woken, and the calls wait for the same connection', (t) => {
  for (const value of ['lazy', 'connecting', 'backingOff', 'parked', 'recycling', 'failed', 'needsLogin']) {
    const { wait, woken, heard, reach } = stage({ s: { value }, other: { value: 'connecting' } });
    wait('s', '1');
    wait('s', '2');
    t.same([heard('1'), woken('s'), woken('other')], [[], ['server.wake', 'server.wake'], []], value);
    reach.reached('other');
    t.same(heard('1'), [], 'another server is not this one');
    reach.reached('s');
    t.same([heard('1'), heard('2')], [[{ type: 'server.reached' }], [{ type: 'server.reached' }]], value);
    reach.unreachable('s', 'later');
    t.equal(heard('1')?.length, 1, 'each call hears once');
  }
  t.end();
});

t.test('LIF-7 · a server that cannot be reached says to every call why', (t) => {
  const { wait, heard, reach, gone } = stage({ s: { value: 'parked' } });
  wait('s', '1');
  wait('s', '2');
  gone('2');
  reach.unreachable('s', 'mcp server "s": no answer in 60 s');
  t.same(heard('1'), [{ type: 'server.unreachable', why: 'mcp server "s": no answer in 60 s' }]);
  t.end();
});

t.test('LIF-12 · a server that is gone is unreachable at once', (t) => {
  const { wait, heard } = stage({});
  wait('s', '1');
  t.match(heard('1'), [{ type: 'server.unreachable', why: 'mcp server "s": is not configured any more' }]);
  wait('crashed', '2');
  t.match(heard('2'), [{ type: 'server.unreachable', why: 'mcp server "crashed": is starting anew; call it again' }]);
  t.end();
});

t.test(
  'LIF-12 · TRU-2 · a new call waits for the connection of a changed entry, and one that was sent does not',
  (t) => {
    const rows: readonly (readonly [Connection | undefined, readonly string[], object | undefined])[] = [
      [{ value: 'lazy' }, ['server.wake'], undefined],
      [{ value: 'connecting' }, ['server.wake'], undefined],
      [{ value: 'disabled' }, [], { why: /agent mcp enable s/, code: 'unknown_tool' }],
      [undefined, [], { why: /is starting anew/ }],
    ];
    for (const [next, events, answer] of rows) {
      const { reach, wait, ended, heard, woken } = stage({
        changed: { value: 'stopping', tools: 2, breaker: { kind: 'open', untilMs: 30_000 } },
      });
      t.match(reach.absentFor('work', 'mcp__s__write'), { server: 's', comes: true });
      wait('changed', '1');
      wait('changed', '2', true);
      t.same(heard('1'), []);
      t.match(heard('2'), [{ type: 'server.unreachable', why: /its entry was changed$/ }]);
      ended('changed', next);
      if (next !== undefined) t.same(woken('changed'), events, next.value);
      t.match(heard('1'), answer === undefined ? [] : [{ type: 'server.unreachable', ...answer }]);
      t.equal(heard('1')?.length, answer === undefined ? 0 : 1);
    }
    const { reach } = stage({ removed: { value: 'stopping', tools: 2 } });
    t.equal(reach.absentFor('work', 'mcp__s__write'), undefined);
    t.end();
  },
);

t.test('LIF-8 · an open breaker refuses without waking, and says when calls are tried again', (t) => {
  const { wait, heard, woken, at } = stage({ s: { value: 'connected', breaker: { kind: 'open', untilMs: 30_000 } } });
  at(10_500);
  wait('s', '1');
  t.same(woken('s'), []);
  t.match(heard('1'), [{ type: 'server.unreachable', why: /tried again in 20 s$/ }]);
  at(30_000);
  wait('s', '2');
  t.same(heard('2'), [{ type: 'server.reached' }]);
  t.end();
});

t.test('LIF-6 · LIF-7 · a name without a tool is of a server that has listed nothing yet, or of none', (t) => {
  const rows: readonly (readonly [Connection, ReturnType<ReturnType<typeof stage>['reach']['absentFor']>])[] = [
    [{ value: 'connecting' }, { server: 's', comes: true, why: 'mcp server "s" is not connected' }],
    [
      { value: 'parked', why: 'it is down' },
      { server: 's', comes: false, why: 'it is down' },
    ],
    [
      { value: 'needsLogin', why: 'log in' },
      { server: 's', comes: false, why: 'log in', code: 'needs_login' },
    ],
    [{ value: 'connecting', tools: 2 }, undefined],
    [{ value: 'connected' }, undefined],
    [
      { value: 'disabled' },
      {
        server: 's',
        comes: false,
        why: 'mcp server "s" is disabled; `agent mcp enable s --profile work` connects it',
        code: 'unknown_tool',
      },
    ],
  ];
  for (const [connection, found] of rows) {
    const { reach } = stage({ 's@work': connection });
    t.same(reach.absentFor('work', 'mcp__s__write'), found, connection.value);
    t.same(reach.absentFor('default', 'mcp__s__write'), undefined, 'of another profile');
    t.same(reach.absentFor('work', 'mcp__other__write'), undefined, 'of another server');
    const allows = ({ server }: { readonly server: string }): boolean => server !== 's';
    t.same(reach.absentFor('work', 'mcp__s__write', allows), undefined, 'not for this caller');
  }
  t.end();
});

t.test('LIF-6 · NAM-1 · a server whose name is cut in the names of its tools is found by them', (t) => {
  for (const length of [40, 46, 47, 60, 100]) {
    const server = 's'.repeat(length);
    const { reach } = stage({ long: { value: 'connecting', server } });
    t.match(reach.absentFor('work', toolName(server, 'write')), { server, comes: true }, String(length));
  }
  t.end();
});
