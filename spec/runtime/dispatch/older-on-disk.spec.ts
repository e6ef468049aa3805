import t from 'tap';
import type { DeliveryRecord } from '../../../machines/webhook/record.ts';
import { createOlderOnDisk } from '../../../runtime/dispatch/older-on-disk.ts';
import { plainDelivery } from '../../support/records.ts';

function openOrder() {
  const clock = { ms: 0 };
  const onDisk = new Set<string>();
  const held: string[] = [];
  const asked: string[] = [];
  const left: string[] = [];
  const textOf = ({ text }: DeliveryRecord): string => text;
  const order = createOlderOnDisk({
    platforms: {
      ask: (record) => {
        asked.push(textOf(record));
        return () => void left.push(textOf(record));
      },
      hold: (record, where) => void held.push(`${textOf(record)} ${where}`),
      orderHoldMs: () => 1_000,
      chatOf: ({ target, extra }) => (target === 'log' ? undefined : String(extra.chat_id)),
    },
    isOnDisk: async (key) => onDisk.has(key),
    steadyMs: () => clock.ms,
  });
  const record = (text: string, queuedAtMs: number, more: Partial<DeliveryRecord> = {}): DeliveryRecord => ({
    ...{ ...plainDelivery, target: 'slack', status: 'queued', extra: { chat_id: 'C1' } },
    ...{ text, queuedAtMs },
    ...more,
  });
  const note = (text: string, queuedAtMs: number, more: Partial<DeliveryRecord> = {}, isElsewhere = false): void => {
    onDisk.add(text);
    order.note(text, record(text, queuedAtMs, more), isElsewhere);
  };
  const ask = (...given: Parameters<typeof record>) => order.ask(record(...given), () => {});
  return { clock, onDisk, held, asked, left, order, note, ask };
}

t.test(
  'DLV-4 · a new text asks once the youngest of its chat on disk has been taken up, the older ones at once',
  async (t) => {
    const it = openOrder();
    it.note('b', 20);
    it.note('a', 10);
    it.ask('new', 30);
    it.ask('newer', 40)();
    it.ask('newest', 50);
    it.ask('elsewhere', 30, { extra: { chat_id: 'C2' } });
    it.ask('of another profile', 30, { profile: 'work' });
    t.same(it.asked, ['elsewhere', 'of another profile']);

    it.onDisk.delete('a');
    it.ask('a', 10);
    await it.order.look();
    t.same(it.asked.slice(2), ['a'], 'b is still on disk');
    it.onDisk.delete('b');
    it.ask('b', 20, { target: 'slack' });
    await it.order.look();

    t.same(it.asked.slice(3), ['b', 'new', 'newest'], 'in their order, without the one that left');
    it.ask('after', 60)();
    t.same([it.asked.slice(6), it.left], [['after'], ['after']]);
    t.end();
  },
);

t.test('DLV-4 · nothing waits for what is on disk longer than its chat is kept, nor after a new start', async (t) => {
  const it = openOrder();
  it.note('a', 10);
  const leave = it.ask('new', 20);
  it.clock.ms = 999;
  await it.order.look();
  t.same(it.asked, []);
  it.clock.ms = 1_000;
  await it.order.look();
  t.same(it.asked, ['new']);
  leave();
  t.same(it.left, ['new']);

  it.note('y', 30);
  it.note('x', 25);
  it.ask('late', 40);
  it.clock.ms = 1_900;
  it.onDisk.delete('x');
  it.ask('x', 25);
  it.clock.ms = 2_500;
  await it.order.look();
  t.same(it.asked, ['new', 'x'], 'one was taken up in the meantime: much to send is no standstill');
  it.clock.ms = 2_900;
  await it.order.look();
  t.same(it.asked, ['new', 'x', 'late']);

  it.note('b', 50);
  it.ask('gone with its gateway', 60);
  it.order.clear();
  it.clock.ms = 9_000;
  await it.order.look();
  t.same(it.asked, ['new', 'x', 'late']);
  t.end();
});

t.test(
  'DLV-4 · one that waits for another try keeps its chat by itself; what is not sent in order keeps none',
  async (t) => {
    const it = openOrder();
    it.note('retried', 10, { status: 'waitingToRetry' });
    it.note('direct', 10, { answerByMs: 1 });
    it.note('cut off', 10, { answerByMs: 1, status: 'waitingToRetry' });
    it.note('logged', 10, { target: 'log' });
    it.ask('new', 20);
    it.ask('log', 20, { target: 'log' });
    t.same(
      [it.held, it.asked],
      [
        ['retried onDisk', 'cut off onDisk'],
        ['new', 'log'],
      ],
    );
    it.note('interrupted', 30, { answerByMs: 1, attempts: 0 });
    it.ask('newer', 40);
    t.same(it.asked, ['new', 'log'], 'a crash cut off the wait of its sender');
    t.end();
  },
);

t.test(
  'DLV-4 · a text is newer by its number, whatever the clock says; one that its sender waits for always is',
  async (t) => {
    const it = openOrder();
    it.note('a', 10_000, { order: 10_000 });
    it.note('b', 10, { order: 10_001 });
    it.ask('new', 20, { order: 10_002 });
    it.ask('direct', 5, { answerByMs: 1 });
    t.same(it.asked, []);

    it.ask('a', 10_000, { order: 10_000 });
    it.onDisk.delete('a');
    await it.order.look();
    t.same(it.asked, ['a'], 'b is still on disk');
    it.onDisk.delete('b');
    it.ask('b', 10, { order: 10_001 });
    await it.order.look();
    t.same(it.asked, ['a', 'b', 'new', 'direct']);
    t.end();
  },
);

t.test('SCA-1 · DLV-4 · what another gateway still sends comes first, whatever is taken up from disk', async (t) => {
  const it = openOrder();
  it.note('c', 30);
  it.note('b', 20);
  it.note('a', 10, { answerByMs: 1 }, true);
  it.ask('b', 20);
  it.ask('new', 40);
  it.ask('c', 30)();
  it.onDisk.delete('b');
  await it.order.look();
  t.same(it.asked, []);
  it.onDisk.delete('a');
  await it.order.look();
  t.same(it.asked, ['b'], 'c is still on disk');
  it.onDisk.delete('c');
  await it.order.look();
  t.same(it.asked, ['b', 'new']);

  it.note('x', 60, {}, true);
  it.ask('before', 50);
  it.ask('x', 60);
  it.ask('after', 70);
  t.same(it.asked.slice(2), ['before', 'x'], 'one that this gateway has taken over itself');
  it.clock.ms = 1_000;
  await it.order.look();
  t.same(it.asked.slice(4), ['after'], 'nor is it waited for longer than its chat is kept');
});
