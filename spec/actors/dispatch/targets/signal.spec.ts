import t from 'tap';
import { never, openBench, targetContract } from '../../../conformance/target.ts';
import { rpcError, signalApi } from '../../../support/platforms/signal.ts';

targetContract(t, signalApi);

t.test('DLV-1 · a group is named by its id in base64, with or without a prefix', async (t) => {
  const bench = await openBench(t, signalApi);
  const id = Buffer.alloc(32, 7).toString('base64');
  await bench.deliver('hello', { chat_id: id });
  await bench.deliver('hello', { chat_id: `group:${id}` });

  t.same(
    bench.platform.requests.map(({ json }) => json.params.groupId),
    [id, id],
  );
});

t.test('DLV-1 · a daemon of one account needs none named', async (t) => {
  const one = {
    ...signalApi,
    options: {},
    answer: ((request, world) =>
      request.json.method === 'listAccounts'
        ? rpcError(-32601)
        : signalApi.answer(
            { ...request, json: { ...request.json, params: { account: '+15550001111', ...request.json.params } } },
            world,
          )) as typeof signalApi.answer,
  };
  const bench = await openBench(t, one);

  t.match(await bench.deliver('hello'), { kind: 'delivered' });
  t.match(await bench.target.verify(never), { kind: 'verified' });
  t.match(await bench.with({ options: { account: '+15550001111' } }).target.verify(never), { kind: 'verified' });
});
