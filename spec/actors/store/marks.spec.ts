import t from 'tap';
import type { Write } from '../../../actors/store/journal.ts';
import { apply } from '../../../actors/store/ledger.ts';
import { markedKeys } from '../../../actors/store/marks.ts';
import { createMemoryTables } from '../../../actors/store/memory-journal.ts';
import { ageing, sweeping } from '../../../actors/store/prune.ts';
import { bareKey, type Engine, type Tables } from '../../../actors/store/tables.ts';
import { idMark, routeMark, statusMark, workMark } from '../../../machines/webhook/marks.ts';
import { claimName } from '../../../machines/webhook/record.ts';
import { timeKey } from '../../../runtime/system/ids.ts';
import { fc, runs } from '../../support/property.ts';

const startMs = 1_700_000_000_000;
const all = { limit: 1_000_000 };

function event(key: string, value: object): Write {
  const record = { route: 'busy', status: 'ignored', deliveryId: `id of ${key}`, ...value };
  return { kind: 'put', collection: 'events', key, value: record };
}

t.test('DUR-2 · writes one shared mark for all records of a few milliseconds', (t) => {
  const { tables } = createMemoryTables();
  for (let at = 0; at < 1_000; at += 1) apply(tables, [event(`${timeKey(startMs + at / 20)}${1_000 + at}`, {})], 0);
  const shared = tables.marks.keys(all).filter((mark) => !mark.startsWith('e/i'));
  // 50 ms, in stretches of eight milliseconds or less; the marks of the route, the status and both.
  t.ok(shared.length <= 3 * 12, `${shared.length} marks for 1,000 events`);
  t.equal(markedKeys(tables, 'events', { marks: [routeMark('busy')], limit: 5_000 }).length, 1_000);
  t.end();
});

t.test('DUR-2 · finds the events that led to work of another key, by ids and names of any spelling', (t) => {
  const { tables } = createMemoryTables();
  const odd = `a/b%2F/${'é'.repeat(400)}`;
  apply(tables, [event('first', { work: 'first' }), event('second', { work: 'first', deliveryId: odd })], 0);
  t.same(markedKeys(tables, 'events', { marks: [workMark('first')], limit: 9 }), ['second']);
  t.same(markedKeys(tables, 'events', { marks: [idMark(odd)], limit: 9 }), ['second']);
  t.same(markedKeys(tables, 'events', { marks: [idMark('a')], limit: 9 }), []);
  t.end();
});

t.test('DUR-2 · several marks find what has all of them, and nothing of another time', (t) => {
  const { tables } = createMemoryTables();
  const [early, late] = [`${timeKey(startMs)}0000`, `${timeKey(startMs + 60_000)}0000`];
  apply(tables, [event(early, {}), event(late, { status: 'failed' })], 0);
  t.same(markedKeys(tables, 'events', { marks: [routeMark('busy'), statusMark('ignored')], limit: 9 }), [early]);
  t.end();
});

t.test('DUR-2 · an id is found by its claims, page by page, and bears no mark while one leads to it', (t) => {
  const { tables } = createMemoryTables();
  const accept = (at: number): void => {
    const key = `k${at}`;
    const value = { profile: 'p', route: `r${at}`, deliveryId: 'a/b' };
    const name = claimName('p', `r${at}`, 'a/b');
    apply(tables, [{ kind: 'claim', name, value: { eventKey: key }, forMs: 9, event: key }, event(key, value)], 0);
  };
  for (let at = 10; at < 40; at += 1) accept(at);
  const marksOfIds = () => tables.marks.keys(all).filter((mark) => mark.startsWith('e/i'));
  t.same(marksOfIds(), []);

  const name = 'cron/p/j/k11';
  apply(tables, [{ kind: 'claim', name, value: { eventKey: 'k12' }, forMs: 9 }], 0);
  apply(tables, [{ kind: 'release', name }], 0);
  t.same(marksOfIds(), [], 'a name of something else leads to no event');
  // A third of the events go, another third give their id back.
  for (let at = 10; at < 40; at += 3) apply(tables, [{ kind: 'delete', collection: 'events', key: `k${at}` }], 0);
  for (let at = 11; at < 40; at += 3) apply(tables, [{ kind: 'release', name: claimName('p', `r${at}`, 'a/b') }], 0);

  const expected = Array.from({ length: 30 }, (_, at) => `k${39 - at}`).filter((_, at) => at % 3 !== 2);
  for (const limit of [1, 2, 3, 7, 99]) {
    const found: string[] = [];
    for (let from: string | undefined; ; from = found.at(-1)) {
      const query = { marks: [idMark('a/b')], limit, ...(from === undefined ? {} : { from }) };
      const page = markedKeys(tables, 'events', query);
      found.push(...page);
      if (page.length < limit) break;
    }
    t.same(found, expected, `by ${limit}`);
  }
  t.end();
});

t.test('DUR-2 · marks all events of some work by what became of it, however many came beside them', (t) => {
  const { tables } = createMemoryTables();
  const key = (ms: number, at: number) => `${timeKey(startMs + ms)}${String(at).padStart(6, '0')}`;
  const members = [key(0, 0), key(0, 1), key(20, 0), key(90, 0)];
  apply(
    tables,
    members.map((member) => event(member, { work: key(0, 0), status: 'coalesced' })),
    0,
  );
  const other = { version: 1, dueAtMs: undefined, heldBy: undefined, value: { route: 'idle', work: 'other' } };
  for (let at = 1; at < 105_000; at += 1) tables.events.create(key(90, at), other);

  apply(
    tables,
    [{ kind: 'put', collection: 'runs', key: key(0, 0), value: { route: 'busy', status: 'delivered' } }],
    0,
  );

  const found = new Set(markedKeys(tables, 'events', { marks: [statusMark('delivered', 'busy')], limit: 999_999 }));
  t.same(
    members.filter((member) => !found.has(member)),
    [],
  );
  t.same(
    markedKeys(tables, 'events', { marks: [statusMark('delivered', 'idle')], limit: 9 }),
    [],
    'and none of theirs',
  );
  t.end();
});

t.test(
  'DUR-2 · what led to some work is found among any neighbours, each once and in order, whatever the page',
  async (t) => {
    const one = fc.record({ ms: fc.nat(60), work: fc.constantFrom('w0', 'w1', 'none') });
    fc.assert(
      fc.property(
        fc.array(one, { maxLength: 60 }),
        fc.integer({ min: 1, max: 7 }),
        fc.boolean(),
        (events, limit, pair) => {
          const { tables } = createMemoryTables();
          // Of two gateways, each remembers only what it has marked itself.
          const other = { ...tables, recentMarks: new Map<string, string>() };
          const keys = events.map(({ ms }, index) => `${timeKey(startMs + ms)}${1_000 + index}`);
          for (const [index, { work }] of events.entries()) {
            const key = keys[index] ?? '';
            apply(pair && index % 3 === 0 ? other : tables, [event(key, { work: work === 'none' ? key : work })], 0);
          }
          return ['w0', 'w1'].every((work) => {
            const found: string[] = [];
            for (let from: string | undefined; ; from = found.at(-1)) {
              const marks = [workMark(work)];
              const page = markedKeys(tables, 'events', { marks, limit, ...(from === undefined ? {} : { from }) });
              found.push(...page);
              if (page.length < limit) break;
            }
            const isInOrder = found.join() === [...new Set(found)].sort().reverse().join();
            return isInOrder && keys.every((key, index) => events[index]?.work !== work || found.includes(key));
          });
        },
      ),
      { numRuns: runs(500) },
    );
    const { tables } = createMemoryTables();
    for (let at = 0; at < 400; at += 1) {
      apply(tables, [event(`${timeKey(startMs + at / 2)}${1_000 + at}`, { work: at % 40 === 0 ? 'rare' : 'busy' })], 0);
    }
    const placesOf = (work: string): number =>
      tables.marks.keys({ ...all, from: `e/${workMark(work)}/`, until: `e/${workMark(work)}0` }).length;
    t.same([markedKeys(tables, 'events', { marks: [workMark('rare')], limit: 99 }).length, placesOf('rare')], [10, 10]);
    t.ok(placesOf('busy') <= 2 * 36, 'two marks for each stretch');
  },
);

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
      for (const key of keys) apply(tables, [event(key, {})], 0);
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
    { numRuns: runs(300) },
  );
});

t.test('DUR-2 · forgets the marks of the records that are forgotten, in pieces', (t) => {
  const { tables } = createMemoryTables();
  const engine = { tables } as Engine;
  for (let at = 0; at < 500; at += 1) {
    const key = `${timeKey(startMs + at * 10)}0000`;
    const more = at % 2 === 0 ? { work: timeKey(startMs) } : { replayOf: timeKey(startMs + at) };
    apply(tables, [event(key, { route: `route-${at % 50}`, ...more })], 0);
  }
  // As layout 3 has them: work that had events, and its events each by its key.
  tables.marks.write(`e/${workMark(timeKey(startMs))}/`, bareKey);
  tables.marks.write(`e/${workMark(timeKey(startMs))}/${timeKey(startMs + 20)}0000`, bareKey);
  const forgottenTo = timeKey(startMs + 2_500);
  run(ageing(engine, forgottenTo, 0));
  const pieces = run(sweeping(engine));
  t.ok(pieces > 50, `${pieces} pieces`);
  t.equal(tables.events.keys(all).length, 250);
  const left = tables.marks.keys(all).map((mark) => mark.slice(mark.lastIndexOf('/') + 1));
  t.same(
    left.filter((place) => place < forgottenTo.slice(0, 8)),
    [],
    'none leads to what is gone',
  );
  t.equal(tables.marks.keys(all).filter((mark) => mark.startsWith('e/i')).length, 250);

  run(ageing(engine, timeKey(startMs + 9_999), 0));
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

t.test('DUR-2 · an event shows the end of its own run, and that of the delivery where it has no run', (t) => {
  const { tables } = createMemoryTables();
  const put = (
    collection: 'runs' | 'deliveries',
    key: string,
    value: object,
    dueAtMs: number | null = null,
  ): Write => ({
    kind: 'put',
    collection,
    key,
    value: { route: 'busy', eventKey: key, ...value },
    dueAtMs,
  });
  const shown = (status: string) => markedKeys(tables, 'events', { marks: [statusMark(status, 'busy')], limit: 9 });
  for (const key of ['run', 'direct', 'gone']) apply(tables, [event(key, { work: key, status: 'accepted' })], 0);

  apply(tables, [put('runs', 'run', { status: 'failed' }, 1)], 0);
  t.same(shown('failed'), [], 'none while the run is due again');

  apply(
    tables,
    [put('deliveries', 'run', { runKey: 'run', status: 'delivered' }), put('runs', 'run', { status: 'failed' })],
    0,
  );
  apply(tables, [put('deliveries', 'direct', { status: 'delivered' })], 0);
  t.same([shown('failed'), shown('delivered')], [['run'], ['direct']], 'that of the run, whichever is written first');
  apply(tables, [put('deliveries', 'gone', { runKey: 'gone', status: 'unknown' })], 0);
  t.same(shown('unknown'), ['gone'], 'that of the delivery, where the history has the run no more');
  t.end();
});
