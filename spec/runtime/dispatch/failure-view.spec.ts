import t from 'tap';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { createFailureView } from '../../../runtime/dispatch/failure-view.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { openKeeper } from '../../support/keeper.ts';
import { plainDelivery } from '../../support/records.ts';

t.test('OBS-1 · a secret that the end of a failed text’s row cuts is not shown in half', async (t) => {
  const { keeper } = await openKeeper(openMemoryJournal());
  const redactor = createRedactor();
  redactor.learn('Violet-Otter-81-of-the-river');
  const text = `${'x'.repeat(180)} Violet-Otter-81-of-the-river ${'y'.repeat(100)}`;
  const value = { ...plainDelivery, status: 'deadLettered', text } as const;
  await keeper.commit([{ kind: 'put', collection: 'deliveries', key: 'k1', value }]);
  const view = createFailureView({
    keeper,
    get: () => Promise.resolve(undefined),
    redact: redactor.record,
    nowMs: () => 0,
  });
  t.match(await view.list({ state: 'open' }, { limit: 10 }), {
    rows: [{ id: 'k1', text: /^x{180} \[redacted\] y{8}$/ }],
  });
});

t.test('INS-4 · DLV-4 · the open failures are read once, and counted with each commit', async (t) => {
  const { keeper, journal } = await openKeeper(openMemoryJournal());
  let reads = 0;
  const counted = {
    ...journal,
    marked: (...asked: Parameters<typeof journal.marked>) => {
      reads += 1;
      return journal.marked(...asked);
    },
  } as typeof journal;
  const view = createFailureView({
    keeper: { journal: () => counted, watch: keeper.watch },
    get: () => Promise.resolve(undefined),
    redact: (record) => record,
    nowMs: () => 12_000,
  });
  const put = (key: string, status: 'deadLettered' | 'queued' | 'dropped', endedAtMs: number) =>
    keeper.commit([{ kind: 'put', collection: 'deliveries', key, value: { ...plainDelivery, status, endedAtMs } }]);
  await put('k1', 'deadLettered', 0);
  t.match(await view.groups({ state: 'open' }, 'route'), { count: 1, groups: [{ count: 1 }] });
  const before = reads;

  await put('k2', 'deadLettered', 11_500);
  await put('k3', 'deadLettered', 6_000);
  await put('k3', 'dropped', 6_000);

  const { count, groups } = await view.groups({ state: 'open' }, 'target');
  t.strictSame([count, groups.map(({ buckets }) => buckets)], [2, [[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]]]);
  const since = new Date(7_000).toISOString();
  t.match(await view.groups({ state: 'open', since }, 'cause'), { count: 1, groups: [{ count: 1 }] });
  t.equal(reads, before);
  const key = 'target/slack';
  t.match(await view.list({ state: 'open', since }, { key, limit: 9 }), { rows: [{ id: 'k2' }] });
  t.same(await view.idsOf(key, { state: 'open', since }), ['k2'], 'a retry takes no earlier ones');
  t.match(await view.groups({ state: 'dropped' }, 'cause'), { count: 1 });
  t.match(await view.groups({ state: 'dropped', since }, 'cause'), { count: 0 });
  await put('k1', 'queued', 0);
  t.match(await view.groups({ state: 'open' }, 'cause'), { count: 1 });
});

t.test(
  'INS-4 · the advice for a group is that of its newest failure, also when it came after the first count',
  async (t) => {
    const { keeper } = await openKeeper(openMemoryJournal());
    const view = createFailureView({
      keeper,
      get: () => Promise.resolve(undefined),
      redact: (record) => record,
      nowMs: () => 10,
    });
    const put = (key: string, status: 'deadLettered' | 'unknown', endedAtMs: number) =>
      keeper.commit([{ kind: 'put', collection: 'deliveries', key, value: { ...plainDelivery, status, endedAtMs } }]);
    await put('k1', 'unknown', 1);
    t.match(await view.groups({ state: 'open' }, 'route'), { groups: [{ helps: 'unsure' }] });

    await put('k2', 'deadLettered', 2);

    t.match(await view.groups({ state: 'open' }, 'route'), { groups: [{ count: 2, helps: 'afterFix' }] });
  },
);
