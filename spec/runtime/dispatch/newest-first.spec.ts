import t from 'tap';
import type { Write } from '../../../actors/store/journal.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { newestFirst } from '../../../runtime/dispatch/newest-first.ts';

t.test('DUR-2 · the newest rows come first, over pages, and no more than are asked for', async (t) => {
  const journal = openMemoryJournal();
  const put = (number: number): Write => ({
    kind: 'put',
    collection: 'events',
    key: String(number).padStart(5, '0'),
    expect: 'absent',
    value: { number },
  });
  await journal.commit(Array.from({ length: 450 }, (_, number) => put(number)));
  const even = (limit: number): Promise<unknown[]> =>
    newestFirst(journal, { collection: 'events', limit }, ({ value }) => {
      const { number } = Object(value);
      return Number(number) % 2 === 0 ? number : undefined;
    });
  t.same(await even(3), [448, 446, 444]);
  t.equal((await even(120)).at(-1), 210, 'beyond the first page');
  t.equal((await even(1_000)).length, 225, 'what there is');
  const from = { collection: 'events', limit: 1_000, from: '00447' } as const;
  t.same(await newestFirst(journal, from, ({ key }) => key), ['00449', '00448', '00447'], 'from a key on');
  t.same(await newestFirst(journal, { collection: 'runs', limit: 5 }, ({ key }) => key), []);
  t.same(await newestFirst(undefined, { collection: 'events', limit: 5 }, ({ key }) => key), [], 'no journal is open');
});

t.test('CLI-6 · a long search lets the event loop turn after each page', async (t) => {
  const journal = openMemoryJournal();
  await journal.commit(
    Array.from({ length: 60 }, (_, number) => {
      const key = String(number).padStart(5, '0');
      return { kind: 'put', collection: 'events', key, expect: 'absent', value: { number } } as const;
    }),
  );
  const seen: string[] = [];
  let turned = '';
  setImmediate(() => {
    turned = seen.at(-1) ?? '';
  });
  await newestFirst(journal, { collection: 'events', limit: 1 }, ({ key }) => {
    seen.push(key);
    return undefined;
  });
  t.equal(seen.length, 60);
  t.equal(turned, '00040', 'another job ran between two pages');
});
