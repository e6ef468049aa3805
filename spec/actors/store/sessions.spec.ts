import t from 'tap';
import { createMemoryTables } from '../../../actors/store/memory-journal.ts';
import { beginSession, isLiving, prolongSession, removeSession } from '../../../actors/store/sessions.ts';

const day = 86_400_000;

t.test('DUR-1 · one that has been out of time for a day is forgotten with the next that begins', (t) => {
  const { tables } = createMemoryTables();
  const left = beginSession(tables, 'left', 1_000, 0);
  beginSession(tables, 'home', 1_000, 1_000 + day - 1);
  t.ok(prolongSession(tables, left, 0, 0), 'not a millisecond before');
  prolongSession(tables, left, 1_000, 0);
  beginSession(tables, 'home', 1_000, 1_000 + day);
  t.notOk(prolongSession(tables, left, 1_000, 1_000 + day));
  t.end();
});

t.test('DUR-1 · what is no id of a session is none, whatever it holds', (t) => {
  const { tables } = createMemoryTables();
  beginSession(tables, 'home', 1_000, 0);
  for (const id of ['', 's', 's-1', 's1/', 'S1', `s${'1'.repeat(16)}`, 'x'.repeat(5_000), '\u0000']) {
    t.notOk(isLiving(tables, id, 0), JSON.stringify(id.slice(0, 20)));
    t.notOk(prolongSession(tables, id, 1_000, 0));
    removeSession(tables, id);
  }
  t.ok(isLiving(tables, 's1', 0));
  t.end();
});
