import { renameSync } from 'node:fs';
import t from 'tap';
import { journalContract, lentClock } from '../../conformance/journal.ts';
import { got, openJournal } from '../../support/open-journal.ts';
import { runs } from '../../support/property.ts';

let stores = 0;
const home = t.testdir();
journalContract(t, 'lmdb', {
  async open() {
    stores += 1;
    const clock = lentClock();
    return { journal: await openJournal(`${home}/${stores}`, clock.nowMs), clock };
  },
  histories: runs(100, 30),
});

t.test('DUR-1 · answers reads while it is repaired, and heals many askers at once', async (t) => {
  const journal = await openJournal(`${home}/mended`);
  t.teardown(() => journal.close());
  await journal.commit([{ kind: 'put', collection: 'events', key: 'e1', value: {} }]);

  const probes = Array.from({ length: 5 }, () => journal.probe());
  t.equal(journal.local?.get('events', 'e1')?.key, 'e1');

  t.same(await Promise.all(probes), [undefined, undefined, undefined, undefined, undefined]);
  t.equal(journal.local?.get('events', 'e1')?.key, 'e1');
});

t.test(
  'DUR-1 · acknowledges nothing in a file that was removed or replaced, and goes on in the one in its place',
  async (t) => {
    const [directory, other] = [`${home}/removed`, `${home}/put-in-place`];
    const [store, aside] = [`${directory}/data.mdb`, `${directory}/aside`];
    const put = (key: string) => [{ kind: 'put', collection: 'events', key, value: {} }] as const;
    const journal = await openJournal(directory);
    t.teardown(() => journal.close());
    const has = (key: string): boolean => journal.local?.get('events', key) !== undefined;
    await journal.commit(put('before'));
    const gone = {
      code: 'journal-unreadable',
      message: /data\.mdb: the store was removed or replaced while it is in use/,
    };

    renameSync(store, aside);
    t.match(await journal.commit(put('lost')), { kind: 'unavailable', fault: gone });
    t.match(await journal.probe(), gone);
    t.same([has('before'), has('lost')], [true, false], 'it can still be read');
    renameSync(aside, store);
    t.equal(await journal.probe(), undefined);
    t.same(await journal.commit(put('after')), { kind: 'committed' });

    const backup = await openJournal(other);
    await backup.commit(put('of the backup'));
    await backup.close();
    renameSync(`${other}/data.mdb`, store);
    t.match(await journal.commit(put('lost')), { kind: 'unavailable', fault: gone });
    t.equal(await journal.probe(), undefined);
    t.same(await journal.commit(put('later')), { kind: 'committed' });
    t.same(['before', 'of the backup', 'later'].map(has), [false, true, true]);
  },
);

t.test('DUR-1 · finds everything again after it was closed', async (t) => {
  const directory = `${home}/again`;
  const journal = await openJournal(directory);
  const heldBy = got(await journal.openSession('me', 86_400_000));
  await journal.commit([
    { kind: 'claim', name: 'a', value: { by: 'a' }, forMs: 3_600_000 },
    { kind: 'put', collection: 'runs', key: 'r1', value: { n: 1 }, dueAtMs: 5, heldBy },
  ]);
  const before = journal.local?.get('runs', 'r1');
  await journal.close();
  t.equal(journal.local?.get('runs', 'r1'), undefined, 'a closed journal reads as empty');
  t.same(journal.local?.list('runs', { order: 'newest', limit: 9 }), []);

  const again = await openJournal(directory);
  t.teardown(() => again.close());

  t.same(await again.get('runs', 'r1'), before);
  t.same(await again.claimed('a'), { by: 'a' });
  t.same(await again.take('runs', { session: heldBy, dueBeforeMs: 5, limit: 9 }), { ok: true, value: [] });
  const next = got(await again.openSession('me', 86_400_000));
  t.not(next, heldBy);
  const taken = await again.take('runs', { session: next, dueBeforeMs: 5, limit: 9 });
  t.match(taken, { ok: true, value: [{ key: 'r1', version: 2 }] });
});
