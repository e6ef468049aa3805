import t from 'tap';
import { createJournal } from '../../../actors/store/engine-journal.ts';
import { createMemoryTables } from '../../../actors/store/memory-journal.ts';
import type { Engine } from '../../../actors/store/tables.ts';
import { fault } from '../../../machines/base/fault.ts';
import { routeMark } from '../../../machines/webhook/marks.ts';
import { timeKey } from '../../../runtime/system/ids.ts';
import { plainEvent } from '../../support/records.ts';

const full = fault('journal-full', 'no room');

/** An engine in memory that counts its jobs and refuses those from a given one on. */
function engineOf(refuseFrom = Number.POSITIVE_INFINITY) {
  const jobs = { count: 0 };
  const { tables, usedBytes } = createMemoryTables();
  const engine: Engine = {
    tables,
    submit(job) {
      jobs.count += 1;
      if (jobs.count >= refuseFrom) {
        job.refused(full);
        return;
      }
      job.run();
      job.landed();
    },
    usedBytes,
    probe: async () => undefined,
    close: async () => {},
  };
  return { engine, jobs };
}

const runs = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    kind: 'put' as const,
    collection: 'runs' as const,
    key: `r${String(n).padStart(4, '0')}`,
    value: {},
    dueAtMs: n,
  }));

t.test('DUR-1 · hands out what it took before the engine failed, rather than lose it', async (t) => {
  // Jobs: a session, the runs, a hundred taken, then refusals.
  const journal = createJournal(engineOf(4).engine, { nowMs: () => 0, steadyMs: () => 0 });
  const session = await journal.openSession('me', 1000);
  await journal.commit(runs(150));

  const query = { session: session.ok ? session.value : '', dueBeforeMs: 1000, limit: 150 };
  const taken = await journal.take('runs', query);

  t.equal(taken.ok && taken.value.length, 100);
  t.same(await journal.take('runs', query), { ok: false, fault: full });
  t.same(await journal.prune({ keepAfterKey: '', maxBytes: 0 }), { ok: false, fault: full });
  t.same(await journal.commit([]), { kind: 'unavailable', fault: full });
  t.same(await journal.openSession('me', 1), { ok: false, fault: full });
  t.same(await journal.renewSession('s1', 1), { ok: false, fault: full });
});

t.test('DUR-2 · cuts pruning into pieces by number and by time', async (t) => {
  for (const [msPerLook, atLeast] of [
    [0, 1000 / 200],
    [3, 1000 / 4],
  ] as const) {
    const { engine, jobs } = engineOf();
    let nowMs = 0;
    const journal = createJournal(engine, {
      nowMs: () => 0,
      steadyMs: () => {
        nowMs += msPerLook;
        return nowMs;
      },
    });
    await journal.commit(runs(1000).map(({ dueAtMs: _, ...put }) => put));

    const pruned = await journal.prune({ keepAfterKey: 'z', maxBytes: 1e9 });

    t.same(pruned, { ok: true, value: 1000 });
    t.ok(jobs.count >= atLeast, `${jobs.count} jobs`);
  }
});

t.test(
  'DUR-2 · a history that is to shrink loses no events for the bytes of index entries of removed ones',
  async (t) => {
    const { engine } = engineOf();
    const journal = createJournal(engine, { nowMs: () => 0, steadyMs: () => 0 });
    const keys = Array.from({ length: 16_000 }, (_, at) => timeKey(at * 1_000));
    const put = { kind: 'put' as const, collection: 'events' as const, value: plainEvent };
    for (const key of keys) await journal.commit([{ ...put, key }]);
    const maxBytes = engine.usedBytes() * 0.3;

    await journal.prune({ keepAfterKey: '', maxBytes });

    t.ok(engine.usedBytes() <= maxBytes);
    const kept = (await journal.list('events', { order: 'oldest', limit: keys.length })).length;
    t.ok(kept > keys.length / 8, `${kept} are kept`);
  },
);

t.test(
  'DUR-2 · pruning ends where unfinished records alone are above the limit, while others are finished',
  async (t) => {
    const { engine, jobs } = engineOf(2_000);
    const journal = createJournal(engine, { nowMs: () => 0, steadyMs: () => 0 });
    await journal.commit(runs(500));
    const { submit } = engine;
    engine.submit = (job) => {
      engine.tables.runs.write(`s${jobs.count}`, { version: 1, dueAtMs: undefined, heldBy: undefined, value: {} });
      submit(job);
    };

    const pruned = await journal.prune({ keepAfterKey: '', maxBytes: engine.usedBytes() / 4 });

    t.ok(pruned.ok, `${jobs.count} jobs`);
  },
);

t.test('DUR-2 · CON-2 · a journal that is closed does not finish its pruning first', async (t) => {
  const { engine, jobs } = engineOf();
  const journal = createJournal(engine, { nowMs: () => 0, steadyMs: () => 0 });
  await journal.commit(runs(1_000).map(({ dueAtMs: _, ...ended }) => ended));
  const before = jobs.count;
  const pruned = journal.prune({ keepAfterKey: 'z', maxBytes: 0 });
  await journal.close();
  t.ok((await pruned).ok);
  t.equal(jobs.count, before + 1, 'the piece that was under way');
});

t.test('DUR-1 · leaves a record that a damaged disk made unreadable, and goes on with the others', async (t) => {
  const { engine } = engineOf();
  const journal = createJournal(engine, { nowMs: () => 0, steadyMs: () => 0 });
  const session = await journal.openSession('me', 1000);
  await journal.commit(runs(3));
  const damaged = { version: 1, dueAtMs: 1, heldBy: undefined, value: undefined };
  engine.tables.runs.write('r0001', damaged);

  t.equal(journal.local?.get('runs', 'r0001'), undefined);
  t.same(
    journal.local?.list('runs', { order: 'oldest', limit: 9 }).map(({ key }) => key),
    ['r0000', 'r0002'],
  );
  t.same(
    journal.local?.list('runs', { order: 'oldest', limit: 2 }).map(({ key }) => key),
    ['r0000', 'r0002'],
    'a page that is short is the last one, so this one is not',
  );
  t.same(
    journal.local?.list('runs', { order: 'newest', limit: 2, from: 'r0002' }).map(({ key }) => key),
    ['r0000'],
  );
  const query = { session: session.ok ? session.value : '', dueBeforeMs: 9, limit: 9 };
  const taken = await journal.take('runs', query);
  t.same(taken.ok && taken.value.map(({ key }) => key), ['r0000', 'r0002']);
  t.ok(engine.tables.runs.read('r0001'), 'it is still there');
});

t.test('DUR-2 · a listing by marks passes over a record that cannot be read and goes on behind it', async (t) => {
  const { engine } = engineOf();
  const journal = createJournal(engine, { nowMs: () => 0, steadyMs: () => 0 });
  const ended = { route: 'orders', status: 'completed' };
  await journal.commit(runs(5).map(({ dueAtMs: _, ...put }) => ({ ...put, value: ended })));
  engine.tables.runs.write('r0003', { version: 1, dueAtMs: undefined, heldBy: undefined, value: undefined });
  const marks = [routeMark('orders')];

  const first = await journal.marked('runs', { marks, limit: 3 });
  t.same(
    first.map(({ key }) => key),
    ['r0004', 'r0002', 'r0001'],
  );
  t.same(
    journal.local?.marked('runs', { marks, limit: 3, from: 'r0001' }).map(({ key }) => key),
    ['r0000'],
  );
});
