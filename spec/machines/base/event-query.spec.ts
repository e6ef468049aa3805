import t from 'tap';
import {
  type EventQuery,
  filterNames,
  formatQuery,
  knownValues,
  partsOfQuery,
  readQuery,
  searchIn,
  statusesOf,
  withFilter,
} from '../../../machines/base/event-query.ts';
import { historyStatuses } from '../../../machines/base/status.ts';
import { fc } from '../../support/property.ts';

const text = fc
  .string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
  .map((one) => one.replaceAll('"', '').trim())
  .filter((one) => one !== '');
const query: fc.Arbitrary<EventQuery> = fc.record({
  texts: fc.array(text, { maxLength: 3 }),
  filters: fc
    .array(
      fc.constantFrom(...filterNames).chain((name) =>
        fc.tuple(
          fc.constant(name),
          fc.array(fc.constantFrom(...(knownValues[name] ?? ['a', 'b c', 'd:e', 'Ü'])), {
            minLength: 1,
            maxLength: 2,
          }),
        ),
      ),
      { maxLength: 4 },
    )
    .map((entries) => Object.fromEntries(entries)),
});

t.test('INS-4 · what a search is written as is read as that search', (t) => {
  fc.assert(
    fc.property(query, (given) => {
      t.same(readQuery(formatQuery(given)), { ok: true, query: given });
    }),
  );
  t.end();
});

t.test('INS-4 · any text is read or refused with the part that is wrong, and its parts lie in order', (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'ab: "status:failed'.split(''), 'route:', ' ', '//', 'Ä') }),
      (given) => {
        let last = 0;
        for (const { from, to } of partsOfQuery(given)) {
          t.ok(from >= last && to > from && to <= given.length);
          last = to;
        }
        const read = readQuery(given);
        if (!read.ok) t.ok(read.problem.length > 10);
      },
    ),
  );
  t.end();
});

t.test('INS-4 · words, phrases and filters', (t) => {
  const rows: readonly (readonly [string, EventQuery])[] = [
    ['', { texts: [], filters: {} }],
    ['checkout_4411 "not found"', { texts: ['checkout_4411', 'not found'], filters: {} }],
    ['route:stripe Route:"a b" x', { texts: ['x'], filters: { route: ['stripe', 'a b'] } }],
    ['STATUS:Failed is:REPLAY', { texts: [], filters: { status: ['failed'], is: ['replay'] } }],
    ['https://x.test/a "a:b" 12:30', { texts: ['https://x.test/a', 'a:b', '12:30'], filters: {} }],
    ['profile:"a b" "profile:work"', { texts: ['profile:work'], filters: { profile: ['a b'] } }],
    ['"open end', { texts: ['open end'], filters: {} }],
  ];
  for (const [given, wanted] of rows) t.same(readQuery(given), { ok: true, query: wanted }, given);
  const refused: readonly (readonly [string, RegExp])[] = [
    ['rute:stripe', /"rute:" is no filter; use one of route:, status:.*put "rute:stripe" in quotes/],
    ['status:broken', /"status:broken": status is one of open, delivered, failed/],
    ['x route:', /"route:" has no value; write route:<name>/],
    ['is:', /"is:" has no value; write is:replay/],
  ];
  for (const [given, problem] of refused) {
    const read = readQuery(given);
    t.match(read.ok ? '' : read.problem, problem);
  }
  t.end();
});

t.test('INS-4 · a filter is replaced where the rest of a search stays as it was typed', (t) => {
  t.equal(withFilter('x status:failed "a b"', 'status', ['open']), 'status:open x "a b"');
  t.equal(withFilter('status:failed', 'status', []), '');
  t.equal(withFilter('https://x', 'route', ['a b']), 'route:"a b" https://x');
  t.end();
});

t.test('INS-4 · a search is narrowed to a profile unless it names one itself', (t) => {
  for (const [given, profile, wanted] of [
    ['x', 'work', 'profile:work x'],
    ['x', undefined, 'x'],
    ['profile:"a b" x', 'work', 'profile:"a b" x'],
    ['"profile:home"', 'work', 'profile:work "profile:home"'],
  ] as const)
    t.equal(searchIn(given, profile), wanted);
  t.end();
});

t.test('INS-4 · the words after status: lead to every status of the history', (t) => {
  const words = knownValues.status ?? [];
  const reached = new Set(words.flatMap((word) => [...(statusesOf({ texts: [], filters: { status: [word] } }) ?? [])]));
  for (const status of historyStatuses) t.ok(reached.has(status), status);
  t.end();
});
