import t from 'tap';
import { heldRows } from '../../../../../runtime/inspector/page/data/held.ts';

interface Row {
  readonly id: string;
  readonly state: string;
}

const rows = (...ids: readonly string[]): readonly Row[] => ids.map((id) => ({ id, state: 'new' }));
const held = (stood: readonly Row[], now: readonly Row[]) => {
  const { shown, waiting, isLeast } = heldRows(stood, now, ({ id }) => id);
  return [shown.map(({ id }) => id).join(' '), isLeast ? `${waiting}+` : waiting];
};

t.test('INS-2 · rows keep their places while news waits above them', async (t) => {
  t.same(held(rows('c', 'b', 'a'), rows('e', 'd', 'c', 'b', 'a')), ['c b a', 2]);
  t.same(held(rows('c', 'b'), rows('c', 'b')), ['c b', 0]);
});

t.test('INS-2 · a changed row is updated in its place', async (t) => {
  const stood = [{ id: 'b', state: 'running' }, ...rows('a')];
  t.same(heldRows(stood, rows('c', 'b', 'a'), ({ id }) => id).shown, rows('b', 'a'));
});

t.test('INS-2 · older rows that were asked for come below, and a row that the newest page let go stays', async (t) => {
  t.same(held(rows('c', 'b'), rows('d', 'c', 'b', 'a')), ['c b a', 1]);
  t.same(held(rows('b', 'a'), rows('d', 'c', 'b')), ['b a', 2]);
  t.same(held(rows('b', 'a'), rows('d', 'c')), ['b a', '2+'], 'rows between them may not have been read');
  t.same(held(rows('b', 'a'), []), ['b a', 0]);
});
