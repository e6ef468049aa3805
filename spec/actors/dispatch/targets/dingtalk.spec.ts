import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import { dingtalkApp, dingtalkRobot } from '../../../support/platforms/dingtalk.ts';

for (const fixture of [dingtalkApp, dingtalkRobot]) targetContract(t, fixture);

t.test('DLV-1 · an app writes to a user by its id', async (t) => {
  const bench = await openBench(t, dingtalkApp);
  for (const chat_id of ['user:manager1', 'manager1']) await bench.deliver('hello', { chat_id });

  t.match(bench.platform.world.messages, [{ place: 'manager1' }, { place: 'manager1' }]);
});

t.test('DLV-1 · a robot without a secret signs nothing', async (t) => {
  const bench = await openBench(t, dingtalkRobot);
  const { secret: _, ...options } = dingtalkRobot.options;

  t.match(await bench.with({ options }).deliver('hello'), { kind: 'refused', class: 'forbidden' });
  t.equal(bench.platform.requests[0]?.query.has('sign'), false);
});
