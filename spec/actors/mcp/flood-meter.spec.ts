import type { Transport } from '@modelcontextprotocol/client';
import t from 'tap';
import { lineUp } from '../../../actors/mcp/adapt-transport.ts';
import { createFloodMeter, type FloodMeter } from '../../../actors/mcp/flood-meter.ts';

/** A meter with a clock that the spec moves, and what it reported. */
function metered() {
  const clock = { nowMs: 0 };
  const reports: string[] = [];
  const meter = createFloodMeter(
    (why) => void reports.push(why),
    () => clock.nowMs,
  );
  const second = (lines: number): void => {
    for (let tenth = 0; tenth < 10; tenth += 1) {
      clock.nowMs += 100;
      meter.count(lines / 10);
    }
  };
  return { meter, reports, second, clock };
}

t.test('LIF-14 · a server that floods for five seconds in a row is reported once', (t) => {
  const { reports, second } = metered();
  for (let count = 0; count < 4; count += 1) second(3_000);
  t.same(reports, []);
  for (let count = 0; count < 5; count += 1) second(3_000);
  t.match(reports, [/^it floods the gateway: \d+ lines in a second that nothing asked for, for 5 seconds$/]);
  t.equal(reports.length, 1);
  t.end();
});

t.test('LIF-14 · bursts, and as many lines in a longer time, are no flood', (t) => {
  const { meter, reports, second, clock } = metered();
  for (let count = 0; count < 10; count += 1) {
    for (let flooding = 0; flooding < 3; flooding += 1) second(50_000);
    second(0);
    second(0);
  }
  for (let count = 0; count < 20; count += 1) second(1_500);
  for (let count = 0; count < 20; count += 1) {
    clock.nowMs += 5_000;
    meter.count(9_000);
  }
  t.same(reports, []);
  t.end();
});

/** A transport whose messages the meter counts. */
function watched(meter: FloodMeter, ...bytesOf: Parameters<FloodMeter['watch']>): Transport {
  const transport: Transport = { start: async () => {}, close: async () => {}, send: async () => {} };
  lineUp(transport, meter.watch(...bytesOf));
  transport.onmessage = () => {};
  return transport;
}

t.test('LIF-14 · answers to requests are not counted, others and notifications are', async (t) => {
  const { meter } = metered();
  const transport = watched(meter, () => 0);
  const answer = { jsonrpc: '2.0', id: 1, result: {} } as const;
  const count = 100;
  for (let id = 0; id < count; id += 1) await transport.send({ jsonrpc: '2.0', id, method: 'ping' });
  for (let id = 0; id < count; id += 1) transport.onmessage?.(answer);
  t.equal(meter.taken(), 0);
  transport.onmessage?.(answer);
  transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/message' });
  transport.onmessage?.({ jsonrpc: '2.0', id: 1, method: 'ping' });
  t.equal(meter.taken(), 3);
  t.equal(meter.taken(), 0);
});

t.test('LIF-14 · a long message counts as many lines, whether its length is given or not', (t) => {
  const given = metered();
  const measured = metered();
  const [first, second] = [watched(given.meter, () => 40_960), watched(measured.meter)];
  first.onmessage?.({ jsonrpc: '2.0', method: 'notifications/message' });
  t.equal(given.meter.taken(), 11);
  const big = { jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x'.repeat(1_048_576) } } as const;
  for (let tenth = 0; tenth < 70; tenth += 1) {
    measured.clock.nowMs += 100;
    second.onmessage?.(big);
  }
  t.match(measured.reports, [/^it floods the gateway: 257\d lines in a second/]);
  t.end();
});

t.test('LIF-14 · SRV-3 · the progress of a request that waits for it is not counted, any other is', async (t) => {
  const { meter, clock } = metered();
  const transport = watched(meter, () => 0);
  const progressOf = (progressToken: number) =>
    transport.onmessage?.({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken, progress: 1 },
    });
  for (const id of [1, 2]) {
    await transport.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { _meta: { progressToken: id } } });
  }
  for (let count = 0; count < 200; count += 1) progressOf(1);
  t.equal(meter.taken(), 0);
  for (let count = 0; count < 50; count += 1) progressOf(1);
  t.equal(meter.taken(), 50, 'no caller needs so much of it');
  clock.nowMs += 1_000;
  progressOf(1);
  t.equal(meter.taken(), 0);
  progressOf(3);
  t.equal(meter.taken(), 1);
  transport.onmessage?.({ jsonrpc: '2.0', id: 1, result: {} });
  await transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
  progressOf(1);
  progressOf(2);
  t.equal(meter.taken(), 2);
});

t.test('LIF-14 · a flood of progress is ended, over one call or many; a hundred a second is none', async (t) => {
  for (const [calls, perSecond, floods] of [
    [1, 100, false],
    [20, 100, false],
    [1, 3_000, true],
    [100, 190, true],
  ] as const) {
    const { meter, reports, clock } = metered();
    const transport = watched(meter, () => 0);
    for (let id = 0; id < calls; id += 1)
      await transport.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { _meta: { progressToken: id } } });
    for (let step = 0; step < 7 * perSecond; step += 1) {
      clock.nowMs += 1_000 / perSecond;
      for (let progressToken = 0; progressToken < calls; progressToken += 1)
        transport.onmessage?.({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken, progress: step },
        });
    }
    t.equal(reports.length, floods ? 1 : 0, `${calls} calls with ${perSecond} a second`);
  }
});

t.test('LIF-14 · what a later handler keeps from the client is counted, once', async (t) => {
  const { meter } = metered();
  const transport: Transport = { start: async () => {}, close: async () => {}, send: async () => {} };
  const putBefore = lineUp(
    transport,
    meter.watch(() => 0),
  );
  transport.onmessage = () => {};
  putBefore([{ receive: () => {} }]);
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' });
  for (const id of [1, 1]) transport.onmessage({ jsonrpc: '2.0', id, result: {} });
  t.equal(meter.taken(), 1, 'the second answers nothing');
  transport.onmessage({ jsonrpc: '2.0', method: 'notifications/message' });
  t.equal(meter.taken(), 1);
});
