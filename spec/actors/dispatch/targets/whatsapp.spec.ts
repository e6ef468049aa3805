import t from 'tap';
import { never, openBench, targetContract } from '../../../conformance/target.ts';
import { whatsappApi, whatsappBridge } from '../../../support/platforms/whatsapp.ts';

for (const fixture of [whatsappApi, whatsappBridge]) targetContract(t, fixture);

t.test('DLV-1 · an answer names the message that it answers', async (t) => {
  const bench = await openBench(t, whatsappApi);
  await bench.deliver('hello', { reply_to: 'wamid.9' });

  t.match(bench.platform.world.messages, [{ thread: 'wamid.9' }]);
});

t.test('DLV-1 · a user who hides the number is written to by the id that the webhook has', async (t) => {
  const bench = await openBench(t, whatsappApi);
  for (const chat_id of ['US.13491208655302741918', 'BR.ENT.11815799212886844830']) {
    bench.platform.scripts.push({ status: 200, json: { messages: [{ id: 'wamid.1' }] } });
    t.match(await bench.deliver('hello', { chat_id }), { kind: 'delivered', messageId: 'wamid.1' });
    const { recipient, to } = bench.platform.requests.at(-1)?.json ?? {};
    t.same([recipient, to], [chat_id, undefined]);
  }
});

t.test('DLV-1 · a bridge writes to groups, and says when no phone is linked to it', async (t) => {
  const bench = await openBench(t, {
    ...whatsappBridge,
    answer: (request, world) =>
      request.path === '/health'
        ? { status: 200, json: { status: 'disconnected' } }
        : whatsappBridge.answer(request, world),
  });
  await bench.deliver('hello', { chat_id: '120363025246125486@g.us' });

  t.match(bench.platform.world.messages, [{ place: '120363025246125486@g.us' }]);
  t.match(await bench.target.verify(never), { kind: 'transient', reason: /pair it/ });
});
