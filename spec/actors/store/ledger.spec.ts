import t from 'tap';
import type { Write } from '../../../actors/store/journal.ts';
import { timeText } from '../../../actors/store/keys.ts';
import { apply, isKey, unstorable } from '../../../actors/store/ledger.ts';
import { markedKeys } from '../../../actors/store/marks.ts';
import { createMemoryTables } from '../../../actors/store/memory-journal.ts';
import { pruneClaims } from '../../../actors/store/prune.ts';
import { type Tables, tableNames } from '../../../actors/store/tables.ts';
import { workKey } from '../../../actors/store/work-index.ts';
import { claimOfEvent, idMark } from '../../../machines/webhook/marks.ts';
import { claimName } from '../../../machines/webhook/record.ts';
import { fc, runs } from '../../support/property.ts';

const all = { limit: 1000 };
const key = fc.constantFrom('k0', 'k1');
const time = fc.nat(3);
const write: fc.Arbitrary<Write> = fc.oneof(
  fc.record({
    kind: fc.constant('claim' as const),
    name: fc.constantFrom('n0', 'n1'),
    value: fc.constant({}),
    forMs: time,
  }),
  fc.record({
    kind: fc.constant('release' as const),
    name: fc.constantFrom('r0', 'r1').map((route) => claimName('p', route, 'id')),
  }),
  fc.record({ kind: fc.constant('release' as const), name: fc.constantFrom('n0', 'n1') }),
  fc.record(
    {
      kind: fc.constant('put' as const),
      collection: fc.constantFrom('events', 'runs'),
      key,
      value: fc.constant({}),
      expect: fc.constantFrom<'absent' | number>('absent', 1, 2),
      dueAtMs: time,
      heldBy: fc.constantFrom('s1', 's2'),
    },
    { requiredKeys: ['kind', 'collection', 'key', 'value'] },
  ),
  fc.record(
    { kind: fc.constant('delete' as const), collection: fc.constantFrom('events', 'runs'), key, expect: fc.nat(2) },
    { requiredKeys: ['kind', 'collection', 'key'] },
  ),
);

const ofId = fc.record({
  profile: fc.constant('p'),
  route: fc.constantFrom('r0', 'r1'),
  deliveryId: fc.constant('id'),
});
/** An event as a gateway accepts it, with the claim of its id; also one that takes the place of another. */
const accepted: fc.Arbitrary<Write[]> = fc
  .record({ value: ofId, key, forMs: time, instead: fc.constantFrom('put', 'delete', undefined) })
  .map(({ value, key, forMs, instead }) => {
    const name = claimName(value.profile, value.route, value.deliveryId);
    const put: Write = { kind: 'put', collection: 'events', key, value };
    return [
      { kind: 'claim', name, value: { eventKey: key }, forMs, event: key },
      ...(instead === 'delete' ? [{ kind: 'delete' as const, collection: 'events' as const, key }] : []),
      instead === 'put' ? put : { ...put, expect: 'absent' },
    ];
  });
const commit = (max: number): fc.Arbitrary<Write[]> =>
  fc
    .array(fc.oneof({ weight: 3, arbitrary: write.map((one) => [one]) }, { weight: 2, arbitrary: accepted }), {
      minLength: 1,
      maxLength: max,
    })
    .map((writes) => writes.flat());

/** Everything in the tables, as text. */
function contents(tables: Tables): string[] {
  return tableNames.flatMap((name) =>
    tables[name].keys(all).map((key) => `${name} ${key} ${JSON.stringify(tables[name].read(key))}`),
  );
}

t.test('DUR-1 · leaves not a byte of a refused commit', async () => {
  const commits = fc.array(commit(6), { maxLength: 12 });
  fc.assert(
    fc.property(commits, (commits) => {
      const { tables } = createMemoryTables();
      return commits.every((writes) => {
        const before = contents(tables);
        const { kind } = apply(tables, writes, 0);
        return kind === 'committed' || before.join() === contents(tables).join();
      });
    }),
    { numRuns: runs(500) },
  );
});

t.test('DUR-1 · keeps in its indexes what the records and claims say, and nothing else', async () => {
  const commits = fc.array(commit(4), { maxLength: 12 });
  fc.assert(
    fc.property(commits, (commits) => {
      const { tables } = createMemoryTables();
      for (const writes of commits) apply(tables, writes, 0);
      const work = (['events', 'runs'] as const).flatMap((collection) =>
        tables[collection].keys(all).flatMap((key) => {
          const head = tables[collection].head(key);
          return (head && workKey(collection, key, head)) ?? [];
        }),
      );
      const ends = new Set(tables.expiry.keys(all));
      const endless = tables.claims.keys(all).filter((name) => {
        const end = `${timeText(tables.claims.head(name)?.dueAtMs ?? -1)}/${name}`;
        return !ends.delete(end);
      });
      return (
        work.sort().join() === tables.due.keys(all).join() &&
        ends.size === 0 &&
        endless.every((name) => nameOfEvent(tables, tables.claims.read(name)?.value?.eventKey) === name)
      );
    }),
    { numRuns: runs(500) },
  );
});

t.test('IDM-1 · DUR-2 · an id is taken until its time, and leads to its events while they are kept', async () => {
  const step = fc.oneof({ weight: 4, arbitrary: commit(3) }, { weight: 1, arbitrary: fc.constant('prune' as const) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 14 }), (steps) => {
      const { tables } = createMemoryTables();
      let taken = new Map<string, number>();
      return steps.every((step, nowMs) => {
        if (step === 'prune') {
          pruneClaims(tables, nowMs, () => false);
        } else {
          const after = claimsAfter(taken, step, nowMs);
          const { kind } = apply(tables, step, nowMs);
          if (kind !== 'stale' && (kind === 'claimed') !== (after === undefined)) return false;
          if (kind === 'committed') taken = after ?? taken;
        }
        const found = new Set(markedKeys(tables, 'events', { marks: [idMark('id')], limit: 99 }));
        return tables.events.keys(all).every((key) => nameOfEvent(tables, key) === undefined || found.has(key));
      });
    }),
    { numRuns: runs(1_000) },
  );
});

/** A write as it is made at a time. */
/** The names that are taken after a commit; undefined where one of them refuses it. */
function claimsAfter(
  taken: ReadonlyMap<string, number>,
  writes: readonly Write[],
  nowMs: number,
): Map<string, number> | undefined {
  const after = new Map(taken);
  for (const write of writes) {
    if (write.kind === 'release') after.delete(write.name);
    if (write.kind !== 'claim') continue;
    if ((after.get(write.name) ?? -1) > nowMs) return undefined;
    after.set(write.name, nowMs + write.forMs);
  }
  return after;
}

function nameOfEvent(tables: Tables, key: unknown): string | undefined {
  const event = typeof key === 'string' ? tables.events.read(key)?.value : undefined;
  return event && claimOfEvent(event);
}

t.test('DUR-1 · says which commits cannot be stored at all', async (t) => {
  const put = (key: string, heldBy?: string): Write => ({
    kind: 'put',
    collection: 'runs',
    key,
    value: {},
    ...(heldBy === undefined ? {} : { heldBy }),
  });
  const rows: readonly (readonly [Write, boolean])[] = [
    [put('k'), true],
    [put('k'.repeat(620), 's'.repeat(32)), true],
    [put(''), false],
    [put('k'.repeat(621)), false],
    [put('k', 's'.repeat(33)), false],
    [{ kind: 'delete', collection: 'runs', key: '' }, false],
    [{ kind: 'release', name: '' }, true],
  ];
  for (const [write, storable] of rows) t.equal(unstorable([write]) === undefined, storable, JSON.stringify(write));
  t.equal(isKey(''), false);
});
