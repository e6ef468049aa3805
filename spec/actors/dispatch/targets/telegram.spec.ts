import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import { telegramApi, telegramError } from '../../../support/platforms/telegram.ts';

targetContract(t, telegramApi);

t.test(
  'DLV-1 · a topic is named by message_thread_id or thread_id, as a number or as a template renders it',
  async (t) => {
    const bench = await openBench(t, telegramApi);
    for (const extra of [{ message_thread_id: 7 }, { thread_id: '7' }, { message_thread_id: '7', thread_id: 8 }])
      await bench.deliver('hello', extra);
    await bench.deliver('hello', { thread_id: '{issue.topic}' });

    t.same(
      bench.platform.world.messages.map(({ thread }) => thread),
      [7, 7, 7, undefined],
    );
  },
);

t.test('DLV-1 · a group that has become a supergroup gets the text at its new number, once', async (t) => {
  const bench = await openBench(t, telegramApi);
  const moved = telegramError(400, 'Bad Request: group chat was upgraded to a supergroup chat', {
    migrate_to_chat_id: -1009999999999,
  });
  bench.platform.scripts.push(moved, { status: 200, json: { ok: true, result: { message_id: 5 } } });

  t.match(await bench.deliver('hello'), { kind: 'delivered', messageId: '5' });
  t.equal(bench.platform.requests[1]?.json.chat_id, -1009999999999);

  bench.platform.scripts.push(moved, moved);
  t.match(await bench.deliver('hello'), { kind: 'refused' }, 'it does not go round in circles');
});

t.test('DLV-4 · the limit of a group delays no other chat', async (t) => {
  const bench = await openBench(t, telegramApi);
  const limited = (seconds: number) =>
    telegramError(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
  bench.platform.scripts.push(limited(37), limited(61), limited(37));

  t.match(await bench.deliver('hello'), { kind: 'rateLimited', retryAfterMs: 37_000, ofChat: true });
  t.match(await bench.deliver('hello'), { kind: 'rateLimited', ofChat: undefined }, 'longer than that of a group');
  t.match(await bench.deliver('hello', { chat_id: '42' }), { kind: 'rateLimited', ofChat: undefined });
});

t.test('DLV-4 · the limit of a proxy in front of the platform delays no other chat', async (t) => {
  const bench = await openBench(t, telegramApi);
  const limited = { status: 429, text: '<html>Too Many Requests</html>' };
  bench.platform.scripts.push({ ...limited, headers: { 'retry-after': '7' } }, limited);

  t.match(await bench.deliver('hello'), { kind: 'rateLimited', retryAfterMs: 7_000, ofChat: true });
  t.match(await bench.deliver('hello'), { kind: 'rateLimited', retryAfterMs: 30_000, ofChat: true });
});

t.test('DLV-1 · a text that the platform cannot parse goes as plain text', async (t) => {
  const bench = await openBench(t, telegramApi);
  const unparsed = telegramError(400, "Bad Request: can't parse entities: Can't find end of the entity");
  bench.platform.scripts.push(unparsed);

  t.match(await bench.deliver('a_b', { parse_mode: 'MarkdownV2' }), { kind: 'delivered' });
  t.same(
    bench.platform.requests.map(({ json }) => json.parse_mode),
    ['MarkdownV2', undefined],
  );
});

t.test('DLV-4 · no spelling that parse_mode decodes mentions a user', async (t) => {
  const bench = await openBench(t, telegramApi);
  const joiner = '\u2060';
  const rows = [
    ['[x](tg:user?id=7)', `[x](tg${joiner}:user?id=7)`],
    ['[x](t\\g://us\\er?id=7)', `[x](t\\g${joiner}://us\\er?id=7)`],
    ['<a href="t&#103://user?id=7">x</a>', `<a href="t&#103${joiner}://user?id=7">x</a>`],
    ['<a href="&#x74;G&#58;&#117;ser?id=7">x</a>', `<a href="&#x74;G${joiner}&#58;&#117;ser?id=7">x</a>`],
    ['&#64everyone &#x40ops &#64; &#640; &commat', `&#64${joiner}everyone &#x40${joiner}ops &#64; &#640; &commat`],
    ['tg://resolve?domain=x tg://emoji?id=1 tg: mtg:user', 'tg://resolve?domain=x tg://emoji?id=1 tg: mtg:user'],
  ] as const;
  for (const [text, sent] of rows) {
    await bench.deliver(text, { parse_mode: 'HTML' });
    t.equal(bench.platform.requests.at(-1)?.json.text, sent);
  }
});

t.test('DLV-1 · a token of another shape stays within its part of the path', async (t) => {
  const bench = await openBench(t, telegramApi);

  const odd = bench.with({ options: { token: 'sec-1:a/../../getMe?x=#' } });
  t.match(await odd.deliver('hello'), { kind: 'refused', class: 'auth' });
  t.ok(bench.platform.requests.every(({ path }) => path.endsWith('/sendMessage')));
});
