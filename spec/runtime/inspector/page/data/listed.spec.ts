import t from 'tap';
import {
  endOf,
  isFull,
  type Listed,
  lacks,
  nothingListed,
  reaching,
  withAnew,
  withNewest,
  withOlder,
} from '../../../../../runtime/inspector/page/data/listed.ts';
import { fc, runs } from '../../../../support/property.ts';

interface Row {
  readonly key: string;
  readonly status?: string;
}

/** Rows of these numbers, newest first. */
const rows = (from: number, to: number): readonly Row[] =>
  Array.from({ length: Math.max(0, from - to + 1) }, (_, at) => ({ key: String(from - at).padStart(5, '0') }));
const limit = 5;

t.test('DUR-2 · a short page is all there is, a full one is not', async (t) => {
  t.same(withNewest<Row>(nothingListed, rows(3, 1), limit), { rows: rows(3, 1), isWhole: true });
  t.same(withNewest<Row>(nothingListed, rows(9, 5), limit), { rows: rows(9, 5), isWhole: false });
  t.same(withNewest<Row>(nothingListed, [], limit), { rows: [], isWhole: true });
});

t.test('DUR-2 · older pages follow without a gap, also when newer rows come meanwhile', async (t) => {
  const first = withNewest<Row>(nothingListed, rows(9, 5), limit);
  const second = withOlder(first, { before: endOf(first), older: rows(4, 1), limit });
  t.match(second, { rows: rows(9, 1), isWhole: true, reach: '00001' });
  t.match(withNewest(second, rows(12, 8), limit), { rows: rows(12, 1), isWhole: true });
  t.match(withNewest(second, rows(40, 36), limit), { rows: rows(40, 36), isWhole: false }, 'too many came at once');
  t.equal(withOlder(first, { before: '00099', older: rows(98, 94), limit }), first, 'a page of another list');
});

t.test('INS-2 · what sinks below the newest page is let go unless older ones were asked for', async (t) => {
  const first = withNewest<Row>(nothingListed, rows(9, 5), limit);
  t.same(withNewest(first, rows(12, 8), limit), { rows: rows(12, 8), isWhole: false });
  const wanted = reaching(first);
  t.same(withNewest(wanted, rows(12, 8), limit), { rows: rows(12, 5), isWhole: false, reach: '00005' });
  t.equal(reaching(wanted), wanted);
});

t.test('INS-2 · the list holds no more than it may, and lets the oldest go', async (t) => {
  const most = 8;
  const first = reaching(withNewest<Row>(nothingListed, rows(20, 16), limit));
  const full = withOlder(first, { before: endOf(first), older: rows(15, 11), limit }, most);
  t.same(full, { rows: rows(20, 13), isWhole: false, reach: '00013' });
  t.ok(isFull(full, most));
  t.notOk(isFull(first, most));
  t.same(withNewest(full, rows(22, 18), limit, most), { rows: rows(22, 15), isWhole: false, reach: '00015' });
});

/** A history whose rows change their status, or go, and of which those of one status or all are listed. */
function historyOf(filter: string | undefined) {
  const kept: Row[] = [];
  let last = 0;
  return {
    come(count: number) {
      for (let left = count; left > 0; left -= 1) {
        last += 1;
        kept.unshift({ key: String(last).padStart(5, '0'), status: 'running' });
      }
    },
    change(at: number, status: string) {
      const row = kept[at];
      if (row !== undefined) kept[at] = { ...row, status };
    },
    forget(count: number) {
      kept.splice(Math.max(0, kept.length - count));
    },
    page: (most: number, before = '~') =>
      kept.filter(({ key, status }) => key < before && (filter === undefined || status === filter)).slice(0, most),
  };
}

t.test(
  'DUR-2 · INS-2 · whatever comes, changes and goes, the list is what a fresh listing of its range is',
  async () => {
    const most = 25;
    const step = fc.oneof(
      fc.record({ come: fc.integer({ min: 0, max: 12 }) }),
      fc.record({ at: fc.nat({ max: 40 }), status: fc.constantFrom('running', 'delivered') }),
      fc.record({ forget: fc.integer({ min: 1, max: 4 }) }),
      fc.constant({ back: true } as const),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(undefined, 'running'),
        fc.array(step, { maxLength: 30 }),
        fc.array(step, { maxLength: 3 }),
        (filter, taken, meanwhile) => {
          const history = historyOf(filter);
          let held: Listed<Row> = nothingListed;
          const take = (one: (typeof taken)[number]): void => {
            if ('come' in one) history.come(one.come);
            else if ('forget' in one) history.forget(one.forget);
            else if ('status' in one) history.change(one.at, one.status);
            else if (!held.isWhole && !isFull(held, most)) {
              held = reaching(held);
              const before = endOf(held);
              held = withOlder(held, { before, older: history.page(limit, before), limit }, most);
            }
          };
          const look = (between: typeof taken): void => {
            let newest = history.page(limit);
            held = withNewest(held, newest, limit, most);
            let anew = withNewest<Row>(nothingListed, newest, limit, most);
            for (const one of between) take(one);
            if (between.length > 0) {
              newest = history.page(limit);
              held = withNewest(held, newest, limit, most);
            }
            while (lacks(anew, held, most)) {
              const before = endOf(anew);
              anew = withOlder(anew, { before, older: history.page(limit, before), limit }, most);
            }
            held = withAnew(held, anew, { newest, limit }, most);
          };
          history.come(12);
          for (const one of taken) {
            take(one);
            look([]);
            if (!isFresh(held, history.page(1_000), most)) return false;
          }
          look(meanwhile);
          look([]);
          return isFresh(held, history.page(1_000), most);
        },
      ),
      { numRuns: runs(500) },
    );
  },
);

function isFresh({ rows: shown, isWhole, reach }: Listed<Row>, all: readonly Row[], most: number): boolean {
  if (shown.length > most || (reach === undefined && shown.length > limit)) return false;
  if (JSON.stringify(shown) !== JSON.stringify(all.slice(0, shown.length))) return false;
  return !isWhole || shown.length === all.length;
}
