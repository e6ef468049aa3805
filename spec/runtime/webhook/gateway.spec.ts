import t, { type Test } from 'tap';
import { type AnyActorLogic, type AnyActorRef, createActor, createMachine, fromTransition } from 'xstate';
import { createPlaces } from '../../../actors/dispatch/places.ts';
import { agentRunMachine } from '../../../machines/webhook/agent-run.machine.ts';
import { coalescingGroupMachine } from '../../../machines/webhook/coalescing-group.machine.ts';
import { deliveryMachine } from '../../../machines/webhook/delivery.machine.ts';
import type { HttpServerKeeper } from '../../../runtime/http/http-server-keeper.ts';
import type { WorkPools } from '../../../runtime/system/work-pools.ts';
import { wireGateway } from '../../../runtime/webhook/gateway.ts';
import { lentTime } from '../../support/lent-time.ts';
import { fakePool } from '../../support/pools.ts';
import { deferred, turn } from '../../support/turns.ts';

const inert = fromTransition((state: undefined) => state, undefined) as unknown as AnyActorLogic;

/** The gateway's chart with its real effects, over HTTP servers and pools in the hand. The time is the spec's. */
function stage(t: Test, { drainTimeoutMs = 1_000 } = {}) {
  const time = lentTime(t);
  const steps: string[] = [];
  const lines: unknown[] = [];
  const groups = fakePool<unknown>(() => ({ value: 'pending' }), coalescingGroupMachine);
  const runs = fakePool<unknown>(() => ({ value: 'running' }), agentRunMachine);
  const requests = fakePool<unknown>(() => ({ value: 'scripting' }));
  const deliveries = fakePool<{ readonly record: object }>(() => ({ value: 'sending' }), deliveryMachine);
  const places = createPlaces(2);
  const answered = deferred<void>();
  /** The wall clock goes back while time passes: no wait may ask it. */
  let nowMs = 0;
  const httpServers: HttpServerKeeper = {
    open: async () => {
      steps.push('open');
      return { url: 'http://a:1', fault: null };
    },
    move: async () => ({ url: 'http://a:2', fault: null }),
    retire: () => void steps.push('retire'),
    retired: () => answered.promise,
    current: () => undefined,
    standsAs: () => true,
  };
  const pools = {
    requests: requests.handle(),
    groups: groups.handle(),
    runs: runs.handle(),
    deliveries: deliveries.handle(),
  } as unknown as WorkPools;
  const logic = wireGateway({
    requests: inert,
    groups: inert,
    runs: inert,
    deliveries: inert,
    platforms: inert,
    cronJobs: inert,
    schedule: { start: () => void steps.push('schedule starts'), stop: () => void steps.push('schedule stops') },
    httpServers,
    places,
    park: () => void steps.push('park'),
    cut: () => void steps.push('cut'),
    pools: () => pools,
    nowMs: () => -nowMs,
    steadyMs: () => nowMs,
    log: { log: (level, message, fields) => void lines.push([level, message, fields]), warnOnce: () => {} },
    drainTimeoutMs: () => drainTimeoutMs,
    answerGraceMs: () => 5_000,
  });
  const parent = createActor(createMachine({ invoke: { src: logic, systemId: 'gateway' } })).start();
  t.teardown(() => parent.stop());
  const ref: AnyActorRef = parent.system.get('gateway');
  return {
    ref,
    steps,
    lines,
    requests,
    groups,
    runs,
    deliveries,
    places,
    answered,
    giveBack: () => time.giveBack(),
    state: () => ref.getSnapshot().value as string,
    passes: async (ms: number): Promise<void> => {
      nowMs += ms;
      time.pass(ms);
      await turn();
    },
  };
}

async function listening(t: Test, options = {}) {
  const one = stage(t, options);
  one.ref.send({ type: 'gateway.open', enabled: true, fault: null });
  await turn();
  t.equal(one.state(), 'listening');
  return one;
}

const drained = { type: 'group.drain', atMs: 0 };

t.test(
  'COA-1 · CON-2 · a drain flushes every batch at once, grants no further run and retires the HTTP server',
  async (t) => {
    const one = await listening(t);
    one.groups.handle().spawn('g1', {} as never);
    one.groups.handle().spawn('g2', {} as never);
    one.ref.send({ type: 'gateway.drain' });

    t.same(one.steps.slice(-1), ['retire']);
    t.ok(one.steps.includes('schedule stops'), 'nothing is fired any more');
    t.ok(one.steps.includes('park'), 'what waits to be sent stays in the journal');
    for (const key of ['g1', 'g2']) t.same(one.groups.living(key)?.heard, [drained], key);
    let granted = 0;
    one.places.ask({ key: 'k', profile: 'default', route: 'r' }, () => {
      granted += 1;
    });
    await turn();
    t.equal(granted, 0, 'what is opened now stays in the journal');
  },
);

t.test('CON-2 · a sender still unanswered when the time is over is asked to come back, and none before', async (t) => {
  const one = await listening(t);
  one.requests.handle().spawn('q1', {} as never);
  one.ref.send({ type: 'gateway.drain' });
  await one.passes(4_999);
  t.same(one.requests.living('q1')?.heard, []);
  await one.passes(1);
  t.same(one.requests.living('q1')?.heard, [{ type: 'request.drain' }]);
  t.match(one.lines, [['warn', /requests under way are answered 503/, { requests: 1 }]]);
});

t.test('CON-2 · an HTTP server that has closed has answered everybody', async (t) => {
  const answered = await listening(t);
  answered.requests.handle().spawn('q1', {} as never);
  answered.ref.send({ type: 'gateway.drain' });
  answered.answered.resolve();
  await turn();
  await answered.passes(60_000);
  t.same(answered.requests.living('q1')?.heard, []);
});

t.test(
  'CON-2 · it ends when the HTTP server has answered, batches are on disk, and runs and deliveries have ended',
  async (t) => {
    const one = await listening(t, { drainTimeoutMs: 60_000 });
    one.groups.handle().spawn('g1', {} as never);
    one.runs.handle().spawn('r1', {} as never);
    one.deliveries.handle().spawn('d1', { record: {} } as never);
    one.ref.send({ type: 'gateway.drain' });
    await turn();
    t.equal(one.state(), 'draining', 'an answer is owed');

    one.answered.resolve();
    await turn();
    t.equal(one.state(), 'finishing');
    t.ok((one.groups.living('g1')?.heard.length ?? 0) >= 2, 'what joined meanwhile is flushed too');
    for (const [title, act] of [
      ['the burst', () => one.groups.end('g1')],
      ['the run', () => one.runs.end('r1')],
    ] as const) {
      t.equal(one.state(), 'finishing', `${title} is under way`);
      act();
      await turn();
    }
    t.equal(one.state(), 'finishing', 'the delivery is under way');
    one.deliveries.end('d1');
    await turn();
    t.same([one.ref.getSnapshot().status, one.lines], ['done', []], 'at once, without another look at the clock');
  },
);

t.test('CON-2 · DUR-1 · what rests on disk as well is not waited for, unless a sender waits for it', async (t) => {
  const rows: readonly (readonly ['groups' | 'runs' | 'deliveries', string, object, boolean])[] = [
    ['groups', 'refused', {}, false],
    ['groups', 'dispatched', {}, false],
    ['groups', 'settled', {}, true],
    ['runs', 'queued', {}, false],
    ['runs', 'delivering', {}, false],
    ['runs', 'recording', {}, true],
    ['runs', 'unrecorded', {}, true],
    ['deliveries', 'queued', {}, false],
    ['deliveries', 'waitingToRetry', {}, false],
    ['deliveries', 'waitingToRetry', { answerByMs: 9 }, true],
    ['deliveries', 'marking', {}, true],
  ];
  for (const [pool, value, record, isWaitedFor] of rows) {
    const one = await listening(t, { drainTimeoutMs: 60_000 });
    one[pool].handle().spawn('k', { record } as never);
    one[pool].move('k', value);
    one.ref.send({ type: 'gateway.drain' });
    one.answered.resolve();
    await turn();
    t.equal(
      one.ref.getSnapshot().status,
      isWaitedFor ? 'active' : 'done',
      `${pool} ${value} ${JSON.stringify(record)}`,
    );
    one.giveBack();
  }
});

t.test('CON-2 · DUR-1 · shortly before the drain timeout no further piece of a text is sent', async (t) => {
  const one = await listening(t, { drainTimeoutMs: 20_000 });
  one.deliveries.handle().spawn('d1', { record: {} } as never);
  one.ref.send({ type: 'gateway.drain' });
  one.answered.resolve();
  await turn();
  await one.passes(18_999);
  t.notOk(one.steps.includes('cut'));
  await one.passes(1);
  t.ok(one.steps.includes('cut'));
  t.equal(one.state(), 'finishing', 'until what has arrived is on disk');
  one.deliveries.end('d1');
  await turn();
  t.same([one.ref.getSnapshot().status, one.lines], ['done', []]);
});

t.test('CON-2 · DUR-1 · nor is a further piece sent while a request takes all of the drain timeout', async (t) => {
  const one = await listening(t, { drainTimeoutMs: 20_000 });
  one.ref.send({ type: 'gateway.drain' });
  await one.passes(18_999);
  t.notOk(one.steps.includes('cut'));
  await one.passes(1);
  t.ok(one.steps.includes('cut'));
  t.equal(one.state(), 'draining', 'an answer is still owed');
});

t.test('CON-2 · DUR-1 · what has not ended by the drain timeout stays in the journal, with one line', async (t) => {
  const one = await listening(t, { drainTimeoutMs: 500 });
  one.runs.handle().spawn('r1', {} as never);
  one.deliveries.handle().spawn('d1', { record: {} } as never);
  one.ref.send({ type: 'gateway.drain' });
  await one.passes(300);
  // The answers and the work share one time.
  one.answered.resolve();
  await turn();
  await one.passes(199);
  t.equal(one.state(), 'finishing');
  await one.passes(1);
  t.equal(one.ref.getSnapshot().status, 'done');
  t.same(one.lines, [
    ['warn', 'drain: time is over; what is left stays in the journal', { running: 1, deliveries: 1 }],
  ]);
});

t.test(
  'COA-1 · CFG-2 · batches are settled when their HTTP server moves or is switched off, and their runs begin',
  async (t) => {
    for (const enabled of [true, false]) {
      const one = await listening(t);
      one.groups.handle().spawn('g1', {} as never);
      one.ref.send({ type: 'gateway.reopen', enabled, fault: null });
      await turn();
      t.same(one.groups.living('g1')?.heard, [drained], `enabled: ${enabled}`);
      let granted = 0;
      one.places.ask({ key: 'k', profile: 'default', route: 'r' }, () => {
        granted += 1;
      });
      await turn();
      t.equal(granted, 1, 'places are granted as before');
      one.giveBack();
    }
  },
);
