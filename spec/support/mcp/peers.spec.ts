/** The peers over HTTP serve what they say, in both eras, as a plain SDK client sees them. */

import t from 'tap';
import { until } from '../processes.ts';
import { headerTools, netrefTool } from './odd-tools.ts';
import { caught, connected, echoHi, started, textOf } from './plain-client.ts';

const all = ['echo', 'add', 'write_note', 'slow', 'fail', 'ask', 'ask_url', 'sample', 'log', 'progress'];
const kinds = [{ kind: 'http' }, { kind: 'sse' }, { kind: 'modern' }, { kind: 'http', json: true }] as const;

/** What comes of a request. One that leaves on a connection which the restart is cutting just then is asked again. */
async function outcome(ask: () => Promise<unknown>): Promise<unknown> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (thrown) {
      if (tries === 3 || (thrown as { readonly status?: number }).status !== undefined) return thrown;
    }
  }
}

for (const options of kinds) {
  const { kind } = options;
  t.test(`a peer ${JSON.stringify(options)} serves tools, resources and prompts`, async (t) => {
    const peer = await started(t, options);
    const client = await connected(t, peer);

    const { tools } = await client.listTools();
    const sum = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
    const failure = await client.callTool({ name: 'fail' });
    const note = await client.readResource({ uri: 'note://one' });
    const { prompts } = await client.listPrompts();
    const greeting = await client.getPrompt({ name: 'greet', arguments: { who: 'Ada' } });
    await textOf(client, 'write_note', { text: 'x' });

    t.same(
      tools.map(({ name }) => name),
      all,
    );
    t.equal(tools[0]?.annotations?.readOnlyHint, true);
    t.same(sum.structuredContent, { sum: 3 });
    t.equal(failure.isError, true);
    t.match(note.contents, [{ text: 'the first note' }]);
    t.equal(prompts.length, 1);
    t.match(greeting.messages, [{ content: { text: 'Greet Ada' } }]);
    t.equal(peer.executions('write_note'), 1);
    t.match(peer.seen('tools/call')[0], { httpMethod: 'POST', tool: 'add', outcome: 'answered' });
    t.equal(peer.sessions, kind === 'modern' ? 0 : 1);
  });
}

for (const kind of ['http', 'sse', 'modern'] as const) {
  t.test(`a ${kind} peer asks, logs and tells its progress`, async (t) => {
    const peer = await started(t, { kind });
    const client = await connected(t, peer);
    const logged: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params.data));
    const steps: number[] = [];

    t.same(JSON.parse(await textOf(client, 'ask')), { action: 'accept', content: { name: 'Ada' } });
    t.match(JSON.parse(await textOf(client, 'ask_url')), { action: 'decline' });
    t.match(JSON.parse(await textOf(client, 'sample')), { content: { text: 'hello' } });
    await client.callTool({ name: 'progress' }, { onprogress: ({ progress }) => steps.push(progress) });
    await textOf(client, 'log', { text: 'a word' });

    t.same(steps, [1, 2, 3]);
    // A modern server must not log unless a request asks for it, and this client does not.
    t.same(logged, kind === 'modern' ? [] : ['a word']);
  });

  t.test(`a ${kind} peer tells that its tools have changed`, async (t) => {
    const peer = await started(t, { kind });
    const lists: (readonly string[])[] = [];
    const onChanged = (_error: unknown, tools: readonly { name: string }[] | null) =>
      void lists.push((tools ?? []).map(({ name }) => name));
    const client = await connected(t, peer, { listChanged: { tools: { onChanged, debounceMs: 0 } } });
    await until(() => kind === 'sse' || peer.seen(kind === 'modern' ? 'subscriptions/listen' : 'GET').length === 1);
    await client.listTools();

    await peer.setTools(['echo', 'new_one']);

    await until(() => lists.length > 0);
    t.same(lists, [['echo', 'new_one']]);
    t.equal(await textOf(client, 'new_one'), 'new_one');
  });

  t.test(`a ${kind} peer lets a slow call go, or sees it cancelled`, async (t) => {
    const peer = await started(t, { kind });
    const client = await connected(t, peer);
    const stop = new AbortController();

    const cancelled = client.callTool({ name: 'slow' }, { signal: stop.signal });
    await until(() => peer.work.slow.length === 1);
    stop.abort();
    await t.rejects(cancelled);
    await until(() => peer.work.slow[0]?.state === 'cancelled');
    const released = textOf(client, 'slow');
    await until(() => peer.work.slow.length === 2);
    peer.releaseSlow();

    t.equal(await released, 'released');
  });

  t.test(`a ${kind} peer is restarted on its port and knows no session`, async (t) => {
    const peer = await started(t, { kind });
    const client = await connected(t, peer);

    await peer.restart();

    if (kind === 'http') t.match(await outcome(() => client.callTool(echoHi)), { status: 404 });
    if (kind === 'modern') t.equal(await outcome(() => textOf(client, 'echo', { text: 'hi' })), 'hi');
    const again = await connected(t, peer);
    t.equal(await textOf(again, 'echo', { text: 'hi' }), 'hi');
    await peer.stop();
    await t.rejects(connected(t, peer));
  });
}

t.test('a modern peer refuses the handshake, and its lists stay fresh as long as told', async (t) => {
  const peer = await started(t, { kind: 'modern', ttlMs: 60_000 });

  t.match(await caught(connected(t, peer, { era: 'legacy' })), { status: 400, data: { text: /-32022/ } });
  const client = await connected(t, peer);
  await client.listTools();
  await client.listTools();

  t.equal(peer.seen('tools/list').length, 1);
});

t.test('a dual peer serves both eras', async (t) => {
  const peer = await started(t, { kind: 'dual' });

  for (const era of ['legacy', 'modern'] as const) {
    t.equal(await textOf(await connected(t, peer, { era }), 'echo', { text: 'hi' }), 'hi');
  }
});

t.test('a peer lists its tools by pages', async (t) => {
  const peer = await started(t, { pageSize: 4 });
  const client = await connected(t, peer);

  const { tools } = await client.listTools();

  t.equal(tools.length, all.length);
  t.equal(peer.seen('tools/list').length, 3);
});

for (const kind of ['http', 'modern'] as const) {
  t.test(`a ${kind} peer tells of a changed resource to who subscribed`, async (t) => {
    const peer = await started(t, { kind });
    const client = await connected(t, peer);
    const updated: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updated.push(params.uri));
    if (kind === 'modern') await client.listen({ resourceSubscriptions: ['note://one'] });
    else await client.subscribeResource({ uri: 'note://one' });
    await until(() => kind === 'modern' || peer.seen('GET').length === 1);

    await peer.notifyResourceUpdated('note://other');
    await peer.notifyResourceUpdated('note://one');

    await until(() => updated.length > 0);
    t.same(updated, ['note://one']);
  });
}

t.test('a modern peer offers tools with bad headers, and schemas that point at an address', async (t) => {
  const elsewhere = await started(t);
  const peer = await started(t, {
    kind: 'modern',
    tools: [...headerTools, netrefTool(`${elsewhere.origin}/schema.json`)],
  });
  const client = await connected(t, peer);

  const { tools } = await client.listTools();
  await textOf(client, 'good_header', { region: 'north' });

  t.same(
    tools.map(({ name }) => name),
    ['good_header', 'netref'],
  );
  t.equal(peer.seen('tools/call')[0]?.headers['mcp-param-region'], 'north');
  t.equal(elsewhere.requests.length, 0);
});
