import t from 'tap';
import { type AnyActorRef, createActor, setup } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import { absentWard, createWard, isWard, type WardHandle, wardHandle } from '../../../machines/base/ward.ts';
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

function makeWard(): {
  readonly ref: AnyActorRef;
  readonly ward: WardHandle<{ readonly n: number }>;
  readonly told: Told;
} {
  const told: Told = { done: [], crashed: [] };
  const ref = createActor(
    createWard({
      name: 'children',
      logic: child,
      queueOf: ({ n }) => (n % 2 === 0 ? 'even' : 'odd'),
      onDone: (key, output) => told.done.push([key, output]),
      onCrashed: (key) => told.crashed.push(key),
    }),
  );
  ref.start();
  return { ref, ward: wardHandle(ref) as WardHandle<{ readonly n: number }>, told };
}

t.test('INS-1 · spawns, finds and reaps, and refuses a key that is taken', (t) => {
  const { ref, ward, told } = makeWard();
  const first = ward.spawn('a', { n: 1 });
  t.ok(isWard(ref));
  t.equal(ward.get('a'), first);
  t.equal(first?.id, 'a', 'and has its key for an id');
  t.equal(ward.spawn('a', { n: 2 }), undefined);
  first?.send({ type: 'end' });
  t.same(told.done, [['a', { n: 1 }]]);
  t.equal(ward.size, 0);
  t.ok(ward.spawn('a', { n: 3 }), 'the key is free again');
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

t.test('INS-1 · CON-2 · a ward that has stopped has no children, and gets none', (t) => {
  const { ref, ward } = makeWard();
  const child = ward.spawn('a', { n: 1 });
  ref.stop();
  t.equal((child?.getSnapshot() as { status: string }).status, 'stopped');
  t.equal(ward.spawn('b', { n: 2 }), undefined);
  t.equal(ward.size, 0);
  t.end();
});

t.test('INS-1 · a crashed child harms neither the ward nor its siblings', (t) => {
  const { ref, ward, told } = makeWard();
  ward.spawn('good', { n: 1 });
  ward.spawn('bad', { n: 2 })?.send({ type: 'fail' });
  t.same([told.crashed, ward.size], [['bad'], 1]);
  ward.get('good')?.send({ type: 'end' });
  t.equal(told.done.length, 1);
  ref.stop();
  t.end();
});

t.test('DIS-3 · the children of each queue are counted until they end, crash or are stopped', (t) => {
  const { ward } = makeWard();
  const counts = (): unknown => Object.fromEntries(ward.queues);
  for (const [key, n] of Object.entries({ a: 1, b: 3, c: 2, d: 5 })) ward.spawn(key, { n });
  t.equal(ward.spawn('a', { n: 2 }), undefined);
  t.same(counts(), { odd: 3, even: 1 });
  ward.get('a')?.send({ type: 'end' });
  ward.get('b')?.send({ type: 'fail' });
  ward.get('c')?.send({ type: 'end' });
  t.same(counts(), { odd: 1 }, 'an empty queue is forgotten');
  ward.clear();
  t.same(counts(), {});
  t.end();
});

t.test('INS-1 · nothing is left of thousands of children', (t) => {
  const { ref, ward } = makeWard();
  const many = runs(10_000, 2_000);
  for (let n = 0; n < many; n += 1) ward.spawn(`k${n}`, { n });
  for (let n = 0; n < many; n += 1) ward.get(`k${n}`)?.send({ type: 'end' });
  t.equal(ward.size, 0);
  const { _scheduledEvents: timers } = ref.system.getSnapshot();
  t.same(Object.keys(timers), [], 'no timer of an ended child is left');
  ward.spawn('last', { n: 0 });
  ref.stop();
  t.equal(ward.size, 0, 'the rest stop with the ward');
  t.end();
});

t.test('INS-1 · what stands in for a ward that does not live holds nobody, and has no room', (t) => {
  const ward = absentWard<object>('runs');
  ward.each(() => t.fail('there is nobody'));
  ward.clear();
  t.same([ward.spawn('a', {}), ward.get('a')], [undefined, undefined]);
  t.ok(10_000 - ward.size <= 0, 'work that asks for room stays on disk');
  t.end();
});
