import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { copyJournal } from '../../../actors/store/copy-journal.ts';
import type { CommitVerdict, Journal, Write } from '../../../actors/store/journal.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { openPostgresJournal } from '../../../actors/store/postgres-journal.ts';
import { fault } from '../../../machines/base/fault.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { lentClock } from '../../conformance/journal.ts';
import { checkHistory, histories } from '../../conformance/journal-model.ts';
import { got } from '../../support/open-journal.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';
import { fc } from '../../support/property.ts';
import { inAllOnly } from '../../support/tier.ts';

const silent = (): void => {};
const collections = ['events', 'runs', 'deliveries', 'groups', 'transcripts'] as const;

t.test('SCA-1 · a copy holds what any history has left, and a second copy changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const clock = lentClock();
      const [from, to] = [openMemoryJournal(clock.nowMs), openMemoryJournal(clock.nowMs)];
      await checkHistory([from], clock, history);
      const first = await copyJournal(from, to, silent);
      const versions = await versionsOf(to);
      const second = await copyJournal(from, to, silent);
      return (
        first.ok &&
        second.ok &&
        isDeepStrictEqual(second.value, first.value) &&
        isDeepStrictEqual(await versionsOf(to), versions) &&
        isDeepStrictEqual(await contentOf(to), await contentOf(from))
      );
    }),
  );
});

t.test('SCA-1 · a copy that was cut off continues', async (t) => {
  const from = await filled(1_200);
  const to = openMemoryJournal(() => 0);
  let left = 700;
  const failing: Journal = {
    ...to,
    commit: async (writes): Promise<CommitVerdict> =>
      left-- > 0 ? to.commit(writes) : { kind: 'unavailable', fault: fault('journal-full', 'no room') },
  };
  const heard: number[] = [];
  t.match(await copyJournal(from, failing, (records) => heard.push(records)), {
    ok: false,
    fault: { code: 'journal-full' },
  });
  t.ok((heard.at(-1) ?? 0) > 400 && (heard.at(-1) ?? 0) < 700, 'the last page is not all there');
  t.same(await copyJournal(from, to, silent), { ok: true, value: { records: 1_200, claims: 1_200 } });
  t.same(await contentOf(to), await contentOf(from));
});

t.test('SCA-1 · large records are written in groups of some megabytes', async (t) => {
  const from = openMemoryJournal(() => 0);
  for (let n = 0; n < 20; n += 1) await from.commit([put(`k${10 + n}`, { filling: 'x'.repeat(1_000_000) })]);
  const to = openMemoryJournal(() => 0);
  const groups: number[] = [];
  const counting: Journal = {
    ...to,
    commit(writes) {
      groups.push((groups.pop() ?? 0) + 1);
      return to.commit(writes);
    },
    together(submitAll) {
      groups.push(0);
      to.together(submitAll);
    },
  };
  t.same(await copyJournal(from, counting, silent), { ok: true, value: { records: 20, claims: 0 } });
  t.same(groups, [9, 7, 4], 'pages of so much too');
});

t.test('SCA-1 · a journal is copied over a slow link, and back', { skip: withoutPostgres || inAllOnly }, async (t) => {
  const postgres = await startPostgres(t);
  const way = await postgres.lossy();
  way.slow(400);
  const from = openMemoryJournal(() => 0);
  for (let n = 0; n < 12; n += 1) await from.commit([put(`k${10 + n}`, { filling: 'x'.repeat(500_000) })]);
  const database = got(await openPostgresJournal({ url: way.url(await postgres.url()), alone: true }));
  const whole = { ok: true, value: { records: 12, claims: 0 } };
  t.same(await copyJournal(from, database, silent), whole);
  t.same(
    await copyJournal(
      database,
      openMemoryJournal(() => 0),
      silent,
    ),
    whole,
  );
  await database.close();
});

t.test('SCA-1 · nothing is written to a journal that has something else', async (t) => {
  const rows: readonly (readonly [string, Write])[] = [
    ['a record that the source lacks', put('z')],
    ['another value', put('k0001', { n: -1 })],
    ['another due time', { ...put('k0001', { n: 1 }), dueAtMs: 5 } as Write],
  ];
  for (const [what, write] of rows) {
    const to = openMemoryJournal(() => 0);
    await to.commit([write]);
    const before = await contentOf(to);
    const copied = await copyJournal(await filled(3), to, silent);
    t.match(
      copied,
      {
        ok: false,
        fault: { code: 'journal-differs', message: /"(z|k0001)" of runs; if a gateway has used the target/ },
      },
      what,
    );
    t.same(await contentOf(to), before);
  }
});

t.test('SCA-1 · COA-3 · a copy has no lock of a session, and a claim for each batch with an open run', async (t) => {
  const from = openMemoryJournal(() => 0);
  const claim = (name: string, value: JsonObject): Write => ({ kind: 'claim', name, value, forMs: 60_000 });
  await from.commit([
    { ...put('waits', { group: 'g1' }), dueAtMs: 1 } as Write,
    put('ended', { group: 'g2' }),
    claim('delivery/d/default/r', {}),
    claim('inflight/g2', { holder: 'ended' }),
    claim('lock/leader', { holder: 's1 ', session: 's1' }),
  ]);
  const { local: _, ...shared } = openMemoryJournal(() => 0);
  const alone = openMemoryJournal(() => 0);
  const namesIn = async (to: Journal) => (await to.claims({ limit: 9 })).map(({ name }) => name);
  const whole = { ok: true, value: { records: 2, claims: 1 } };
  t.same(await copyJournal(from, shared, silent), whole);
  t.same(await namesIn(shared), ['delivery/d/default/r', 'inflight/g1']);
  t.same(await copyJournal(from, shared, silent), whole, 'and once more');
  t.same(await copyJournal(shared, alone, silent), whole);
  t.same(await namesIn(alone), ['delivery/d/default/r'], 'a gateway alone needs none');
});

t.test('SCA-1 · a copy that lacks something is never reported as one', async (t) => {
  for (const lost of ['k0001', 'n0001']) {
    const to = openMemoryJournal(() => 0);
    const forgetful: Journal = {
      ...to,
      commit: async (writes) => (nameOf(writes[0]) === lost ? { kind: 'committed' } : to.commit(writes)),
    };
    const copied = await copyJournal(await filled(3), forgetful, silent);
    t.match(copied, { ok: false, fault: { code: 'journal-differs', message: new RegExp(lost) } }, lost);
  }
});

async function filled(count: number): Promise<Journal> {
  const journal = openMemoryJournal(() => 0);
  for (let n = 0; n < count; n += 1) {
    const number = String(n).padStart(4, '0');
    await journal.commit([
      put(`k${number}`, { n }),
      { kind: 'claim', name: `n${number}`, value: { n }, forMs: 60_000 },
    ]);
  }
  return journal;
}

function put(key: string, value: JsonObject = {}): Write {
  return { kind: 'put', collection: 'runs', key, value };
}

function nameOf(write: Write | undefined): string | undefined {
  return write?.kind === 'claim' || write?.kind === 'release' ? write.name : write?.key;
}

/** All that a reader sees of a journal, without the versions. */
async function contentOf(journal: Journal): Promise<unknown> {
  const all = { limit: 10_000, order: 'oldest' } as const;
  const records = collections.map(async (collection) => [
    (await journal.list(collection, all)).map(({ key, value, dueAtMs }) => ({ key, value, dueAtMs })),
    await journal.dueKeys(collection),
  ]);
  return [await Promise.all(records), await journal.claims({ limit: 10_000 })];
}

async function versionsOf(journal: Journal): Promise<readonly number[]> {
  return (await journal.list('runs', { limit: 99, order: 'oldest' })).map(({ version }) => version);
}
