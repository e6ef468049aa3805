import t from 'tap';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { openFailures } from '../../../runtime/dispatch/open-failures.ts';
import { openKeeper } from '../../support/keeper.ts';

t.test(
  'INS-4 · open failures are read once, and follow the commits: new ones, retried ones, dropped ones',
  async (t) => {
    const { keeper } = await openKeeper(openMemoryJournal());
    const put = (key: string, status: string, { reason = 'no', profile = 'default' } = {}) =>
      keeper.commit([
        {
          kind: 'put',
          collection: 'deliveries',
          key,
          value: {
            target: 'slack',
            route: 'r',
            profile,
            status,
            reason,
            queuedAtMs: 1,
            text: 'long',
          } as JsonObject,
        },
      ]);
    await put('0001', 'deadLettered');
    await put('0002', 'delivered');
    const failures = openFailures(keeper, () => 0);
    const counts = async (): Promise<readonly number[]> => (await failures.groups()).map(({ count }) => count);
    t.same(await counts(), [1]);

    await put('0003', 'deadLettered');
    await put('0004', 'unknown');
    t.same(await counts(), [2, 1]);

    await put('0001', 'queued');
    await put('0004', 'dropped');
    await keeper.commit([{ kind: 'delete', collection: 'deliveries', key: '0002' }]);
    t.same(await counts(), [1]);

    await put('0005', 'deadLettered', { profile: 'work' });
    t.same(await counts(), [2], 'what fails alike is one group');
    const ofWork = async () => (await failures.groups('work')).map(({ count }) => count);
    t.same(await ofWork(), [1]);
    await put('0005', 'queued', { profile: 'work' });
    t.same(await ofWork(), [], 'the count of a profile follows the commits too');
    failures.close();
  },
);

t.test('INS-4 · a clock that is set back delays no look at what the history has removed', async (t) => {
  const { keeper, journal } = await openKeeper(openMemoryJournal());
  const value = { target: 'slack', route: 'r', profile: 'default', status: 'deadLettered', queuedAtMs: 1, text: '' };
  await journal.commit([{ kind: 'put', collection: 'deliveries', key: '0001', value: value as JsonObject }]);
  let nowMs = 1_000_000;
  const failures = openFailures(keeper, () => nowMs);
  t.equal((await failures.groups()).length, 1);
  await journal.prune({ keepAfterKey: '1', maxBytes: 1_000_000 });
  nowMs -= 600_000;
  t.equal((await failures.groups()).length, 0);
  failures.close();
});

t.test('INS-4 · a reading that failed, or found no journal, is repeated at the next question', async (t) => {
  const { keeper } = await openKeeper(openMemoryJournal());
  const failed = (key: string) => {
    const value = { target: 'slack', route: 'r', profile: 'default', status: 'deadLettered', queuedAtMs: 1, text: '' };
    return keeper.commit([{ kind: 'put', collection: 'deliveries', key, value: value as JsonObject }]);
  };
  await failed('0001');
  let isThere = false;
  let isAway = false;
  const journal = () => {
    const real = keeper.journal();
    if (real === undefined || !isThere) return undefined;
    return isAway ? { ...real, marked: () => Promise.reject(new Error('away')) } : real;
  };
  const failures = openFailures({ journal, watch: keeper.watch }, () => 0);
  const counts = async (): Promise<readonly number[]> => (await failures.groups()).map(({ count }) => count);
  t.same(await counts(), []);

  isThere = true;
  isAway = true;
  await t.rejects(counts(), { message: 'away' });
  await failed('0002');

  isAway = false;
  t.same(await Promise.all([counts(), counts()]), [[2], [2]], 'two at once share a reading');
  await failed('0003');
  t.same(await counts(), [3]);
  failures.close();
});
