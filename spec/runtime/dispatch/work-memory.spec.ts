import t from 'tap';
import { createWorkMemory } from '../../../runtime/dispatch/work-memory.ts';
import { plainDelivery } from '../../support/records.ts';

function memoryOf(given: { isShared?: boolean; leads?: boolean; isParked?: boolean; slots?: number } = {}) {
  const { isShared = false, leads = true, isParked = false, slots = 8 } = given;
  const pool = { size: 100, queues: new Map([['rdefault/busy', 100]]) };
  return createWorkMemory({
    keeper: { leads: () => leads } as never,
    pools: () => ({ runs: pool, deliveries: pool }) as never,
    places: { load: () => ({ running: 4, ready: 6, waiting: 90 }) as never },
    concurrency: () => slots,
    max: 1_000,
    isShared,
    isParked: () => isParked,
  });
}

t.test('DIS-3 · on a journal of its own a gateway takes runs up to half of its memory', (t) => {
  const memory = memoryOf({ isParked: true });
  t.strictSame([memory.bound(), memory.room(), memory.room('rdefault/busy')], [1_000, 400, 400]);
  t.end();
});

t.test('SCA-1 · on a shared journal it leaves runs that would get no slot soon, and when it drains takes none', (t) => {
  const memory = memoryOf({ isShared: true });
  // Four for each slot; those that wait for their route's limit do not count.
  t.strictSame([memory.bound(), memory.room()], [32, 22]);
  t.equal(memoryOf({ isShared: true, isParked: true }).room(), 0);
  t.ok(memoryOf({ isShared: true, slots: 0 }).room() <= 0, 'without slots none either');
  t.end();
});

t.test('SCA-1 · a gateway that is not the leader has no room for deliveries', (t) => {
  t.equal(memoryOf().crowded(plainDelivery), false);
  t.equal(memoryOf({ leads: false }).crowded(plainDelivery), true);
  t.equal(memoryOf({ leads: false }).inMemory('runs').max, 1_000);
  t.end();
});
