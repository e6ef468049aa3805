import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { wireName } from '../../machines/mcp/wire-name.ts';
import type { PeerTool, ToolAnswer } from '../support/mcp/catalogue.ts';
import { type CallAnswer, commandOf, entryOf, eventually, startGateway } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { listingPeer } from '../support/mcp/listing-peer.ts';
import { legacyServed, modernServed, serveCommand } from '../support/mcp/serve-clients.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';

t.test('CLI-5 · a client of either era sees the supervised, filtered tools and calls them', async (t) => {
  const peer = stdioPeer();
  const gateway = await startGateway(t, {
    notes: commandOf(peer, { tools: { include: ['echo', 'add', 'fail'], resources: false, prompts: false } }),
  });
  await gateway.reaches('notes', 'connected');
  const names = ['mcp__notes__add', 'mcp__notes__echo', 'mcp__notes__fail'];
  for (const client of [await legacyServed(t, gateway), await modernServed(t, gateway)]) {
    const { tools } = await client.listTools();
    t.same(tools.map(({ name }) => name).sort(), names);
    t.match(
      tools.find(({ name }) => name === 'mcp__notes__add'),
      {
        description: 'Adds two numbers',
        inputSchema: { type: 'object', required: ['a', 'b'] },
        outputSchema: { type: 'object', required: ['sum'] },
        annotations: { readOnlyHint: true },
      },
    );
    t.match(await client.callTool({ name: 'mcp__notes__add', arguments: { a: 2, b: 3 } }), {
      structuredContent: { sum: 5 },
    });
    t.match(await client.callTool({ name: 'mcp__notes__fail', arguments: {} }), {
      isError: true,
      content: [{ type: 'text', text: 'it failed as asked' }],
    });
    // What the gateway refuses is a result too: a model can read it and go on.
    t.match(await client.callTool({ name: 'mcp__notes__echo', arguments: { text: 1 } }), {
      isError: true,
      content: [{ text: /must be string \[invalid_arguments\]/ }],
    });
    t.match(await client.callTool({ name: 'mcp__none__x', arguments: {} }), {
      isError: true,
      content: [{ text: /\[unknown_tool\]/ }],
    });
  }
});

t.test('CLI-5 · LIF-13 · a result that clients refuse reaches them without what they refuse', async (t) => {
  const peer = listingPeer({
    'tools/list': [{ tools: [{ name: 'rows', inputSchema: { type: 'object' } }] }],
    'tools/call': [
      {
        content: [
          { type: 'text', text: 'two', annotations: { priority: 7 } },
          { type: 'image', data: 'data:image/png;base64,AAAA', mimeType: 'image/png' },
          { type: 'resource_link', uri: 'note://one' },
        ],
        structuredContent: ['a', 'b'],
        _meta: { 'example/view': { rows: 2 }, 'io.modelcontextprotocol/serverInfo': { name: 'x', version: '1' } },
      },
    ],
  });
  const gateway = await startGateway(t, { notes: { ...peer, tools: { resources: false, prompts: false } } });
  await gateway.reaches('notes', 'connected');
  const call = { name: 'mcp__notes__rows', arguments: {} };
  const content = [
    { type: 'text', text: 'two' },
    { type: 'text', text: '[content of type "image" left out: it violates the protocol]' },
    { type: 'resource_link', uri: 'note://one', name: 'note://one' },
  ];

  const legacy = await (await legacyServed(t, gateway)).callTool(call);
  t.same(legacy.content, content);
  t.same(legacy.structuredContent, { result: ['a', 'b'] }, 'a client of the handshake takes only objects');
  const modern = await (await modernServed(t, gateway)).callTool(call);
  t.same(modern.content, content);
  t.same(modern.structuredContent, ['a', 'b']);
  for (const { _meta } of [legacy, modern]) {
    t.same(_meta?.['example/view'], { rows: 2 }, 'what a program needs besides');
    t.notMatch(_meta?.['io.modelcontextprotocol/serverInfo'], { name: 'x' }, 'the client speaks to the gateway');
  }
});

t.test('CLI-5 · results and schemas of every form, with a client of either era', async (t) => {
  const properties = { any: true, none: false, odd: null, text: { type: 'string' } };
  const free: PeerTool = {
    definition: {
      name: 'free',
      description: '',
      inputSchema: { type: 'object', properties },
      outputSchema: { type: 'object', properties },
    },
    run: () => ({ text: '{"any":1}', structured: { any: 1 } }),
  };
  const cut: PeerTool = {
    definition: { name: 'cut', description: 'Cuts', inputSchema: { type: 'object' } },
    run: () => ({ text: 'half \ud83d, full 😀, \\ud83d', structured: { half: '\ude00' } }),
  };
  const tools = [
    'add',
    free,
    cut,
    toolOf(
      'either',
      { text: '5', structured: { sum: 5 } },
      { outputSchema: { anyOf: [{ type: 'object' }, { type: 'array' }] } as never },
    ),
    toolOf(
      'choice',
      { text: 'chosen' },
      {
        inputSchema: {
          type: 'object',
          anyOf: ['a', 'b'].map((name) => ({ properties: { [name]: { type: 'string' } }, required: [name] })),
        } as never,
      },
    ),
    toolOf(
      'odd',
      { text: '{"next":1}', structured: { next: 1 } },
      { outputSchema: { type: 'object', properties: { next: { $ref: '#/$defs/Missing' } } } },
    ),
    toolOf(
      'dated',
      { text: 'then', structured: { at: '2026-10-22T15:50:22.113199' } },
      { outputSchema: { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } } },
    ),
    toolOf(
      'failing',
      { text: 'it failed', structured: { code: 'NOT_FOUND' }, isError: true },
      { outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] } },
    ),
  ] as const;
  const { gateway } = await offering(t, { kind: 'modern', tools });
  const legacy = await legacyServed(t, gateway);
  const modern = await modernServed(t, gateway);
  const listed = new Map<unknown, Map<string, { readonly inputSchema: unknown; readonly outputSchema?: unknown }>>();
  for (const client of [legacy, modern]) {
    const { tools: offered } = await client.listTools();
    listed.set(client, new Map(offered.map((tool) => [tool.name.replace('mcp__notes__', ''), tool])));
  }
  const call = (name: string) => ({ name: `mcp__notes__${name}`, arguments: {} });

  t.test('CLI-5 · ERA-1 · a client of the handshake gets a result in the form of its schema', async (t) => {
    t.match(listed.get(legacy)?.get('either')?.outputSchema, { type: 'object', required: ['result'] });
    t.same((await legacy.callTool(call('either'))).structuredContent, { result: { sum: 5 } });
  });

  t.test('CLI-5 · LIF-14 · a schema that is true for a property costs a client of the handshake no tool', async (t) => {
    t.equal(listed.get(legacy)?.size, tools.length);
    const objects = { properties: { any: {}, none: { not: {} }, odd: {}, text: { type: 'string' } } };
    t.match(listed.get(legacy)?.get('free'), { description: undefined, inputSchema: objects, outputSchema: objects });
    t.match(await legacy.callTool(call('free')), { structuredContent: { any: 1 } });
  });

  t.test('CLI-5 · DIS-3 · alternatives at the top of a schema are offered as one object', async (t) => {
    const properties = { a: { type: 'string' }, b: { type: 'string' } };
    for (const client of [legacy, modern]) {
      t.strictSame(listed.get(client)?.get('choice')?.inputSchema, { type: 'object', properties });
      t.match(await client.callTool({ ...call('choice'), arguments: { b: 'x' } }), { content: [{ text: 'chosen' }] });
      t.match(await client.callTool(call('choice')), { content: [{ text: /\[invalid_arguments\]/ }] });
    }
  });

  t.test('CLI-5 · LIF-14 · an output schema that a client cannot compile costs it no tool', async (t) => {
    for (const client of [legacy, modern]) {
      t.match(listed.get(client)?.get('add'), { outputSchema: { required: ['sum'] } });
      t.ok(listed.get(client)?.has('odd'));
      t.match(await client.callTool(call('odd')), { structuredContent: { next: 1 } });
    }
  });

  t.test('CLI-5 · LIF-13 · a result whose text has another format than its schema says reaches clients', async (t) => {
    for (const client of [legacy, modern]) {
      t.match(listed.get(client)?.get('dated'), { outputSchema: { properties: { at: { type: 'string' } } } });
      t.match(await client.callTool(call('dated')), { structuredContent: { at: '2026-10-22T15:50:22.113199' } });
    }
  });

  t.test('CLI-5 · LIF-13 · half a character reaches no client', async (t) => {
    const answer = await legacy.callTool(call('cut'));

    t.same(answer.content, [{ type: 'text', text: 'half \ufffd, full 😀, \\ud83d' }]);
    t.same(answer.structuredContent, { half: '\ufffd' });
  });

  t.test('CLI-5 · ERA-1 · an error with a structure reaches a client of the handshake as texts', async (t) => {
    const answer = await legacy.callTool(call('failing'));
    t.match(answer, { isError: true, content: [{ text: 'it failed' }, { text: '{"code":"NOT_FOUND"}' }] });
    t.notOk(answer.structuredContent);
    t.match(await modern.callTool(call('failing')), { isError: true, structuredContent: { code: 'NOT_FOUND' } });
  });
});

t.test('CLI-5 · FLT-4 · the client is notified of a changed list', async (t) => {
  const { gateway, peer } = await offering(t, { tools: ['one'] });
  const client = await legacyServed(t, gateway);
  let changes = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes += 1;
  });
  t.equal((await client.listTools()).tools.length, 1);
  await eventually(async () => {
    await peer.setTools(['one', 'two']);
    return changes > 0 ? true : undefined;
  });
  t.equal((await client.listTools()).tools.length, 2);

  await peer.setTools(['l'.repeat(50)]);
  const { tools } = await eventually(async () => {
    const listed = await (await legacyServed(t, gateway)).listTools();
    return listed.tools.length === 1 ? listed : undefined;
  });
  const name = String(tools[0]?.name);
  t.match(name, /^mcp__notes__l{29}_/);
  t.notMatch(await client.callTool({ name, arguments: {} }), { isError: true }, 'a name that another process listed');
});

t.test('CLI-5 · TRU-1 · an approval holds for who calls by `mcp serve` too', async (t) => {
  const { gateway, peer } = await offering(t, {}, { trust: 'untrusted' });
  const client = await legacyServed(t, gateway);
  const call = client.callTool({ name: 'mcp__notes__write_note', arguments: { text: 'x' } });
  const question = await gateway.asked();
  t.equal(peer.executions('write_note'), 0);
  await gateway.answer(question.id, false);
  t.match(await call, { isError: true, content: [{ text: /was denied \[approval_denied\]/ }] });
  t.equal(peer.executions('write_note'), 0);
});

t.test('CLI-5 · TRU-3 · each program has 32 questions open, whatever another one asks', async (t) => {
  const { gateway } = await offering(t, {}, { trust: 'untrusted' });
  const [first, second] = [await legacyServed(t, gateway), await legacyServed(t, gateway)];
  const call = { name: 'mcp__notes__write_note', arguments: { text: 'x' } };
  const refused: unknown[] = [];
  const asks = (client: typeof first): void =>
    void client.callTool(call).then(
      (answer) => refused.push(answer),
      () => {},
    );

  for (let asked = 0; asked < 34; asked += 1) asks(first);
  await eventually(() => refused.length === 2 || undefined);
  asks(second);
  await eventually(async () => (await gateway.approvals()).length === 33 || refused.length > 2 || undefined);

  t.match(refused, Array(2).fill({ isError: true, content: [{ text: /\[too_many_approvals\]/ }] }));
  t.equal(refused.length, 2, 'the other program is asked for');
  const lines = gateway.daemon.log.filter(({ message }) => /32 questions are open/.test(message ?? ''));
  t.equal(lines.length, 1);
});

t.test('CLI-5 · what a client asks of one gateway', async (t) => {
  const image = 'A'.repeat(4_300_000);
  // Each of its characters takes six in JSON.
  const text = '\u0001'.repeat(1_500_000);
  const ends: (() => void)[] = [];
  const counting: PeerTool = {
    definition: { name: 'counting', description: 'Counts', inputSchema: { type: 'object' } },
    run: async (_, call) => {
      for (const done of [0, 1, 2]) await call.progress(done, 2);
      // The SDK's clients forget a call with its answer, and what is read with that one chunk.
      await new Promise<void>((resolve) => ends.push(resolve));
      return { text: 'counted' };
    },
  };
  const peer = await started(t);
  const sized = await started(t, {
    tools: [toolOf('picture', { text: 'seen', image }), toolOf('escaped', { text })],
  });
  const counted = await started(t, { tools: [counting] });
  const servers = { notes: entryOf(peer), sizes: entryOf(sized), counts: entryOf(counted) };
  const gateway = await startGateway(t, servers);
  for (const name of Object.keys(servers)) await gateway.reaches(name, 'connected');
  const client = await legacyServed(t, gateway);

  t.test('CLI-5 · LIF-3 · a call that the client cancels is cancelled at the server', async (t) => {
    const stop = new AbortController();
    const call = client.callTool({ name: 'mcp__notes__slow', arguments: {} }, undefined, { signal: stop.signal });
    call.catch(() => {});
    await eventually(() => peer.work.slow[0]);
    stop.abort();
    await t.rejects(call);
    await eventually(() => peer.work.slow[0]?.state === 'cancelled' || undefined);
    t.match(await client.callTool({ name: 'mcp__notes__echo', arguments: { text: 'hi' } }), {
      content: [{ text: 'hi' }],
    });
  });

  t.test('CLI-5 · LIF-3 · a call that is cancelled in the breath that asks for it is never sent', async (t) => {
    const { command: program, args, env } = serveCommand(gateway);
    const server = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
    t.teardown(() => server.kill());
    const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const say = (...messages: readonly object[]): void => {
      server.stdin.write(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''));
    };
    const call = (id: number, tool: string): object => ({
      id,
      method: 'tools/call',
      params: { name: `mcp__notes__${tool}`, arguments: { text: 'x' } },
    });
    const clientInfo = { name: 'spec', version: '1' };
    say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
    await answers.next();
    say({ method: 'notifications/initialized' });
    say(call(2, 'write_note'), { method: 'notifications/cancelled', params: { requestId: 2 } });
    say(call(3, 'echo'));
    t.match(JSON.parse((await answers.next()).value), { id: 3, result: { content: [{ text: 'x' }] } });
    t.equal(peer.executions('write_note'), 0);
  });

  t.test('LIF-13 · CLI-5 · no size of a permitted result is lost on the way to a client', async (t) => {
    const picture = (await client.callTool({ name: 'mcp__sizes__picture' })) as CallAnswer;
    t.ok(picture.content?.some(({ data }) => data === image));
    const escaped = (await client.callTool({ name: 'mcp__sizes__escaped' })) as CallAnswer;
    t.ok(escaped.content?.[0]?.text === text);
    const { code, stdout } = await gateway.cli('mcp', 'call', 'mcp__sizes__picture', '--json');
    t.equal(code, 0);
    t.ok(stdout.includes(image));
  });

  t.test('CLI-5 · SRV-3 · progress reaches a client of either era, if its request asks for it', async (t) => {
    const call = { name: 'mcp__counts__counting', arguments: {} };
    const young = await modernServed(t, gateway);
    const heard: [number, number | undefined][] = [];
    const onprogress = ({ progress, total }: { progress: number; total?: number | undefined }): void =>
      void heard.push([progress, total]);
    for (const ask of [
      () => client.callTool(call, undefined, { onprogress }),
      () => young.callTool(call, { onprogress }),
    ]) {
      heard.length = 0;
      const answer = ask();
      await eventually(() => heard.length === 3);
      t.same(heard, [
        [0, 2],
        [1, 2],
        [2, 2],
      ]);
      ends.pop()?.();
      t.match(await answer, { content: [{ text: 'counted' }] });
    }
    const silent = client.callTool(call);
    await eventually(() => ends.length === 1);
    ends.pop()?.();
    t.match(await silent, { content: [{ text: 'counted' }] });
    t.equal(heard.length, 3, 'a request that does not ask gets none');
  });
});

t.test(
  'CLI-5 · NAM-2 · a tool is offered as its server describes it, under a name with room for a prefix',
  async (t) => {
    const described = {
      title: 'A title',
      icons: [{ src: 'https://icons.example/a.png' }],
      _meta: { 'example/kind': 'a' },
    };
    const long = 'n'.repeat(5_000);
    const description = 'd'.repeat(7_000);
    const tool = toolOf(long, { text: 'called' }, { ...described, description });
    const { gateway } = await offering(t, {
      tools: [tool, toolOf('', { text: '' })],
    });
    for (const client of [await legacyServed(t, gateway), await modernServed(t, gateway)]) {
      const { tools } = await client.listTools();
      t.match(tools, [{ ...described, description, name: /^mcp__notes__n{29}_[0-9a-f]{10}$/ }]);
      t.equal(tools.length, 1, 'the tool without a name is left out');
      const registered = wireName(`mcp__notes__${long}`);
      t.equal(registered.length, 64);
      // A client may know the name from another process, or from the gateway.
      for (const other of [client, await legacyServed(t, gateway)])
        for (const name of [String(tools[0]?.name), registered])
          t.match(await other.callTool({ name, arguments: {} }), { content: [{ text: 'called' }] });
    }
    t.match((await gateway.server('notes'))?.left_out, [/^its tool "" is left out/]);
  },
);

t.test('CLI-5 · TRU-3 · a call that waits for a person says so every ten seconds', async (t) => {
  const peer = await started(t);
  const servers = { notes: entryOf(peer, { trust: 'untrusted' }), forms: entryOf(peer) };
  const gateway = await startGateway(t, servers, { timePasses: true });
  for (const name of ['notes', 'forms']) await gateway.reaches(name, 'connected');
  const client = await legacyServed(t, gateway);
  for (const [name, args, values] of [
    ['mcp__notes__write_note', { text: 'x' }, undefined],
    ['mcp__forms__ask', {}, { name: 'Ada' }],
  ] as const) {
    const heard: { readonly progress: number; readonly message?: string | undefined }[] = [];
    const call = client.callTool({ name, arguments: args }, undefined, {
      onprogress: (progress) => heard.push(progress),
    });
    const question = await gateway.asked();
    await eventually(() => heard.length === 1);
    await gateway.daemon.pass(10_000);
    await eventually(() => heard.length === 2);
    await gateway.answer(question.id, true, values);
    t.match(await call, { content: [{ type: 'text' }] });
    const words = `waits for approval ${question.id}: \`agent approvals\``;
    t.same(
      heard.map(({ message }) => message),
      [words, words],
    );
    t.ok(Number(heard[1]?.progress) > Number(heard[0]?.progress), 'it rises, as the protocol wants');
  }
});

t.test('LIF-13 · TRU-2 · CLI-5 · a gateway that is killed under a call leaves the outcome uncertain', async (t) => {
  const { gateway, peer } = await offering(t, {}, { supports_parallel_tool_calls: true });
  const client = await legacyServed(t, gateway);
  const serving = client.callTool({ name: 'mcp__notes__slow', arguments: {} });
  const calling = gateway.cli('mcp', 'call', 'mcp__notes__slow', '--json');
  await eventually(() => peer.executions('slow') === 2);

  gateway.daemon.kill('SIGKILL');

  const words = /lost during mcp__notes__slow; the tool may have run: check .* \[outcome_uncertain\]/;
  t.match(await serving, { isError: true, content: [{ text: words }] });
  const { code, stdout } = await calling;
  t.equal(code, 1);
  t.match(JSON.parse(stdout), { error: { code: 'outcome_uncertain' } });
  // A process that is ending may close its connections before it stops listening.
  await gateway.daemon.exited;
  t.match(await client.callTool({ name: 'mcp__notes__echo', arguments: { text: 'x' } }), {
    isError: true,
    content: [{ text: /was not run: the gateway is not running.* \[server_unavailable\]/ }],
  });
});

t.test('CLI-5 · FLT-4 · it outlives the gateway and connects to the next one', async (t) => {
  const peer = await started(t);
  const servers = { notes: entryOf(peer) };
  const gateway = await startGateway(t, servers);
  await gateway.reaches('notes', 'connected');
  const client = await legacyServed(t, gateway);
  let changes = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes += 1;
  });
  await gateway.daemon.kill('SIGKILL');
  await t.rejects(client.listTools(), /the gateway of .* is not running/);
  const next = await startGateway(t, servers, { home: gateway.home });
  await next.reaches('notes', 'connected');
  await eventually(() => changes > 0);
  t.match(await client.callTool({ name: 'mcp__notes__echo', arguments: { text: 'hi' } }), {
    content: [{ text: 'hi' }],
  });
  const before = changes;
  await eventually(async () => {
    await peer.setTools(['one', 'two']);
    return changes > before ? true : undefined;
  });
});

t.test('CLI-5 · it ends with its client', async (t) => {
  const gateway = await startGateway(t, {});
  const { command: program, args, env } = serveCommand(gateway);
  const server = spawn(program, args, { env, stdio: ['pipe', 'ignore', 'ignore'] });
  const exited = new Promise((resolve) => server.once('exit', resolve));
  server.stdin.end();
  t.equal(await exited, 0);
});

t.test('CLI-5 · PRF-1 · it ends where the gateway refuses it, though its input stays open', async (t) => {
  const gateway = await startGateway(t, {});
  const { command: program, args, env } = serveCommand(gateway, '--profile', 'none');
  const server = spawn(program, args, { env, stdio: ['pipe', 'ignore', 'ignore'] });
  t.teardown(() => server.kill('SIGKILL'));
  t.equal(await new Promise((resolve) => server.once('exit', resolve)), 1);
});

/** A gateway with one server, which is connected; of its offers the tools alone, unless its entry says otherwise. */
async function offering(
  t: Test,
  more: Parameters<typeof started>[1],
  entry: JsonObject = { tools: { resources: false, prompts: false } },
) {
  const peer = await started(t, more);
  const gateway = await startGateway(t, { notes: entryOf(peer, entry) });
  await gateway.reaches('notes', 'connected');
  return { gateway, peer };
}

function toolOf(name: string, answer: ToolAnswer, more: Partial<PeerTool['definition']> = {}): PeerTool {
  const annotations = { readOnlyHint: true };
  return {
    definition: { name, description: name, inputSchema: { type: 'object' }, annotations, ...more },
    run: () => answer,
  };
}
