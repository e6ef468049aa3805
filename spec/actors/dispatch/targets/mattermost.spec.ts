import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import { mattermostApi } from '../../../support/platforms/mattermost.ts';

targetContract(t, mattermostApi);

t.test('DLV-4 · a long word makes no mention where it is cut', async (t) => {
  const bench = await openBench(t, mattermostApi);
  await bench.deliver(`${'x'.repeat(16_383)}@all`);

  t.equal(bench.platform.world.messages[1]?.text, 'x@all');
});

t.test('DLV-1 · a thread is named by its root post', async (t) => {
  const bench = await openBench(t, mattermostApi);
  await bench.deliver('hello', { root_id: 'r1' });
  await bench.deliver('hello again', { thread_id: 'r2' });

  t.same(
    bench.platform.world.messages.map(({ thread }) => thread),
    ['r1', 'r2'],
  );
});
