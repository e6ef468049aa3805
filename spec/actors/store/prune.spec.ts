import t from 'tap';
import type { Collection, Write } from '../../../actors/store/journal.ts';
import { apply } from '../../../actors/store/ledger.ts';
import { createMemoryTables } from '../../../actors/store/memory-journal.ts';
import { ageing, type Piece, pruneClaims, type Spent } from '../../../actors/store/prune.ts';
import type { Engine } from '../../../actors/store/tables.ts';
import { claimName } from '../../../machines/webhook/record.ts';

const all = { limit: 1_000_000 };
const endless: Spent = () => false;

function stage(...writes: readonly Write[]) {
  const { tables, usedBytes } = createMemoryTables();
  for (const write of writes) apply(tables, [write], 0);
  const engine = { tables, usedBytes } as unknown as Engine;
  return { tables, engine };
}

function put(collection: Collection, key: string, value: object = {}): Write {
  return { kind: 'put', collection, key, value: { ...value } };
}

/** Asks for pieces until there is no more. */
function toTheEnd(next: (spent: Spent) => Piece): number {
  for (let removed = 0; ; ) {
    const piece = next(endless);
    removed += piece.removed;
    if (!piece.more) return removed;
  }
}

t.test('DUR-2 · forgetting is done in pieces, and ends at once where its time is up', (t) => {
  const writes = Array.from({ length: 450 }, (_, at) => put('events', `k${1_000 + at}`));
  const { engine, tables } = stage(...writes);
  const next = ageing(engine, 'z', 0);
  t.same(next(endless), { removed: 200, more: true });
  t.same(
    next(() => true),
    { removed: 0, more: true },
  );
  apply(tables, [put('events', 'k1999')], 0);
  t.equal(toTheEnd(next), 251, 'with what came meanwhile');
  t.same(tables.events.keys(all), []);
  t.end();
});

t.test('IDM-2 · of the claims whose time is over at least one is forgotten, however little time there is', (t) => {
  const claims = [10, 20, 30].map((forMs): Write => ({ kind: 'claim', name: `n/${forMs}`, value: {}, forMs }));
  const { tables } = stage(...claims);
  t.same(pruneClaims(tables, 20, endless), { removed: 2, more: false });
  t.same(
    pruneClaims(tables, 99, () => true),
    { removed: 1, more: false },
  );
  t.same([tables.claims.keys(all), tables.expiry.keys(all)], [[], []]);
  t.end();
});

t.test(
  'IDM-1 · DUR-2 · an id of an earlier layout, whose end is written beside its claim, goes with its event',
  (t) => {
    const { engine, tables } = stage(
      { kind: 'claim', name: claimName('p', 'r', 'id'), value: { eventKey: 'a' }, forMs: 50 },
      put('events', 'a', { profile: 'p', route: 'r', deliveryId: 'id' }),
    );
    toTheEnd(ageing(engine, 'z', 50));
    t.same([tables.claims.keys(all), tables.expiry.keys(all)], [[], []], 'its end would end the next claim');
    t.end();
  },
);
