import t from 'tap';
import { createMemoryTables } from '../../../actors/store/memory-journal.ts';
import { addWork, dueKeys, freeWork, removeWork, workKey } from '../../../actors/store/work-index.ts';
import { fc } from '../../support/property.ts';

t.test(
  'DUR-1 · all work of a collection is known by its key until it is removed, in whichever session’s hands it is',
  (t) => {
    const { due } = createMemoryTables().tables;
    for (const [key, dueAtMs, heldBy] of [
      ['a/with/slashes', 10, 's2'],
      ['b', 20, undefined],
    ] as const)
      addWork(due, workKey('runs', key, { dueAtMs, heldBy }));
    addWork(due, workKey('runs', 'nothing is due', { dueAtMs: undefined, heldBy: 's1' }));
    addWork(due, workKey('deliveries', 'of another kind', { dueAtMs: 1, heldBy: undefined }));
    t.same([dueKeys(due, 'runs').sort(), dueKeys(due, 'groups')], [['a/with/slashes', 'b'], []]);
    t.same(
      freeWork(due, 'runs', { dueBeforeMs: 10.9, limit: 9, isLeft: () => false }).map(({ key }) => key),
      ['a/with/slashes'],
    );

    removeWork(due, workKey('runs', 'b', { dueAtMs: 20, heldBy: undefined }));
    removeWork(due, undefined);
    t.same(dueKeys(due, 'runs'), ['a/with/slashes']);
    t.end();
  },
);

t.test('DUR-1 · work of live sessions is never read, however much of it there is', (t) => {
  const { due } = createMemoryTables().tables;
  for (let at = 0; at < 1_000; at += 1) addWork(due, workKey('runs', `k${at}`, { dueAtMs: at, heldBy: 's1' }));
  addWork(due, workKey('runs', 'free', { dueAtMs: 5_000, heldBy: 's2' }));
  let looked = 0;
  const counted = {
    ...due,
    keys(range: Parameters<typeof due.keys>[0]) {
      const found = due.keys(range);
      looked += found.length;
      return found;
    },
  };
  const found = freeWork(counted, 'runs', { dueBeforeMs: 9_999, limit: 500, isLeft: (holder) => holder === 's1' });
  t.same(
    found.map(({ key }) => key),
    ['free'],
  );
  t.ok(looked < 10, `${looked} keys were looked at`);
  t.end();
});

t.test('DUR-1 · whatever is held by whom, the free and due of it is found in order', async () => {
  const work = fc.record({
    dueAtMs: fc.nat(50),
    heldBy: fc.constantFrom(undefined, 's1', 's10', 's2', 'no/session'),
  });
  fc.assert(
    fc.property(
      fc.array(work, { maxLength: 40 }),
      fc.nat(60),
      fc.subarray(['s1', 's10', 's2']),
      fc.integer({ min: 1, max: 45 }),
      (all, until, living, max) => {
        const { due } = createMemoryTables().tables;
        const named = all.map((one, at) => ({ ...one, key: `k${String(at).padStart(2, '0')}` }));
        for (const { key, ...one } of named) addWork(due, workKey('runs', key, one));
        const isLiving = (session: string): boolean => living.includes(session);
        const expected = named
          .filter(({ dueAtMs, heldBy }) => dueAtMs <= until && (heldBy === undefined || !isLiving(heldBy)))
          .sort((one, other) => one.dueAtMs - other.dueAtMs || (one.key < other.key ? -1 : 1))
          .slice(0, max);
        const found = freeWork(due, 'runs', { dueBeforeMs: until, limit: max, isLeft: isLiving });
        return found.map(({ key }) => key).join() === expected.map(({ key }) => key).join();
      },
    ),
  );
});
