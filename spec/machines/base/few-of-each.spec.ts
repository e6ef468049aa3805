import t from 'tap';
import { fewOfEach } from '../../../machines/base/few-of-each.ts';

t.test('INS-4 · many rows of one kind hide no other kind, and the order stays', (t) => {
  const rows = [...'aaaabbbc'].map((kind, at) => ({ kind, at }));
  const shown = (max: number) => fewOfEach(rows, max).map(({ at }) => at);
  t.same(shown(2), [0, 4]);
  t.same(shown(5), [0, 1, 2, 4, 7]);
  t.same(shown(8), [0, 1, 2, 3, 4, 5, 6, 7]);
  t.same(fewOfEach([], 3), []);
  t.end();
});
