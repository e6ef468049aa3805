import t from 'tap';
import { tellWritten } from '../../../runtime/dispatch/written.ts';

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
    tellWritten({ send: (told) => void heard.push(told) }, verdict);
    t.same(heard, [event]);
  }
  t.end();
});
