import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import { bluebubblesApi } from '../../../support/platforms/bluebubbles.ts';

targetContract(t, bluebubblesApi);

t.test('DLV-1 · a number is a chat of its own, and an answer takes the private interface', async (t) => {
  const bench = await openBench(t, bluebubblesApi);
  await bench.deliver('hello', { chat_id: '+15552223333', reply_to: 'G0' });

  t.match(bench.platform.world.messages, [{ place: bluebubblesApi.chat, thread: 'G0' }]);
  t.equal(bench.platform.requests[0]?.json.method, 'private-api');
});
