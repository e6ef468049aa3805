import t from 'tap';
import { never, openBench, requestOf, targetContract } from '../../../conformance/target.ts';
import { qqbotApi } from '../../../support/platforms/qqbot.ts';

targetContract(t, qqbotApi);

t.test('DLV-1 · without a message to answer nothing can be sent, and the error says just that', async (t) => {
  const bench = await openBench(t, qqbotApi);

  t.match(await bench.target.deliver(requestOf('hello', { chat_id: qqbotApi.chat ?? '' }), never), {
    kind: 'refused',
    class: 'forbidden',
    reason: /only answer.*deliver_extra\.msg_id or event_id/,
  });
  t.equal(bench.platform.requests.length, 0);
});

t.test('DLV-1 · each kind of place has its own path, and channels number nothing', async (t) => {
  const bench = await openBench(t, qqbotApi);
  for (const chat_id of ['group:G1', 'channel:7', '7', 'dm:8']) await bench.deliver('hello', { chat_id });

  t.same(
    bench.platform.requests.flatMap(({ path, json }) =>
      path.endsWith('/messages') ? [[path, typeof json.msg_seq]] : [],
    ),
    [
      ['/v2/groups/G1/messages', 'number'],
      ['/channels/7/messages', 'undefined'],
      ['/channels/7/messages', 'undefined'],
      ['/dms/8/messages', 'undefined'],
    ],
  );
});

t.test('IDM-1 · two deliveries that answer the same message have numbers of their own', async (t) => {
  const bench = await openBench(t, qqbotApi);
  const extra = { chat_id: qqbotApi.chat ?? '', ...qqbotApi.extra };
  for (const id of ['d1', 'd2', 'd3']) await bench.target.deliver(requestOf('hello', extra, id), never);

  t.equal(bench.platform.world.messages.length, 3);
});

t.test('DUR-1 · only an answer to a message is known again, and only where answers are numbered', async (t) => {
  const { target } = await openBench(t, qqbotApi);
  for (const [extra, ms] of [
    [{ chat_id: 'user:u1', msg_id: 'm' }, 300_000],
    [{ chat_id: 'user:u1', event_id: 'e' }, 0],
    [{ chat_id: 'channel:c1', msg_id: 'm' }, 0],
  ] as const) {
    t.equal(target.deduplicatesForMs(extra), ms, JSON.stringify(extra));
  }
});

t.test('DLV-1 · an app whose secret the token service refuses is reported as that', async (t) => {
  const bench = await openBench(t, { ...qqbotApi, answer: () => ({ status: 401 }) });

  t.match(await bench.deliver('hello'), { kind: 'refused', class: 'auth', reason: /does not accept the credentials/ });
});
