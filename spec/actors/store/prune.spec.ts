import t from 'tap';
import type { Collection, Write } from '../../../actors/store/journal.ts';
import { apply } from '../../../actors/store/ledger.ts';
import { createMemoryTables } from '../../../actors/store/memory-journal.ts';
import { ageing, type Piece, pruneClaims, type Spent, shrinking } from '../../../actors/store/prune.ts';
import type { Engine } from '../../../actors/store/tables.ts';
import { claimName } from '../../../machines/webhook/record.ts';

const all = { limit: 1_000_000 };
const endless: Spent = () => false;

function stage(...writes: readonly Write[]) {
  const { tables, usedBytes } = createMemoryTables();
  for (const write of writes) apply(tables, [write], 0);
  const engine = { tables, usedBytes } as unknown as Engine;
  return { tables, engine, usedBytes, keys: (collection: Collection) => tables[collection].keys(all) };
}

function put(collection: Collection, key: string, value: object = {}, dueAtMs?: number): Write {
  return { kind: 'put', collection, key, value: { ...value }, ...(dueAtMs === undefined ? {} : { dueAtMs }) };
}

/** Asks for pieces until there is no more. */
function toTheEnd(next: (spent: Spent) => Piece): number {
  for (let removed = 0; ; ) {
    const piece = next(endless);
    removed += piece.removed;
    if (!piece.more) return removed;
  }
}

t.test('DUR-1 · DUR-2 · what is still to be done stays, and the event that it came of with it', (t) => {
  const { engine, keys } = stage(
    put('events', 'a1', { work: 'a1' }),
    put('runs', 'a1', {}, 5),
    put('events', 'a2', { work: 'a2' }),
    put('deliveries', 'a2', {}, 5),
    put('runs', 'a2'),
    put('events', 'a3', { work: 'a1' }),
    put('events', 'a4', { work: 7 }),
    put('events', 'a5', { work: 'x'.repeat(5_000) }),
  );
  t.equal(toTheEnd(ageing(engine, 'z', 0)), 3, 'the run of a2, and the events of a4 and a5');
  t.same(keys('events'), ['a1', 'a2', 'a3']);
  t.same([keys('runs'), keys('deliveries')], [['a1'], ['a2']]);
  t.end();
});

t.test('DUR-2 · a store that is too big forgets its oldest, until it is not', (t) => {
  const writes = Array.from({ length: 400 }, (_, at) => put('events', `k${1_000 + at}`, { text: 'x'.repeat(100) }));
  const { engine, keys, usedBytes } = stage(...writes);
  const half = usedBytes() / 2;
  toTheEnd(shrinking(engine, half, 0));
  t.ok(usedBytes() <= half);
  const left = keys('events');
  t.equal(left.at(-1), 'k1399', 'the newest stays');
  t.equal(left.length, 1_400 - Number(left[0]?.slice(1)), 'what is left is one piece of the newest');
  t.ok(left.length > 150, 'and not much more than needed was forgotten');
  t.equal(toTheEnd(shrinking(engine, half, 0)), 0);

  const kinds = ['events', 'runs', 'deliveries', 'transcripts'] as const;
  const mixed = stage(
    ...Array.from({ length: 200 }, (_, at) =>
      put(kinds[at % kinds.length] ?? 'events', `k${1_000 + at}`, { text: 'x'.repeat(100) }),
    ),
  );
  toTheEnd(shrinking(mixed.engine, mixed.usedBytes() / 2, 0));
  const kept = kinds.flatMap((kind) => mixed.keys(kind)).sort();
  t.equal(kept.length, 1_200 - Number(kept[0]?.slice(1)), 'the oldest of all histories go first');
  t.end();
});

t.test('DUR-2 · forgetting is done in pieces, and ends at once where its time is up', (t) => {
  const writes = Array.from({ length: 450 }, (_, at) => put('events', `k${1_000 + at}`));
  const { engine, keys } = stage(...writes);
  const next = ageing(engine, 'z', 0);
  t.same(next(endless), { removed: 200, more: true });
  t.same(
    next(() => true),
    { removed: 0, more: true },
  );
  apply(engine.tables, [put('events', 'k1999')], 0);
  t.equal(toTheEnd(next), 251, 'with what came meanwhile');
  t.same(keys('events'), []);
  t.end();
});

t.test('IDM-2 · a claim is forgotten when its time has passed, and not before', (t) => {
  const claims = [10, 20, 30].map((forMs): Write => ({ kind: 'claim', name: `n/${forMs}`, value: {}, forMs }));
  const { tables } = stage(...claims);
  t.same(pruneClaims(tables, 9, endless), { removed: 0, more: false });
  t.same(pruneClaims(tables, 20, endless), { removed: 2, more: false });
  t.same(tables.claims.keys(all), ['n/30']);
  t.same(
    pruneClaims(tables, 99, () => true),
    { removed: 1, more: false },
    'one at least',
  );
  t.same([tables.claims.keys(all), tables.expiry.keys(all)], [[], []]);
  t.end();
});

t.test('IDM-1 · an id stays taken for its time, though its event is forgotten before', (t) => {
  const name = claimName('p', 'r', 'id');
  const { tables, engine } = stage();
  apply(
    tables,
    [
      { kind: 'claim', name, value: { eventKey: 'a' }, forMs: 50, event: 'a' },
      put('events', 'a', { profile: 'p', route: 'r', deliveryId: 'id' }),
    ],
    0,
  );
  t.equal(
    toTheEnd((spent) => pruneClaims(tables, 60, spent)),
    0,
    'kept as long as the event, to find it by',
  );
  t.equal(toTheEnd(ageing(engine, 'z', 0)), 1);
  t.equal(
    toTheEnd((spent) => pruneClaims(tables, 49, spent)),
    0,
  );
  t.same(tables.claims.keys(all), [name]);
  t.equal(
    toTheEnd((spent) => pruneClaims(tables, 50, spent)),
    1,
  );
  t.same(
    [tables.claims.keys(all), tables.expiry.keys(all), tables.marks.keys({ ...all, from: 'e/i', until: 'e/j' })],
    [[], [], []],
  );
  t.end();
});

t.test('DUR-2 · an id whose time is over goes with its event', (t) => {
  const { engine, tables, keys, usedBytes } = stage();
  for (let at = 1_000; at < 1_400; at += 1) {
    const eventKey = `k${at}`;
    const value = { profile: 'p', route: 'r', deliveryId: eventKey };
    apply(
      tables,
      [
        {
          kind: 'claim',
          name: claimName('p', 'r', eventKey),
          value: { eventKey },
          forMs: 50,
          event: eventKey,
        },
        put('events', eventKey, value),
      ],
      0,
    );
  }
  const half = usedBytes() / 2;

  toTheEnd(shrinking(engine, half, 50));

  const left = keys('events').length;
  t.ok(left > 100 && left < 400, `${left} of 400 events stay`);
  t.same([tables.claims.keys(all).length, tables.expiry.keys(all)], [left, []]);

  // As an earlier layout has it: the end of its time is written beside the claim, and would end the next one.
  const earlier = stage(
    { kind: 'claim', name: claimName('p', 'r', 'id'), value: { eventKey: 'a' }, forMs: 50 },
    put('events', 'a', { profile: 'p', route: 'r', deliveryId: 'id' }),
  );
  toTheEnd(ageing(earlier.engine, 'z', 50));
  t.same([earlier.tables.claims.keys(all), earlier.tables.expiry.keys(all)], [[], []]);
  t.end();
});
