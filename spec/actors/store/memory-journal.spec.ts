import t from 'tap';
import type { Write } from '../../../actors/store/journal.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { journalContract, lentClock } from '../../conformance/journal.ts';
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

t.test('DUR-1 · tells every commit that it landed, though one that hears of it fails', async (t) => {
  const uncaught = new Promise((resolve) => process.setUncaughtExceptionCaptureCallback(resolve));
  t.teardown(() => process.setUncaughtExceptionCaptureCallback(null));
  const journal = openMemoryJournal();
  journal.submit([put('a')], () => {
    throw new Error('deaf');
  });

  t.same(await journal.commit([put('b')]), { kind: 'committed' });
  t.match(await uncaught, { message: 'deaf' });
});
