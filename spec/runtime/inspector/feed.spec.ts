import t, { type Test } from 'tap';
import { type AnyActorRef, assign, createActor, setup } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import { createPool, type PoolHandle, poolHandle } from '../../../machines/base/pool.ts';
import type { DeltaMessage, Health } from '../../../runtime/control/contract/wire.ts';
import { createFeed } from '../../../runtime/inspector/feed.ts';
import { createHistory } from '../../../runtime/inspector/history.ts';
import { createRows } from '../../../runtime/inspector/rows.ts';
import { createStateTimes } from '../../../runtime/inspector/state-times.ts';
import { createSubjects } from '../../../runtime/inspector/subjects.ts';
import { createTap } from '../../../runtime/inspector/tap.ts';
import { createWatcher } from '../../../runtime/inspector/watcher.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';

/** Passes through `checking` without a pause, waits, and ends when told. */
const child = setup({
  types: {
    input: {} as { readonly deliveryId?: string },
    context: {} as { readonly deliveryId: string | null; readonly why: string | null },
    events: {} as
      | { readonly type: 'go' }
      | { readonly type: 'fail'; readonly why: string }
      | { readonly type: 'name'; readonly delivery: string | null },
  },
}).createMachine({
  id: 'thing',
  context: ({ input }) => ({ deliveryId: input.deliveryId ?? null, why: null }),
  initial: 'checking',
  states: {
    checking: { always: 'waiting' },
    waiting: {
      tags: ['resting'],
      on: {
        name: { actions: assign({ deliveryId: ({ event }) => event.delivery }) },
        go: 'done',
        fail: { target: 'failed', actions: assign({ why: ({ event }) => event.why }) },
      },
    },
    failed: { tags: ['failed'], on: { go: 'done' } },
    done: { type: 'final' },
  },
});

const secret = 'a-secret-in-every-place';

function assemble(t: Test) {
  const redactor = createRedactor();
  redactor.learn(secret);
  let flush: (() => void) | undefined;
  const root = createActor(
    createPool({ name: 'things', logic: compile(child, { now: () => 5, trail: 8, watched: () => tap.watched() }) }),
  );
  const failures: unknown[] = [];
  const tap = createTap(
    () => root as unknown as AnyActorRef,
    (error) => failures.push(error),
  );
  const subjects = createSubjects({ redactor, deliveryOf: () => undefined });
  const rows = createRows({
    root: () => root as unknown as AnyActorRef,
    redactor,
    stateTimes: createStateTimes(() => 5),
    subjects,
  });
  const history = createHistory();
  const feed = createFeed({
    tap,
    rows,
    subjects,
    history,
    redactor,
    health: () => ({}) as Health,
    nowMs: () => 5,
    wake: (callback) => {
      flush = callback;
      return () => {
        flush = undefined;
      };
    },
  });
  const watcher = createWatcher({ tap, rows, subjects, redactor, nowMs: () => 5 });
  root.start();
  t.teardown(() => root.stop());
  return {
    feed,
    tap,
    history,
    watcher,
    failures,
    pool: poolHandle(root) as unknown as PoolHandle<{ readonly deliveryId?: string }>,
    /** Lets the batch that gathers be sent. */
    batch(): void {
      flush?.();
    },
    isGathering: () => flush !== undefined,
    /** The batches from now on. */
    followed(): readonly DeltaMessage[] {
      const deltas: DeltaMessage[] = [];
      t.teardown(feed.follow((delta) => deltas.push(delta)));
      return deltas;
    },
  };
}

t.test('INS-3 · without a viewer nothing is recorded, and the last one to leave removes the tap', (t) => {
  const { feed, tap, pool, history, isGathering } = assemble(t);
  pool.spawn('a', {})?.send({ type: 'go' });
  t.equal(tap.watched(), false);
  t.notOk(isGathering());
  const [one, other] = [feed.follow(() => {}), feed.follow(() => {})];
  pool.spawn('b', {});
  t.ok(tap.watched() === true && isGathering());
  one();
  t.equal(tap.watched(), true);
  other();
  t.notOk(tap.watched() || isGathering());
  t.same(history.latest(10), [], 'what was not told was not kept either');
  t.end();
});

t.test('INS-3 · who wants steps alone hears the same steps, and no record of the rest is made', (t) => {
  const { tap, pool } = assemble(t);
  const run = (wanted: true | 'steps', key: string): string[] => {
    const heard: string[] = [];
    const leave = tap.listen(wanted, (inspected) => {
      const { event, actorRef } = inspected as {
        readonly event?: { readonly type: string };
        readonly actorRef: AnyActorRef;
      };
      // The pool is not compiled, and shows everything.
      if (actorRef.id === key) heard.push(`${inspected.type} ${event?.type ?? ''}`);
    });
    t.equal(tap.watched(), wanted);
    pool.spawn(key, {})?.send({ type: 'go' });
    leave();
    return heard;
  };
  const all = run(true, 'a');
  const steps = all.filter((one) => /^@xstate\.(?:actor|microstep)/.test(one));
  t.ok(steps.length > 1 && steps.length < all.length);
  t.same(run('steps', 'b'), steps);
  const [leaveSteps, leaveAll] = [tap.listen('steps', () => {}), tap.listen(true, () => {})];
  t.equal(tap.watched(), true, 'the most that anybody wants');
  leaveAll();
  t.equal(tap.watched(), 'steps');
  leaveSteps();
  t.equal(tap.watched(), false);
  t.end();
});

t.test('INS-1 · a late viewer sees the present, then what changes of it', (t) => {
  const { feed, pool, batch, followed } = assemble(t);
  pool.spawn('early', { deliveryId: 'd1' });
  const deltas = followed();
  t.match(
    feed.snapshot().actors.map(({ id, state, meta }) => ({ id, state, meta })),
    [
      { id: 'supervisor', meta: { size: 1 } },
      { id: 'things/early', state: 'waiting', meta: { delivery: 'd1' } },
    ],
  );
  const late = pool.spawn('late', { deliveryId: 'd2' });
  pool.get('early')?.send({ type: 'fail', why: `refused ${secret}` });
  batch();
  t.match(deltas, [
    {
      gone: [],
      skipped: 0,
      steps: [
        { actor: 'things/late', from: 'checking', to: 'waiting', event: '', delivery: 'd2' },
        { actor: 'things/early', from: 'waiting', to: 'failed', event: 'fail', why: 'refused [redacted]' },
      ],
    },
  ]);
  t.match(
    deltas[0]?.changed.find(({ id }) => id === 'things/early'),
    { tags: ['failed'], why: 'refused [redacted]' },
  );
  t.match(
    deltas[0]?.changed.find(({ id }) => id === 'supervisor'),
    { meta: { size: 2 } },
  );
  late?.send({ type: 'go' });
  batch();
  t.same(deltas[1]?.gone, ['things/late']);
  t.end();
});

t.test('INS-1 · one that came and went within a batch is its steps, and no row', (t) => {
  const { pool, batch, followed } = assemble(t);
  const deltas = followed();
  pool.spawn('brief', {})?.send({ type: 'go' });
  batch();
  t.same(
    deltas[0]?.changed.map(({ id }) => id),
    ['supervisor'],
  );
  t.same(deltas[0]?.gone, []);
  t.same(
    deltas[0]?.steps.map(({ to }) => to),
    ['waiting', 'done'],
  );
  t.end();
});

t.test('INS-1 · one that ends in the batch in which it began is gone for a viewer that came in between', (t) => {
  const { feed, pool, batch, followed } = assemble(t);
  const deltas = followed();
  const brief = pool.spawn('brief', {});
  t.ok(feed.snapshot().actors.some(({ id }) => id === 'things/brief'));

  brief?.send({ type: 'go' });

  batch();
  t.same(deltas[0]?.gone, ['things/brief']);
  t.end();
});

t.test('INS-1 · one that is stopped is gone, and one that takes its address is there', (t) => {
  const { pool, batch, followed } = assemble(t);
  pool.spawn('a', {});
  pool.spawn('b', {});
  const deltas = followed();
  pool.clear();
  pool.spawn('a', {});
  batch();
  t.same(deltas[0]?.gone, ['things/b']);
  t.ok(deltas[0]?.changed.some(({ id }) => id === 'things/a'));
  t.end();
});

t.test('INS-2 · a batch is bounded, and says what it leaves out', (t) => {
  const { pool, batch, followed } = assemble(t);
  const deltas = followed();
  for (let index = 0; index < 6_000; index += 1) pool.spawn(String(index), {});
  batch();
  t.equal(deltas[0]?.steps.length, 1_000);
  t.equal(deltas[0]?.skipped, 5_000);
  batch();
  const ids = new Set(deltas.flatMap(({ changed }) => changed.map(({ id }) => id)));
  t.equal(ids.size, 6_001, 'every row comes, some with the next batch');
  t.end();
});

t.test('INS-3 · a listener that fails disturbs no actor and no other listener', (t) => {
  const { tap, pool, failures } = assemble(t);
  let heard = 0;
  t.teardown(
    tap.listen(true, () => {
      throw new Error('boom');
    }),
  );
  t.teardown(
    tap.listen(true, () => {
      heard += 1;
    }),
  );
  const one = pool.spawn('a', {});
  t.equal((one?.getSnapshot() as { value?: unknown }).value, 'waiting');
  t.ok(heard > 0 && failures.length === heard);
  t.end();
});

t.test('INS-3 · records have the shape of @statelyai/inspect, and the living are introduced first', (t) => {
  const { watcher, pool } = assemble(t);
  pool.spawn('early', { deliveryId: 'd1' });
  const introduced = watcher.introduce({ full: true });
  t.match(introduced, [
    { type: '@xstate.actor', name: 'supervisor', sessionId: String, definition: String },
    {
      type: '@xstate.actor',
      name: 'things/early',
      parentId: introduced[0]?.sessionId,
      snapshot: { status: 'active', value: 'waiting', context: { deliveryId: 'd1' } },
      createdAt: /^\d+$/,
      id: String,
      rootId: introduced[0]?.sessionId,
      _version: String,
    },
  ]);
  t.match(JSON.parse(String(introduced[1]?.definition)), { id: 'thing', states: { checking: {} } });

  const records: Record<string, unknown>[] = [];
  t.teardown(watcher.follow({ full: true, actor: 'early' }, (record) => records.push(JSON.parse(record))));
  pool.get('early')?.send({ type: 'fail', why: secret });
  t.match(records, [
    { type: '@xstate.event', event: { type: 'fail', why: '[redacted]' }, sessionId: introduced[1]?.sessionId },
    { type: '@xstate.microstep', from: 'waiting', to: 'failed', reason: '[redacted]', delivery_id: 'd1' },
    {
      type: '@xstate.snapshot',
      event: { type: 'fail' },
      snapshot: { value: 'failed', context: { why: '[redacted]' } },
    },
  ]);
  t.notMatch(JSON.stringify(records), secret);
  t.end();
});

t.test('INS-3 · the quick spelling of a step says what the whole record says of it', (t) => {
  const { watcher, pool } = assemble(t);
  const quick: Record<string, unknown>[] = [];
  const whole: Record<string, unknown>[] = [];
  t.teardown(watcher.follow({ actor: 'odd' }, (record) => quick.push(JSON.parse(record))));
  t.teardown(watcher.follow({ actor: 'odd', full: true }, (record) => whole.push(JSON.parse(record))));
  pool.spawn('odd "name"\n', { deliveryId: 'd"1' });
  pool.get('odd "name"\n')?.send({ type: 'fail', why: `${secret} said "no"` });
  t.ok(quick.length > 2);
  const steps = whole.filter(({ type }) => type === '@xstate.microstep' || type === '@xstate.actor');
  t.same(
    quick,
    steps.map((step) =>
      Object.fromEntries(
        Object.entries(step).filter(
          ([name]) => !/^(?:createdAt|id|rootId|sessionId|_version|definition|snapshot)$/.test(name),
        ),
      ),
    ),
  );
  t.notMatch(JSON.stringify(quick), secret);
  t.end();
});

t.test('INS-2 · who follows one delivery sees its first steps too, and nothing of others', (t) => {
  const { watcher, pool } = assemble(t);
  const records: Record<string, unknown>[] = [];
  t.teardown(watcher.follow({ delivery: 'wanted' }, (record) => records.push(JSON.parse(record))));
  pool.spawn('a', { deliveryId: 'other' });
  pool.spawn('b', {});
  pool.spawn('c', { deliveryId: 'wanted' });
  t.same(
    records.map(({ actor, type }) => [actor, type]),
    [
      ['things/c', '@xstate.actor'],
      ['things/c', '@xstate.microstep'],
    ],
  );
  t.end();
});

t.test('INS-2 · of an actor that gets its delivery late, a bounded number of first steps is kept', (t) => {
  const { watcher, pool } = assemble(t);
  let records = 0;
  t.teardown(
    watcher.follow({ delivery: 'wanted' }, () => {
      records += 1;
    }),
  );
  const one = pool.spawn('a', {});
  for (let step = 0; step < 500; step += 1) one?.send({ type: 'name', delivery: null });
  one?.send({ type: 'name', delivery: 'wanted' });
  t.equal(records, 101);
  t.end();
});
