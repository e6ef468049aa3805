import t from 'tap';
import { createActor, setup } from 'xstate';
import { indexTimers, timersOf } from '../../../runtime/system/timers.ts';

const waiting = setup({ types: { events: {} as { type: 'end' } } }).createMachine({
  id: 'waiting',
  initial: 'waiting',
  states: {
    waiting: { after: { 5000: 'over', 9000: 'over' }, on: { end: 'ended' } },
    over: {},
    ended: { type: 'final' },
  },
});

/** A clock whose waits fire when they are told to. */
function handClock() {
  const waits = new Map<number, () => void>();
  let last = 0;
  return {
    waits,
    setTimeout: (fire: () => void) => {
      last += 1;
      waits.set(last, fire);
      return last;
    },
    clearTimeout: (id: number) => void waits.delete(id),
  };
}

function started() {
  const clock = handClock();
  const parent = setup({ actors: { waiting } }).createMachine({
    invoke: [
      { src: 'waiting', id: 'one' },
      { src: 'waiting', id: 'other' },
    ],
  });
  const root = createActor(parent, { clock });
  indexTimers(root, () => 7_000);
  root.start();
  const { one, other } = root.getSnapshot().children;
  return { clock, root, one, other };
}

t.test('INS-1 · takes back the timers of an actor that ends, and no other', async (t) => {
  const { clock, one, root, other } = started();

  one?.send({ type: 'end' });

  t.equal(clock.waits.size, 2);
  for (const fire of clock.waits.values()) fire();
  t.equal(other?.getSnapshot().value, 'over');
  root.stop();
});

t.test('INS-1 · holds no timer once the root has stopped', async (t) => {
  const { clock, root } = started();

  root.stop();

  t.equal(clock.waits.size, 0);
});

t.test('INS-2 · lists the timers of an actor that wait, and no other', async (t) => {
  const { clock, one, other, root } = started();
  if (one === undefined || other === undefined) throw new TypeError('no children');

  t.match(timersOf(one), [
    { delayMs: 5_000, startedAtMs: 7_000 },
    { delayMs: 9_000, startedAtMs: 7_000 },
  ]);
  one.send({ type: 'end' });
  t.same(timersOf(one), []);
  t.equal(timersOf(other).length, 2);
  clock.waits.get(3)?.();
  t.same(timersOf(other), [], 'the state was left, and its other timer with it');
  root.stop();
});

t.test('INS-1 · looks at no timer when an actor without one ends', async (t) => {
  const { root, one } = started();
  const { scheduler } = root.system as unknown as { scheduler: { cancelAll(source: unknown): void } };
  let looked = 0;
  const { _snapshot } = root.system as unknown as { _snapshot: { _scheduledEvents: object } };
  _snapshot._scheduledEvents = new Proxy(_snapshot._scheduledEvents, {
    ownKeys: (target) => {
      looked += 1;
      return Reflect.ownKeys(target);
    },
  });

  scheduler.cancelAll({});
  one?.send({ type: 'end' });

  t.equal(looked, 0);
  root.stop();
});
