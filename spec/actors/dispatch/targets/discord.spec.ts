import t from 'tap';
import { never, openBench, requestOf, targetContract } from '../../../conformance/target.ts';
import { discordApi } from '../../../support/platforms/discord.ts';

targetContract(t, discordApi);

t.test('DLV-1 · a thread is a channel of its own, and reply_to names a message', async (t) => {
  const bench = await openBench(t, discordApi);
  await bench.deliver('hello', { thread_id: '1100000000000000002', reply_to: '1200000000000000001' });

  t.match(bench.platform.world.messages, [{ place: '1100000000000000002', thread: '1200000000000000001' }]);
});

t.test('IDM-1 · the nonce is the same for the same delivery, and another for another', async (t) => {
  const bench = await openBench(t, discordApi);
  const extra = { chat_id: discordApi.chat ?? '' };
  const same = await bench.target.deliver(requestOf('hello', extra), never);
  const again = await bench.target.deliver(requestOf('hello', extra), never);
  const other = await bench.target.deliver(requestOf('hello', extra, 'd2'), never);
  const otherText = await bench.target.deliver(requestOf('hello!', extra), never);

  t.same(same, again);
  t.equal(new Set([same, other, otherText].map((outcome) => JSON.stringify(outcome))).size, 3);
  t.equal(bench.platform.world.messages.length, 3);
  t.equal(bench.target.deduplicatesForMs({}), 120_000);
});

t.test('DLV-4 · a limit is the channel’s, unless Discord says that it is global', async (t) => {
  const bench = await openBench(t, discordApi);
  for (const [global, scope, expected] of [
    [false, 'user', true],
    [false, 'shared', true],
    [true, 'global', undefined],
    [false, 'global', undefined],
  ] as const) {
    bench.platform.scripts.push({
      status: 429,
      headers: { 'x-ratelimit-scope': scope },
      json: { retry_after: 4, global },
    });
    const outcome = await bench.deliver('hello');
    t.match(outcome, { kind: 'rateLimited', retryAfterMs: 4_000 });
    t.equal(outcome.kind === 'rateLimited' && outcome.ofChat, expected);
  }
});
