import t from 'tap';
import { createRecordWriter } from '../../../actors/store/record-writer.ts';
import { diskFull, gate, openKeeper } from '../../support/keeper.ts';

const change = (n: number, dueAtMs: number | null = 5) =>
  ({ collection: 'runs', key: 'k', value: { n }, dueAtMs }) as const;

async function stage() {
  const disk = gate();
  const { keeper } = await openKeeper(disk.journal);
  const writer = createRecordWriter(keeper);
  const write = async (...given: Parameters<typeof writer.write>) => {
    const written = writer.write(...given);
    await disk.settle();
    return written;
  };
  return { disk, keeper, writer, write };
}

t.test('DUR-1 · a record under way is held and due, a finished one is neither', async (t) => {
  const { disk, keeper, write } = await stage();
  t.same(await write([change(1)]), { kind: 'written' });
  t.match(disk.journal.local?.get('runs', 'k'), { value: { n: 1 }, dueAtMs: 5, heldBy: keeper.session() });
  t.same(await write([change(2, null)]), { kind: 'written' });
  t.same(disk.journal.local?.get('runs', 'k'), { key: 'k', version: 2, value: { n: 2 } });
});

t.test('DUR-1 · each write goes over the one before, and one that another gateway took over is lost', async (t) => {
  const { disk, keeper, writer, write } = await stage();
  await write([change(1)]);
  writer.adopt('runs', 'k', 1);
  for (const n of [2, 3]) t.same(await write([change(n)]), { kind: 'written' });

  const taken = keeper.commit([{ kind: 'put', collection: 'runs', key: 'k', value: { n: 99 } }]);
  await disk.settle();
  await taken;
  t.same(await write([change(4)]), { kind: 'lost', collection: 'runs' });
  for (const dueAtMs of [5, null])
    t.same(await write([change(5, dueAtMs)]), { kind: 'lost', collection: 'runs' }, 'whatever is still written of it');
  t.match(disk.journal.local?.get('runs', 'k')?.value, { n: 99 });
  writer.adopt('runs', 'k', 4);
  t.same(await write([change(6)]), { kind: 'written' }, 'until it comes back');
});

t.test(
  'SCA-2 · a write that only a take of this gateway has overtaken goes on, one of another gateway is lost',
  async (t) => {
    const { disk, keeper, writer, write } = await stage();
    const put = async (heldBy: string | undefined): Promise<void> => {
      const taken = keeper.commit([{ kind: 'put', collection: 'runs', key: 'k', value: { n: 0 }, dueAtMs: 5, heldBy }]);
      await disk.settle();
      await taken;
    };
    await write([change(1)]);
    writer.adopt('runs', 'k', 1);
    await put(keeper.session());
    t.same(await write([change(2)]), { kind: 'written' });
    t.match(disk.journal.local?.get('runs', 'k'), { version: 3, value: { n: 2 } });
    t.equal(writer.regain('runs', 'k', 3), true, 'the take is heard of later');
    t.same(await write([change(3)]), { kind: 'written' });
    await put('another');
    t.same(await write([change(4)]), { kind: 'lost', collection: 'runs' });
    writer.adopt('runs', 'k', 5);
    await put('another');
    await put(keeper.session());
    t.same(await write([change(5)]), { kind: 'lost', collection: 'runs' }, 'another has had it meanwhile');
  },
);

t.test(
  'SCA-1 · what was left to the others is not written any more, until it comes back or its work has ended',
  async (t) => {
    const { disk, writer, write } = await stage();
    await write([change(1)]);
    writer.adopt('runs', 'k', 1);
    t.same(await write([{ ...change(2), free: true }]), { kind: 'written' });
    t.equal(disk.journal.local?.get('runs', 'k')?.heldBy, undefined);
    t.same(await write([change(3)]), { kind: 'lost', collection: 'runs' });
    writer.adopt('runs', 'k', 2);
    t.same(await write([change(4)]), { kind: 'written' });
    await write([{ ...change(5), free: true }]);
    writer.forget('runs', 'k');
    t.same(await write([change(6)]), { kind: 'written' }, 'it is a new record to the writer');
  },
);

t.test('DUR-1 · changes and what goes with them land whole or not at all', async (t) => {
  const { disk, writer, write } = await stage();
  const delivery = { ...change(1), collection: 'deliveries' } as const;
  const claim = { kind: 'claim', name: 'c', value: {}, forMs: 9_000 } as const;
  t.same(await write([change(1), delivery], [claim]), { kind: 'written' });
  t.same(await write([{ ...change(1), key: 'other' }], [claim]), { kind: 'lost' });
  t.equal(disk.journal.local?.get('runs', 'other'), undefined);

  const refused = writer.write([change(2)]);
  await disk.refuse();
  t.same(await refused, { kind: 'refused', reason: diskFull.message });
  t.match(disk.journal.local?.get('runs', 'k')?.value, { n: 1 });
});

t.test('DUR-1 · what the disk refused is written over the same version when it is offered again', async (t) => {
  const { disk, writer, write } = await stage();
  await write([change(1)]);
  writer.adopt('runs', 'k', 1);
  const refused = writer.write([change(2)]);
  await disk.refuse();
  await refused;
  t.same(await write([change(2)]), { kind: 'written' });
});

t.test(
  'SCA-2 · what a gateway began is written over its first version, and regained only from its own hands',
  async (t) => {
    const { disk, keeper, writer, write } = await stage();
    const commit = async (n: number): Promise<void> => {
      const landed = keeper.commit([{ kind: 'put', collection: 'runs', key: 'k', value: { n } }]);
      await disk.settle();
      await landed;
    };
    await commit(1);
    writer.begin('runs', 'k');
    t.same(await write([change(2)]), { kind: 'written' });
    writer.begin('runs', 'k');
    t.same(await write([change(3)]), { kind: 'written' }, 'what is known stays known');
    await commit(4);
    t.ok(writer.regain('runs', 'k', 4));
    t.same(await write([change(5)]), { kind: 'written' });
    await commit(6);
    await commit(7);
    t.notOk(writer.regain('runs', 'k', 7), 'another gateway wrote it in between');
    t.same(await write([change(8)]), { kind: 'lost', collection: 'runs' });
  },
);

t.test('DUR-1 · changes that are kept back land with the next write of their record, the newest of each', async (t) => {
  const { disk, writer, write } = await stage();
  const delivery = { collection: 'deliveries', key: 'k', value: { n: 1 }, dueAtMs: 5 } as const;
  writer.hold('deliveries', 'k', [change(1), delivery]);
  t.same(writer.held('deliveries', 'k'), [change(1), delivery]);
  await write([{ ...change(7), key: 'other' }]);
  t.equal(disk.journal.local?.get('runs', 'k'), undefined, 'the write of another record leaves them');

  const refused = writer.write([{ ...delivery, value: { n: 2 } }]);
  await disk.refuse();
  t.match(await refused, { kind: 'refused' });
  t.same(await write([{ ...delivery, value: { n: 3 } }]), { kind: 'written' });
  t.match(disk.journal.local?.get('runs', 'k'), { value: { n: 1 }, version: 1 });
  t.match(disk.journal.local?.get('deliveries', 'k'), { value: { n: 3 }, version: 1 });
  t.same(writer.held('deliveries', 'k'), []);
  t.same(await write([{ ...delivery, dueAtMs: null }, change(2, null)]), { kind: 'written' }, 'each over its version');

  writer.hold('deliveries', 'k', [change(9)]);
  writer.drop('deliveries', 'k');
  await write([delivery]);
  t.match(disk.journal.local?.get('runs', 'k')?.value, { n: 2 });
});
