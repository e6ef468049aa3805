import t from 'tap';
import {
  lineUp,
  movedOnes,
  nextLeaveMs,
  nextOpen,
  type Shown,
  stayMs,
} from '../../../../../runtime/inspector/page/data/questions.ts';
import { fc } from '../../../../support/property.ts';

const rows = (...ids: readonly string[]): readonly { readonly id: string }[] => ids.map((id) => ({ id }));
const idsOf = (line: readonly Shown<{ readonly id: string }>[]): string =>
  line.map(({ row, endedAtMs }) => (endedAtMs === undefined ? row.id : `(${row.id})`)).join(' ');

t.test('TRU-1 · TRU-3 · what has ended keeps its place for a moment, and then leaves', async (t) => {
  const first = lineUp([], rows('a', 'b', 'c'), 1_000);
  t.equal(nextLeaveMs(first), undefined);

  const second = lineUp(first, rows('a', 'c'), 2_000);

  t.equal(idsOf(second), 'a (b) c');
  t.equal(nextLeaveMs(second), 2_000 + stayMs);
  const third = lineUp(second, rows('c', 'd'), 3_000);
  t.equal(idsOf(third), '(a) (b) c d');
  t.equal(idsOf(lineUp(third, rows('c', 'd'), 2_000 + stayMs)), '(a) c d');
  t.equal(idsOf(lineUp(third, rows('c', 'd'), 3_000 + stayMs)), 'c d');
  t.equal(idsOf(lineUp(second, rows('a', 'b', 'c'), 3_000)), 'a b c', 'one that was only missed is open again');
});

t.test('TRU-3 · the order is the daemon’s, and what is open is always there', async () => {
  const ids = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'));
  fc.assert(
    fc.property(fc.array(ids, { maxLength: 6 }), (lists) => {
      let line: readonly Shown<{ readonly id: string }>[] = [];
      for (const [at, list] of lists.entries()) {
        line = lineUp(line, rows(...[...list].sort()), at * 1_500);
        const open = line.filter(({ endedAtMs }) => endedAtMs === undefined).map(({ row }) => row.id);
        if ([...open].sort().join() !== [...list].sort().join()) return false;
        if (new Set(line.map(({ row }) => row.id)).size !== line.length) return false;
      }
      return true;
    }),
  );
});

t.test('TRU-3 · the keys go to the next question, or to one before, or nowhere', async (t) => {
  const line = lineUp(lineUp([], rows('a', 'b', 'c', 'd'), 0), rows('a', 'b', 'd'), 1);
  t.equal(nextOpen(line, 'b'), 'd', 'past what has ended');
  t.equal(nextOpen(line, 'd'), 'a');
  t.equal(nextOpen(lineUp([], rows('a'), 0), 'a'), undefined);
});

t.test('TRU-1 · what is new or elsewhere has moved, and nothing else', async (t) => {
  const before = new Map([
    ['a', 10],
    ['b', 200],
  ]);
  t.same(movedOnes(before, new Map(before)), []);
  t.same(movedOnes(before, new Map([['b', 200.5]])), [], 'what is gone has no place');
  t.same(
    movedOnes(
      before,
      new Map([
        ['a', 10],
        ['b', 10],
        ['c', 200],
      ]),
    ),
    ['b', 'c'],
  );
});
