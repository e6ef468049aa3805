import t from 'tap';
import { never, openBench, requestOf, targetContract } from '../../../conformance/target.ts';
import { weixinApi } from '../../../support/platforms/weixin.ts';

targetContract(t, weixinApi);

t.test('DLV-1 · without the user’s last message nothing can be sent, and the error says just that', async (t) => {
  const bench = await openBench(t, weixinApi);

  t.match(await bench.target.deliver(requestOf('hello', { chat_id: weixinApi.chat ?? '' }), never), {
    kind: 'refused',
    class: 'forbidden',
    reason: /only answer.*deliver_extra\.context_token.*last message/,
  });
  t.equal(bench.platform.requests.length, 0);
});

t.test('DLV-1 · a login is checked with the home channel’s user', async (t) => {
  const bench = await openBench(t, weixinApi);

  t.match(await bench.with({ homeChannel: 'me@im.wechat' }).target.verify(never), { kind: 'verified' });
  const wrong = bench.with({ homeChannel: 'me@im.wechat', options: weixinApi.wrongOptions });
  t.match(await wrong.target.verify(never), { kind: 'refused', class: 'auth' });
});
