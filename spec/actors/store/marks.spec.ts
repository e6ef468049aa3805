import fc from 'fast-check';
import t from 'tap';
import type { Write } from '../../../actors/store/journal.ts';
import { apply } from '../../../actors/store/ledger.ts';
import { markedKeys } from '../../../actors/store/marks.ts';
import { createMemoryTables } from '../../../actors/store/memory-tables.ts';
import { ageing } from '../../../actors/store/prune.ts';
import { sweeping } from '../../../actors/store/sweep.ts';
import type { Engine, Tables } from '../../../actors/store/tables.ts';
import { idMark, routeMark, statusMark, workMark } from '../../../machines/webhook/marks.ts';
import { timeKey } from '../../../runtime/ids.ts';

const startMs = 1_700_000_000_000;
const all = { limit: 1_000_000 };

function event(key: string, value: object): Write {
  const record = { route: 'busy', status: 'ignored', deliveryId: `id of ${key}`, ...value };
  return { kind: 'put', collection: 'events', key, value: record };
}

t.test('DUR-2 · writes one shared mark for all records of a few milliseconds', (t) => {
  const { tables } = createMemoryTables();
  for (let at = 0; at < 1_000; at += 1) apply(tables, [event(`${timeKey(startMs + at / 20)}${1_000 + at}`, {})]);
  const shared = tables.marks.keys(all).filter((mark) => !mark.startsWith('e/i'));
  // 50 ms, in stretches of eight milliseconds or less; the marks of the route, the status and both.
  t.ok(shared.length <= 3 * 12, `${shared.length} marks for 1,000 events`);
  t.equal(markedKeys(tables, 'events', { marks: [routeMark('busy')], limit: 5_000 }).length, 1_000);
  t.end();
});

t.test('DUR-2 · finds the events that led to work of another key, by ids and names of any spelling', (t) => {
  const { tables } = createMemoryTables();
  const odd = `a/b%2F/${'é'.repeat(400)}`;
  apply(tables, [event('first', { work: 'first' }), event('second', { work: 'first', deliveryId: odd })]);
  t.same(markedKeys(tables, 'events', { marks: [workMark('first')], limit: 9 }), ['second']);
  t.same(markedKeys(tables, 'events', { marks: [idMark(odd)], limit: 9 }), ['second']);
  t.same(markedKeys(tables, 'events', { marks: [idMark('a')], limit: 9 }), []);
  t.end();
});

t.test('DUR-2 · gives no record twice or in another order, whatever the page', async () => {
  const keys = fc.uniqueArray(
    fc.oneof(
      fc.nat(300).map((ms) => `${timeKey(startMs + ms)}0000`),
      fc.nat(99).map((ms) => timeKey(startMs + ms)),
      fc.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom('a', '/', '0', '~', 'Z') }),
    ),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(keys, fc.integer({ min: 1, max: 7 }), (keys, limit) => {
      const { tables } = createMemoryTables();
      for (const key of keys) apply(tables, [event(key, {})]);
      const found: string[] = [];
      for (let from: string | undefined; ; from = found.at(-1)) {
        const page = markedKeys(tables, 'events', {
          marks: [statusMark('ignored', 'busy'), routeMark('busy')],
          limit,
          ...(from === undefined ? {} : { from }),
        });
        found.push(...page);
        if (page.length < limit) break;
      }
      return found.join() === [...keys].sort().reverse().join();
    }),
    { numRuns: 300 },
  );
});

t.test('DUR-2 · forgets the marks of the records that are forgotten, in pieces', (t) => {
  const { tables } = createMemoryTables();
  const engine = { tables } as Engine;
  for (let at = 0; at < 500; at += 1) {
    const key = `${timeKey(startMs + at * 10)}0000`;
    apply(tables, [event(key, { route: `route-${at % 50}`, ...(at % 2 === 0 ? { work: timeKey(startMs) } : {}) })]);
  }
  const forgottenTo = timeKey(startMs + 2_500);
  run(ageing(engine, forgottenTo));
  const pieces = run(sweeping(engine));
  t.ok(pieces > 50, `${pieces} pieces`);
  t.equal(tables.events.keys(all).length, 250);
  const left = tables.marks.keys(all).map((mark) => mark.slice(mark.lastIndexOf('/') + 1));
  t.same(
    left.filter((place) => place !== '' && place < forgottenTo.slice(0, 8)),
    [],
    'none leads to what is gone',
  );
  t.equal(tables.marks.keys(all).filter((mark) => mark.startsWith('e/i')).length, 250);

  run(ageing(engine, timeKey(startMs + 9_999)));
  run(sweeping(engine));
  t.same(contents(tables), [], 'nothing is left of an empty history');
  t.end();
});

/** Runs a job to its end, each piece as short as it can be. */
function run(job: ReturnType<typeof sweeping>): number {
  for (let pieces = 1; ; pieces += 1) {
    let looks = 0;
    if (
      !job(() => {
        looks += 1;
        return looks > 1;
      }).more
    ) {
      return pieces;
    }
  }
}

function contents(tables: Tables): string[] {
  return [...tables.events.keys(all), ...tables.marks.keys(all)];
}
