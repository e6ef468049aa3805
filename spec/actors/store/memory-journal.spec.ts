import t from 'tap';
import type { Write } from '../../../actors/store/journal.ts';
import { createMemoryTables, openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import type { Row } from '../../../actors/store/tables.ts';
import { journalContract, lentClock } from '../../conformance/journal.ts';
import { heldBytes } from '../../support/collect-garbage.ts';
import { runs } from '../../support/property.ts';
import { turn } from '../../support/turns.ts';

journalContract(t, 'memory', {
  async open() {
    const clock = lentClock();
    return { journal: openMemoryJournal(clock.nowMs), clock };
  },
  histories: runs(300),
});

const put = (key: string): Write => ({ kind: 'put', collection: 'runs', key, value: {}, expect: 'absent' });

t.test('DUR-1 · lands what comes in one turn together, and what comes of it in the next', async (t) => {
  const journal = openMemoryJournal();
  const told: unknown[] = [];
  const submit = (key: string, then = (): void => {}): void =>
    journal.submit([put(key)], ({ kind }) => {
      told.push([key, kind, journal.local?.list('runs', { order: 'oldest', limit: 9 }).length]);
      then();
    });

  submit('a', () => submit('c'));
  submit('a');
  submit('b');
  t.same([told, journal.local?.get('runs', 'a')], [[], undefined], 'nothing is seen before it lands');
  await turn();
  t.same(told, [
    ['a', 'committed', 2],
    ['a', 'stale', 2],
    ['b', 'committed', 2],
  ]);
  await turn();
  t.same(told.slice(3), [['c', 'committed', 3]]);
});

t.test('DUR-1 · lands what waits when it is closed, and nothing that comes of it', async (t) => {
  const journal = openMemoryJournal();
  const told: unknown[] = [];
  journal.submit([put('a')], (first) => {
    journal.submit([put('b')], (second) => told.push(first.kind, second.kind));
  });

  await journal.close();

  t.same(told, ['committed', 'unavailable']);
});

t.test('DUR-1 · reports every commit that it landed, though one that hears of it fails', async (t) => {
  const uncaught = new Promise((resolve) => process.setUncaughtExceptionCaptureCallback(resolve));
  t.teardown(() => process.setUncaughtExceptionCaptureCallback(null));
  const journal = openMemoryJournal();
  journal.submit([put('a')], () => {
    throw new Error('deaf');
  });

  t.same(await journal.commit([put('b')]), { kind: 'committed' });
  t.match(await uncaught, { message: 'deaf' });
});

const row = (text: string): Row => ({ version: 1, dueAtMs: undefined, heldBy: undefined, value: { body: text } });

t.test('DUR-2 · an event that is removed or written over leaves its place to those that follow', (t) => {
  const { tables, usedBytes } = createMemoryTables();
  const { events } = tables;
  const large = row('x'.repeat(900_000));
  const before = heldBytes();
  for (let at = 0; at < 100; at += 1) {
    events.create(`k${at}`, large);
    events.write(`k${at}`, large);
    events.remove(`k${at}`);
  }
  const grownBy = heldBytes() - before;
  t.ok(grownBy < 20_000_000, `${grownBy} bytes for one event at a time`);
  t.equal(usedBytes(), 0);
  t.end();
});

t.test('SEC-6 · the claims of one event share a row in memory, and end one by one', (t) => {
  const { claims } = createMemoryTables().tables;
  const value = { eventKey: 'k1' };
  const claim = (dueAtMs: number, of = value): Row => ({ version: 0, dueAtMs, heldBy: undefined, value: of });

  claims.create('delivery/d1', claim(1));
  claims.create('signature/s1', claim(1));
  claims.create('later', claim(2));
  claims.create('of another event', claim(2, { eventKey: 'k2' }));

  t.equal(claims.read('signature/s1'), claims.read('delivery/d1'));
  t.same(claims.read('later'), claim(2));
  t.same(claims.read('of another event'), claim(2, { eventKey: 'k2' }));
  claims.remove('delivery/d1');
  t.equal(claims.read('delivery/d1'), undefined);
  t.same(claims.read('signature/s1'), claim(1));
  t.end();
});
