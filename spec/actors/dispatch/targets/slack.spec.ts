import t from 'tap';
import { openBench, targetContract } from '../../../conformance/target.ts';
import { slackApi, slackWebhook } from '../../../support/platforms/slack.ts';

for (const fixture of [slackApi, slackWebhook]) targetContract(t, fixture);

t.test('DLV-1 · a thread is named by thread_ts or thread_id', async (t) => {
  const bench = await openBench(t, slackApi);
  for (const extra of [{ thread_ts: '1762171200.000001' }, { thread_id: '1762171200.000001' }])
    await bench.deliver('hello', extra);

  t.same(
    bench.platform.world.messages.map(({ thread }) => thread),
    ['1762171200.000001', '1762171200.000001'],
  );
});

t.test('DLV-1 · the url of a webhook counts beside the token of a bot, which is not sent to it', async (t) => {
  const { url = '' } = slackWebhook.options;
  const both = { ...slackApi.options, url };
  const bench = (await openBench(t, slackWebhook)).with({ options: both });

  t.match(await bench.deliver('hello'), { kind: 'delivered' });
  t.notHas(bench.platform.requests[0]?.headers, { authorization: /./ });
});

t.test('DLV-1 · what Slack would read as a mention or a link is shown as it is', async (t) => {
  const bench = await openBench(t, slackApi);
  await bench.deliver('<!channel> <@U1> <#C1> <https://example.org|a link> 1 < 2');

  t.equal(
    bench.platform.requests[0]?.json.text,
    '&lt;!channel&gt; &lt;@U1&gt; &lt;#C1&gt; &lt;https://example.org|a link&gt; 1 &lt; 2',
  );
});

t.test('DLV-4 · a text that comes from an event of Slack, where it is escaped, is not escaped twice', async (t) => {
  const bench = await openBench(t, slackApi);
  await bench.deliver('R&amp;D: 1 &lt; 2 &amp;amp; https://example.org/?a=1&amp;b=2 &lt;!channel&gt; &quot;');

  t.equal(
    bench.platform.requests[0]?.json.text,
    'R&amp;D: 1 &lt; 2 &amp;amp; https://example.org/?a=1&amp;b=2 &lt;!channel&gt; &amp;quot;',
  );
});

t.test('DLV-4 · a heading and bold text of Markdown are those of Slack, and code is left alone', async (t) => {
  const bench = await openBench(t, slackApi);
  await bench.deliver('## Review\n**Two** problems in `a**b**`:\n```sh\n# **c**\n```');

  t.equal(bench.platform.requests[0]?.json.text, '*Review*\n*Two* problems in `a**b**`:\n```sh\n# **c**\n```');
});
