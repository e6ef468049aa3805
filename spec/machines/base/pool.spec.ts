import t from 'tap';
import { type AnyActorRef, createActor, setup } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import { absentPool, createPool, isPool, type PoolHandle, poolHandle } from '../../../machines/base/pool.ts';
import { runs } from '../../support/property.ts';

const child = compile(
  setup({
    types: { input: {} as { readonly n: number } },
    actions: {
      fail: () => {
        throw new Error('broken');
      },
    },
  }).createMachine({
    id: 'child',
    context: ({ input }) => ({ n: input.n }),
    initial: 'alive',
    output: ({ context }) => context,
    states: {
      alive: { on: { end: 'over', fail: { actions: 'fail' } }, after: { 60000: 'over' } },
      over: { type: 'final' },
    },
  }),
);

interface Told {
  readonly done: (readonly [string, unknown])[];
  readonly crashed: string[];
}

function makePool(): {
  readonly ref: AnyActorRef;
  readonly pool: PoolHandle<{ readonly n: number }>;
  readonly told: Told;
} {
  const told: Told = { done: [], crashed: [] };
  const ref = createActor(
    createPool({
      name: 'children',
      logic: child,
      queueOf: ({ n }) => (n % 2 === 0 ? 'even' : 'odd'),
      onDone: (key, output) => told.done.push([key, output]),
      onCrashed: (key) => told.crashed.push(key),
    }),
  );
  ref.start();
  return { ref, pool: poolHandle(ref) as PoolHandle<{ readonly n: number }>, told };
}

t.test('INS-1 · spawns, finds and reaps, and refuses a key that is taken', (t) => {
  const { ref, pool, told } = makePool();
  const first = pool.spawn('a', { n: 1 });
  t.ok(isPool(ref));
  t.equal(pool.get('a'), first);
  t.equal(first?.id, 'a', 'and has its key for an id');
  t.equal(pool.spawn('a', { n: 2 }), undefined);
  first?.send({ type: 'end' });
  t.same(told.done, [['a', { n: 1 }]]);
  t.equal(pool.size, 0);
  t.ok(pool.spawn('a', { n: 3 }), 'the key is free again');
  t.same((ref.getSnapshot() as { context: object }).context, {
    name: 'children',
    size: 1,
    spawned: 2,
    finished: 1,
    crashed: 0,
  });
  ref.stop();
  t.end();
});

t.test('INS-1 · CON-2 · a pool that has stopped has no children, and gets none', (t) => {
  const { ref, pool } = makePool();
  const child = pool.spawn('a', { n: 1 });
  ref.stop();
  t.equal((child?.getSnapshot() as { status: string }).status, 'stopped');
  t.equal(pool.spawn('b', { n: 2 }), undefined);
  t.equal(pool.size, 0);
  t.end();
});

t.test('INS-1 · a crashed child harms neither the pool nor its siblings', (t) => {
  const { ref, pool, told } = makePool();
  pool.spawn('good', { n: 1 });
  pool.spawn('bad', { n: 2 })?.send({ type: 'fail' });
  t.same([told.crashed, pool.size], [['bad'], 1]);
  pool.get('good')?.send({ type: 'end' });
  t.equal(told.done.length, 1);
  ref.stop();
  t.end();
});

t.test('DIS-3 · the children of each queue are counted until they end, crash or are stopped', (t) => {
  const { pool } = makePool();
  const counts = (): unknown => Object.fromEntries(pool.queues);
  for (const [key, n] of Object.entries({ a: 1, b: 3, c: 2, d: 5 })) pool.spawn(key, { n });
  t.equal(pool.spawn('a', { n: 2 }), undefined);
  t.same(counts(), { odd: 3, even: 1 });
  pool.get('a')?.send({ type: 'end' });
  pool.get('b')?.send({ type: 'fail' });
  pool.get('c')?.send({ type: 'end' });
  t.same(counts(), { odd: 1 }, 'an empty queue is forgotten');
  pool.clear();
  t.same(counts(), {});
  t.end();
});

t.test('INS-1 · nothing is left of thousands of children', (t) => {
  const { ref, pool } = makePool();
  const many = runs(10_000, 2_000);
  for (let n = 0; n < many; n += 1) pool.spawn(`k${n}`, { n });
  for (let n = 0; n < many; n += 1) pool.get(`k${n}`)?.send({ type: 'end' });
  t.equal(pool.size, 0);
  const { _scheduledEvents: timers } = ref.system.getSnapshot();
  t.same(Object.keys(timers), [], 'no timer of an ended child is left');
  pool.spawn('last', { n: 0 });
  ref.stop();
  t.equal(pool.size, 0, 'the rest stop with the pool');
  t.end();
});

t.test('INS-1 · an absent pool holds no child, and has no room', (t) => {
  const pool = absentPool('runs') as PoolHandle<object>;
  t.same([...pool], []);
  pool.clear();
  t.same([pool.spawn('a', {}), pool.get('a')], [undefined, undefined]);
  t.ok(10_000 - pool.size <= 0, 'work that asks for room stays on disk');
  t.end();
});
