import t from 'tap';
import {
  deliveryQueue,
  deliveryShare,
  fullQueues,
  type Memory,
  queueOf,
  roomFor,
  runShare,
} from '../../../machines/webhook/work-queue.ts';
import { fc } from '../../support/property.ts';

t.test(
  'DIS-3 · DLV-4 · a run is in the queue of its route, a delivery in that of its target by any of its names',
  (t) => {
    t.equal(queueOf('runs', { profile: 'p', route: 'a/b', target: 'log' }), 'rp/a/b');
    t.equal(queueOf('deliveries', { profile: 'p', route: 'a', target: 'messenger_a' }), 'dp/telegram');
    t.equal(deliveryQueue({ profile: 'p', target: 'telegram' }), 'dp/telegram');
    for (const record of [{}, { profile: 7, route: 'a' }, { profile: 'p', route: 7 }])
      t.equal(queueOf('runs', record), undefined);
    t.equal(queueOf('events', { profile: 'p', route: 'a' }), undefined);
    t.end();
  },
);

t.test('DIS-3 · the share of a route is no smaller than what may run at once', (t) => {
  t.same([runShare(10_000, 4), runShare(10_000, 200), runShare(10_000, 9_000), runShare(4, 4)], [64, 400, 2_500, 1]);
  t.equal(deliveryShare(10_000), 5_000);
  t.end();
});

t.test('DIS-3 · DLV-4 · the memory never overflows, and queues that stand still leave room to another', (t) => {
  const arrivals = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(300)), { maxLength: 20 });
  fc.assert(
    fc.property(fc.integer({ min: 8, max: 400 }), arrivals, (max, all) => {
      const queues = new Map<string, number>();
      const memory = (): Memory => {
        const total = [...queues.values()].reduce((sum, one) => sum + one, 0);
        return { max, total, share: Math.floor(max / 8), queues };
      };
      for (const [queue, count] of all)
        for (let n = 0; n < count && roomFor(memory(), queue) > 0; n += 1)
          queues.set(queue, (queues.get(queue) ?? 0) + 1);
      for (const queue of queues.keys())
        if (fullQueues(memory()).includes(queue) !== (roomFor(memory(), queue) === 0)) return false;
      return memory().total <= max && roomFor(memory()) > 0;
    }),
  );
  t.end();
});
