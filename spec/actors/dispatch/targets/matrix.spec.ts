import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import { matrixApi } from '../../../support/platforms/matrix.ts';

targetContract(t, matrixApi);

t.test('DLV-1 · an alias is looked up first', async (t) => {
  const bench = await openBench(t, matrixApi);

  t.match(await bench.deliver('hello', { chat_id: '#ops:example.org' }), { kind: 'delivered' });
  t.match(bench.platform.world.messages, [{ place: matrixApi.chat }]);
  t.match(await bench.deliver('hello', { chat_id: '#gone:example.org' }), { kind: 'refused', class: 'notFound' });
});

t.test('DLV-1 · a thread is named by the event that began it, and names in a text notify no one', async (t) => {
  const bench = await openBench(t, matrixApi);
  await bench.deliver('@room hello', { thread_id: '$root' });

  t.match(bench.platform.requests[0]?.json, {
    'm.mentions': {},
    'm.relates_to': { rel_type: 'm.thread', event_id: '$root' },
  });
});

t.test('DUR-1 · it may be asked again for half an hour', async (t) => {
  const { target } = await openBench(t, matrixApi);

  t.equal(target.deduplicatesForMs({}), 1_800_000);
});

t.test('DLV-4 · a text of nothing but quotes and line ends fits an event', async (t) => {
  const bench = await openBench(t, matrixApi);

  t.match(await bench.deliver('"\\'.repeat(15_000)), { kind: 'delivered' });
  t.equal(bench.platform.world.messages.length, 1);
  t.match(await bench.deliver('\u001b'.repeat(30_000)), { kind: 'delivered' });
  t.equal(bench.platform.world.messages.length, 4);
});
