import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import { imessageBridge } from '../../../support/platforms/imessage-bridge.ts';

targetContract(t, imessageBridge);

t.test('DLV-1 · a number is a chat of its own, and an answer takes the private interface', async (t) => {
  const bench = await openBench(t, imessageBridge);
  await bench.deliver('hello', { chat_id: '+15552223333', reply_to: 'G0' });

  t.match(bench.platform.world.messages, [{ place: imessageBridge.chat, thread: 'G0' }]);
  t.equal(bench.platform.requests[0]?.json.method, 'private-api');
});
