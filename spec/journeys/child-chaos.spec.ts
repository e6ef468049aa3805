/** Children that misbehave and die, servers that stay away: each failure is told, bounded and its server's own. */

import t from 'tap';
import type { Fault } from '../support/mcp/faults.ts';
import { child, entryOf, eventually, isWell, startGateway, wordsOf } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { hasEnded } from '../support/processes.ts';
import { fc } from '../support/property.ts';

const hang: Fault = { kind: 'hang', at: 'before-head' };
const reset: Fault = { kind: 'reset', at: 'before-head' };

t.test('children that misbehave', async (t) => {
  const rubbish = child(t, ['rubbish']);
  const silent = child(t, ['silent'], { connect_timeout: 0.7 });
  const flood = child(t, ['flood'], { connect_timeout: 600 });
  const exits = child(t, ['exit=7']);
  const flap = child(t, ['flap']);
  const slow = child(t, ['slow-start=700']);
  const chatty = child(t, ['chatty=3000000']);
  // It answers no call: one that did would be a server that is lost by a call, and no budget would be spent.
  const dies = child(t, ['die-after-list', 'die-on-call']);
  const gateway = await startGateway(t, {
    healthy: child(t).entry,
    rubbish: rubbish.entry,
    silent: silent.entry,
    flood: flood.entry,
    exits: exits.entry,
    flap: flap.entry,
    slow: slow.entry,
    chatty: chatty.entry,
    dies: dies.entry,
  });
  await gateway.reaches('healthy', 'connected');
  await isWell(t, gateway);

  t.test('LIF-7 · a server that exits at once is reported with its code and its last words', async (t) => {
    const row = await gateway.reaches('exits', 'backingOff', 'parked');
    t.match(row.error, /mcp server "exits": .*it exited with code 7.*no licence found.*agent mcp logs exits/);
  });

  t.test('LIF-3 · one that never answers ends within connect_timeout, and its process with it', async (t) => {
    const row = await gateway.reaches('silent', 'backingOff', 'parked');
    t.match(row.error, /no answer in 0\.7 s/);
    await eventually(() => (hasEnded(silent.pids()[0] ?? 0) ? true : undefined));
  });

  t.test('LIF-7 · one that prints a line without end is ended long before connect_timeout', async (t) => {
    const row = await gateway.reaches('flood', 'backingOff', 'parked');
    t.match(row.error, /it wrote a message of more than \d+ bytes/);
    await eventually(() => (hasEnded(flood.pids()[0] ?? 0) ? true : undefined));
  });

  t.test('LIF-7 · one that fails and then starts is connected to without anybody', async (t) => {
    await gateway.reaches('flap', 'connected');
    t.equal(wordsOf(await gateway.call('mcp__flap__echo', { text: 'at last' })), 'at last');
    t.equal(flap.pids().length % 2, 0);
  });

  t.test('LIF-3 · LIF-10 · rubbish, a slow start and much standard error harm nothing', async (t) => {
    for (const server of ['rubbish', 'slow', 'chatty']) {
      await gateway.reaches(server, 'connected');
      t.equal(wordsOf(await gateway.call(`mcp__${server}__echo`, { text: server })), server);
    }
  });

  t.test(
    'LIF-7 · one that dies again and again after connecting is parked in the end, not started for ever',
    async (t) => {
      const row = await eventually(async () => {
        await gateway.call('mcp__dies__write_note', { text: 'x' });
        const found = await gateway.server('dies');
        return found?.state === 'parked' ? found : undefined;
      });
      t.match(row.error, /the peer dies (after its list|while it executes write_note)/);
      t.ok((await gateway.tools('dies')).every(({ available }) => !available));
      t.equal((await gateway.tools('dies')).length, 14);
    },
  );

  await isWell(t, gateway);
});

t.test('children that die with a call', async (t) => {
  const dies = child(t, ['die-on-call']);
  const killed = child(t);
  const idle = child(t);
  const starting = child(t, ['slow-start=60000']);
  const gateway = await startGateway(t, {
    healthy: child(t).entry,
    dies: dies.entry,
    killed: killed.entry,
    idle: idle.entry,
    starting: starting.entry,
  });
  for (const server of ['healthy', 'dies', 'killed', 'idle']) await gateway.reaches(server, 'connected');

  t.test('TRU-2 · a call that is not read-only is executed once and its outcome reported as uncertain', async (t) => {
    const { error } = await gateway.call('mcp__dies__write_note', { text: 'x' });

    t.equal(error?.code, 'outcome_uncertain');
    t.match(error?.message, /the connection was lost during mcp__dies__write_note .*the tool may have run/);
    t.equal(dies.executions('write_note'), 1);
    await gateway.reaches('dies', 'connected');
    t.equal(dies.executions('write_note'), 1, 'and not again after the reconnect');
  });

  t.test('TRU-2 · a read-only call is replayed once, and no more', async (t) => {
    const { error } = await gateway.call('mcp__dies__echo', { text: 'x' });

    t.equal(error?.code, 'server_unavailable', 'there is nothing to check after a call that only reads');
    t.equal(dies.executions('echo'), 2);
  });

  t.test('TRU-2 · a child that is killed under a read-only call is started again for it', async (t) => {
    const call = gateway.call('mcp__killed__slow');
    await eventually(() => (killed.executions('slow') === 1 ? true : undefined));
    process.kill(killed.pids().at(-1) ?? 0, 'SIGKILL');
    await eventually(() => (killed.executions('slow') === 2 ? true : undefined));
    process.kill(killed.pids().at(-1) ?? 0, 'SIGKILL');

    t.equal((await call).error?.code, 'server_unavailable');
    t.equal(killed.executions('slow'), 2);
  });

  t.test('TRU-2 · a child that was killed before the call is started again and the call sent once', async (t) => {
    for (let round = 1; round <= 2; round += 1) {
      const { since } = await gateway.reaches('idle', 'connected');
      process.kill(idle.pids().at(-1) ?? 0, 'SIGKILL');
      // It may be connected again before anybody looks.
      await eventually(async () => ((await gateway.server('idle'))?.since === since ? undefined : true));

      t.equal(wordsOf(await gateway.call('mcp__idle__write_note', { text: 'x' })).slice(0, 4), 'note');
      t.equal(idle.executions('write_note'), round);
    }
  });

  t.test('LIF-7 · a child that is killed while it starts is tried again', async (t) => {
    await eventually(() => (starting.pids().length === 1 ? true : undefined));
    process.kill(starting.pids()[0] ?? 0, 'SIGKILL');

    await eventually(() => (starting.pids().length >= 2 ? true : undefined));
    t.match(await gateway.server('starting'), { tools: 0 });
  });

  await isWell(t, gateway);
});

t.test(
  'TRU-4 · TRU-2 · of writes in parallel to a child that is killed, none runs twice and none is reported wrongly',
  async (t) => {
    const maxKills = 200;
    const sizes = [1, 1_000, 60_000, 130_000, 400_000, 2_000_000, 4_194_000];
    const victim = child(t, [], { supports_parallel_tool_calls: true, circuit_breaker: { failures: 1_000_000 } });
    const gateway = await startGateway(t, { healthy: child(t).entry, victim: victim.entry });
    await gateway.reaches('victim', 'connected');
    const random = fc.sample(fc.infiniteStream(fc.nat()), { numRuns: 1, seed: 7 })[0];
    const next = (below: number): number => Number(random?.next().value) % below;
    const outcomes = new Map<string, number>();
    let id = 0;
    let kills = 0;
    for (let round = 0; kills < maxKills; round += 1) {
      const calls = Array.from({ length: 2 + next(4) }, () => {
        id += 1;
        const text = `#${id} ${'x'.repeat(sizes[next(sizes.length)] ?? 1)}`;
        return { mark: `write_note#${id}`, settled: gateway.call('mcp__victim__write_note', { text }) };
      });
      const first = calls[next(calls.length)];
      // In turn: at once, as one of them runs, and once one has been answered.
      if (round % 3 === 1) await eventually(() => victim.executions(first?.mark ?? '') > 0);
      if (round % 3 === 2) await first?.settled;
      if (isKilled(victim.pids().at(-1) ?? 0)) kills += 1;
      for (const { mark, settled } of calls) {
        const { error } = await settled;
        const ran = victim.executions(mark);
        const outcome = error?.code ?? 'answered';
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        const isTrue = outcome === 'answered' ? ran === 1 : outcome === 'outcome_uncertain' ? ran <= 1 : ran === 0;
        if (!isTrue) t.fail(`round ${round}: ${mark} ran ${ran} times, and its outcome is ${outcome}`);
      }
    }
    t.comment(`${kills} kills, ${id} calls: ${JSON.stringify(Object.fromEntries(outcomes))}`);
    t.same(
      [...outcomes.keys()].filter((code) => !['answered', 'outcome_uncertain', 'server_unavailable'].includes(code)),
      [],
    );
    t.ok((outcomes.get('answered') ?? 0) > 0 && (outcomes.get('outcome_uncertain') ?? 0) > 0);
    await isWell(t, gateway);
  },
);

t.test(
  'LIF-7 · LIF-1 · a server that stays away is parked: its tools are listed, and a call tries at once and once',
  async (t) => {
    const peer = await started(t);
    const gateway = await startGateway(t, { healthy: child(t).entry, peer: entryOf(peer) });
    for (const server of ['healthy', 'peer']) await gateway.reaches(server, 'connected');
    peer.set(reset);
    t.equal((await gateway.call('mcp__peer__echo', { text: 'x' })).error?.code, 'server_unavailable');
    const waiting = await gateway.reaches('peer', 'backingOff', 'parked');
    t.match(waiting.error, /^mcp server "peer": cannot be reached/);

    await eventually(async () => {
      await gateway.call('mcp__peer__echo', { text: 'x' });
      return (await gateway.server('peer'))?.state === 'parked' ? true : undefined;
    });

    const tools = await gateway.tools('peer');
    t.equal(tools.length, 14);
    t.ok(tools.every(({ available }) => !available));
    const before = peer.requests.length;
    const { error } = await gateway.call('mcp__peer__echo', { text: 'x' });
    t.equal(error?.code, 'server_unavailable');
    t.match(error?.message, /^mcp server "peer": cannot be reached/);
    const attempts = peer.requests.slice(before).filter(({ rpc }) => rpc === 'initialize' || rpc === 'server/discover');
    t.equal(attempts.length, 1, 'one attempt');
    await gateway.reaches('peer', 'parked');
    await isWell(t, gateway);

    peer.set();
    t.equal(wordsOf(await gateway.call('mcp__peer__echo', { text: 'back' })), 'back');
    await gateway.reaches('peer', 'connected');
    t.ok((await gateway.tools('peer')).every(({ available }) => available));
  },
);

t.test(
  'LIF-8 · transport failures in a row open the breaker: calls are refused at once, and nothing is sent',
  async (t) => {
    const broken = await started(t);
    const gateway = await startGateway(t, {
      broken: entryOf(broken, { circuit_breaker: { failures: 2, reset_seconds: 3_600 } }),
      healthy: child(t).entry,
    });
    for (const server of ['broken', 'healthy']) await gateway.reaches(server, 'connected');
    broken.set({ ...reset, on: 'tools/call' });
    for (let call = 0; call < 2; call += 1) {
      t.equal((await gateway.call('mcp__broken__write_note', { text: 'x' })).error?.code, 'outcome_uncertain');
      await gateway.reaches('broken', 'connected');
    }
    const calls = broken.seen('tools/call').length;
    const { error } = await gateway.call('mcp__broken__write_note', { text: 'x' });

    t.equal(error?.code, 'server_unavailable');
    t.match(error?.message, /its last calls all failed in transport; calls are tried again in \d+ s/);
    t.equal(broken.seen('tools/call').length, calls);
    await isWell(t, gateway);
  },
);

t.test('LIF-3 · LIF-9 · a server that does not let go is closed within its grace', async (t) => {
  const peer = await started(t);
  const stubborn = child(t, ['stubborn']);
  const gateway = await startGateway(t, {
    healthy: child(t).entry,
    peer: entryOf(peer),
    stubborn: stubborn.entry,
  });
  for (const server of ['healthy', 'peer', 'stubborn']) await gateway.reaches(server, 'connected');
  peer.set({ ...hang, on: 'DELETE' });

  gateway.configure({ healthy: { ...child(t).entry } });
  await gateway.control.call('gateway.reload');
  await eventually(async () => ((await gateway.list()).length === 1 ? true : undefined));

  t.ok(hasEnded(stubborn.pids()[0] ?? 0));
  await gateway.reaches('healthy', 'connected');
  await isWell(t, gateway);
});

/** Kills a process; false where it had ended by itself or of an earlier kill. */
function isKilled(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
