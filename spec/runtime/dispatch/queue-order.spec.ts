import t from 'tap';
import { createQueueOrder } from '../../../runtime/dispatch/queue-order.ts';

t.test(
  'DLV-4 · the numbers of deliveries rise, also within a millisecond, with a clock set back and after a start',
  (t) => {
    const clock = { ms: 1_000.5 };
    const order = createQueueOrder(() => clock.ms);
    t.same([order.next(), order.next()], [1_000, 1_001]);
    clock.ms = 5_000;
    t.equal(order.next(), 5_000);
    clock.ms = 10;
    t.same([order.next(), order.last()], [5_001, 5_001]);

    const next = createQueueOrder(() => clock.ms);
    next.saw(5_001);
    next.saw(7);
    t.equal(next.next(), 5_002);
    t.end();
  },
);
