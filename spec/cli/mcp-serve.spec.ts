import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import t, { type Test } from 'tap';
import { commandOf, entryOf, eventually, type Gateway, startGateway } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/plain-client.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';

const main = new URL('../../cli/main.js', import.meta.url).pathname;

function command({ home }: Gateway, ...more: readonly string[]) {
  return {
    command: process.execPath,
    args: [main, 'mcp', 'serve', ...more],
    env: { ...(process.env as Record<string, string>), AGENT_HOME: home.path },
  };
}

async function legacy(t: Test, gateway: Gateway): Promise<LegacyClient> {
  const client = new LegacyClient({ name: 'spec', version: '1' });
  t.teardown(() => client.close());
  await client.connect(new LegacyStdio(command(gateway)));
  return client;
}

async function modern(t: Test, gateway: Gateway): Promise<ModernClient> {
  const client = new ModernClient(
    { name: 'spec', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  t.teardown(() => client.close());
  await client.connect(new ModernStdio(command(gateway)));
  return client;
}

t.test('CLI-5 · a client of either era sees the supervised, filtered tools and calls them', async (t) => {
  const peer = stdioPeer();
  const gateway = await startGateway(t, {
    notes: commandOf(peer, { tools: { include: ['echo', 'add', 'fail'], resources: false, prompts: false } }),
  });
  await gateway.reaches('notes', 'connected');
  const names = ['mcp__notes__add', 'mcp__notes__echo', 'mcp__notes__fail'];
  for (const client of [await legacy(t, gateway), await modern(t, gateway)]) {
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

t.test('CLI-5 · FLT-4 · a changed list is told to the client', async (t) => {
  const peer = await started(t, { tools: ['one'] });
  const gateway = await startGateway(t, { notes: entryOf(peer, { tools: { resources: false, prompts: false } }) });
  await gateway.reaches('notes', 'connected');
  const client = await legacy(t, gateway);
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
});

t.test('CLI-5 · TRU-1 · an approval holds for who calls by `mcp serve` too', async (t) => {
  const peer = await started(t);
  const gateway = await startGateway(t, { notes: entryOf(peer, { trust: 'untrusted' }) });
  await gateway.reaches('notes', 'connected');
  const client = await legacy(t, gateway);
  const call = client.callTool({ name: 'mcp__notes__write_note', arguments: { text: 'x' } });
  const question = await gateway.asked();
  t.equal(peer.executions('write_note'), 0);
  await gateway.answer(question.id, false);
  t.match(await call, { isError: true, content: [{ text: /was denied \[approval_denied\]/ }] });
  t.equal(peer.executions('write_note'), 0);
});

t.test('CLI-5 · LIF-3 · a call that the client cancels is cancelled at the server', async (t) => {
  const peer = await started(t);
  const gateway = await startGateway(t, { notes: entryOf(peer) });
  await gateway.reaches('notes', 'connected');
  const client = await legacy(t, gateway);
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
  const peer = await started(t);
  const gateway = await startGateway(t, { notes: entryOf(peer) });
  await gateway.reaches('notes', 'connected');
  const { command: program, args, env } = command(gateway);
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

t.test('CLI-5 · who serves ends with its client, and with the daemon', async (t) => {
  const gateway = await startGateway(t, {});
  const client = new LegacyClient({ name: 'spec', version: '1' });
  const transport = new LegacyStdio(command(gateway));
  await client.connect(transport);
  const closed = new Promise<void>((resolve) => {
    client.onclose = () => resolve();
  });
  t.same((await client.listTools()).tools, []);
  gateway.daemon.kill('SIGTERM');
  await closed;
  await gateway.daemon.exited;
  t.pass('it ended with the daemon');
});
