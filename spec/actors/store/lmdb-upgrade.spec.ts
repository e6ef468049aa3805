import { open as openLmdb } from 'lmdb';
import t from 'tap';
import { statusMark } from '../../../machines/webhook/marks.ts';
import { openJournal } from '../../support/open-journal.ts';

t.test('DUR-2 · marks what an older gateway has written, once', async (t) => {
  const directory = `${t.testdir()}/state`;
  const first = await openJournal(directory);
  const keys = Array.from({ length: 1_200 }, (_, at) => `k${String(at).padStart(5, '0')}`);
  await first.commit(
    keys.map((key, at) => ({
      kind: 'put',
      collection: 'runs',
      key,
      value: { route: 'r', status: at === 7 ? 'failed' : 'delivered', n: at },
    })),
  );
  await first.close();
  const root = openLmdb({ path: directory, noSubdir: false, encoding: 'binary', maxDbs: 20 });
  const meta = root.openDB<Buffer, string>({ name: 'meta', encoding: 'binary' });
  const marks = root.openDB<Buffer, string>({ name: 'marks', encoding: 'binary' });
  await meta.put('layout', Buffer.from('{"version":2}'));
  await marks.clearAsync();
  await root.close();

  for (const what of ['upgraded', 'as it is']) {
    const journal = await openJournal(directory);
    const failed = journal.marked('runs', { marks: [statusMark('failed')], limit: 999 });
    t.ok(
      failed.some(({ value }) => value.n === 7),
      what,
    );
    t.ok(failed.length < 1_200);
    t.equal(journal.marked('runs', { marks: [statusMark('delivered', 'r')], limit: 2_000 }).length, 1_199);
    await journal.close();
  }
});
