import t from 'tap';
import { readAgain, reportWritten } from '../../../runtime/dispatch/written.ts';

t.test('DUR-1 · a chart hears what became of its record, in its own words', (t) => {
  for (const [verdict, event] of [
    [{ kind: 'written' }, { type: 'journal.written' }],
    [{ kind: 'lost' }, { type: 'work.lost' }],
    [
      { kind: 'refused', reason: 'full' },
      { type: 'journal.refused', reason: 'full' },
    ],
  ] as const) {
    const heard: object[] = [];
    reportWritten({ send: (told) => void heard.push(told) }, verdict);
    t.same(heard, [event]);
  }
  t.end();
});

t.test('DUR-1 · SCA-2 · what a database does not answer is read until it does', async (t) => {
  // A gateway's sockets keep it alive, its waits do not.
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  let asked = 0;
  const read = async (): Promise<string> => {
    asked += 1;
    if (asked < 3) throw new Error('the database starts');
    return 'event';
  };
  t.equal(await readAgain(read, 1), 'event');
  t.equal(asked, 3);
});
