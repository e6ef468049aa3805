import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import { wecomApp, wecomRobot } from '../../../support/platforms/wecom.ts';

for (const fixture of [wecomApp, wecomRobot]) targetContract(t, fixture);

t.test('DLV-1 · an app writes to departments, tags and its own group chats', async (t) => {
  const bench = await openBench(t, wecomApp);
  for (const chat_id of ['party:2', 'tag:3', 'chat:ops', 'user:wangwu']) await bench.deliver('hello', { chat_id });

  t.same(
    bench.platform.world.messages.map(({ place }) => place),
    ['toparty 2', 'totag 3', 'chat ops', 'touser wangwu'],
  );
});

t.test('DLV-1 · a token that has run out is fetched again, once', async (t) => {
  const bench = await openBench(t, wecomApp);
  bench.platform.scripts.push({ status: 200, json: { errcode: 42001, errmsg: 'access_token expired' } });

  t.match(await bench.deliver('hello'), { kind: 'delivered' });
  t.equal(bench.platform.requests.filter(({ path }) => path === '/cgi-bin/gettoken').length, 2);
});

t.test('IDM-1 · a second alarm of the same words is a second message', async (t) => {
  const bench = await openBench(t, wecomApp);
  await bench.deliver('The disk is full.');
  await bench.deliver('The disk is full.');

  t.equal(bench.platform.world.messages.length, 2);
});
