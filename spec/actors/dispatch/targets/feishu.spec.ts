import t from 'tap';
import { never, openBench, targetContract } from '../../../conformance/target.ts';
import { feishuApi } from '../../../support/platforms/feishu.ts';

targetContract(t, feishuApi);

t.test('DLV-1 · the kind of a place is read from its id', async (t) => {
  const bench = await openBench(t, feishuApi);
  await bench.deliver('hello', { chat_id: 'me@example.org' });
  for (const chat_id of ['ou_1', 'on_1', 'u123']) await bench.deliver('hello', { chat_id });

  t.same(
    bench.platform.requests.flatMap(({ query }) => query.get('receive_id_type') ?? []),
    ['email', 'open_id', 'union_id', 'user_id'],
  );
});

t.test('DLV-1 · an answer goes to the message, in its thread where that is asked for', async (t) => {
  const bench = await openBench(t, feishuApi);
  await bench.deliver('hello', { thread_id: 'om_root' });
  await bench.deliver('hello', { reply_to: 'om_root' });

  t.match(bench.platform.world.messages, [
    { place: 'reply true', thread: 'om_root' },
    { place: 'reply false', thread: 'om_root' },
  ]);
});

t.test('DLV-1 · a tag in a text notifies no one', async (t) => {
  const bench = await openBench(t, feishuApi);
  await bench.deliver('<at user_id="all">all</at> & <br>');

  t.equal(bench.platform.world.messages[0]?.text, '<\u2060at user_id="all">all<\u2060/at> & <br>');
});

t.test('DLV-4 · a style or a link in a text is shown as it is written', async (t) => {
  const bench = await openBench(t, feishuApi);
  await bench.deliver('use <b>bold</b>, see [bank](https://evil.example), if a<b && c>d');

  t.equal(
    bench.platform.world.messages[0]?.text,
    'use <\u2060b>bold<\u2060/b>, see [bank]\u2060(https://evil.example), if a<b && c>d',
  );
});

t.test('DLV-1 · a token is fetched once, and again where the platform no longer takes it', async (t) => {
  const bench = await openBench(t, feishuApi);
  await bench.deliver('one');
  await bench.deliver('two');
  const tokens = (): number =>
    bench.platform.requests.filter(({ path }) => path.includes('tenant_access_token')).length;
  t.equal(tokens(), 1);

  bench.platform.scripts.push({ status: 400, json: { code: 99991663, msg: 'expired' } });
  t.match(await bench.deliver('three'), { kind: 'delivered' });
  t.equal(tokens(), 2);
});

t.test('DLV-1 · a bot is looked up once for each token: a free plan counts the calls', async (t) => {
  const bench = await openBench(t, feishuApi);
  for (let n = 0; n < 3; n += 1) t.match(await bench.target.verify(never), { kind: 'verified', as: 'Ops bot' });
  const lookUps = (): number => bench.platform.requests.filter(({ path }) => path.endsWith('/bot/v3/info')).length;
  t.equal(lookUps(), 1);
});
