import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import t, { type Test } from 'tap';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { entryOf, eventually, type Gateway, startGateway, type ToolRow } from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { legacyServed, modernServed, serveCommand } from '../support/mcp/serve-clients.ts';
import { inAllOnly } from '../support/tier.ts';

t.test(
  'LIF-13 · CLI-5 · listings that are longer than a message of a client may be are offered in pages',
  { skip: inAllOnly },
  async (t) => {
    const long = 'd'.repeat(200_000);
    const tools = Array.from({ length: 15 }, (_, n) => ({
      definition: { name: `tool_${n}`, description: long, inputSchema: { type: 'object' as const } },
      run: () => ({ text: '' }),
    }));
    const peer = await started(t, { tools });
    const names = ['one', 'two', 'three', 'four'];
    const gateway = await startGateway(t, Object.fromEntries(names.map((name) => [name, entryOf(peer)])));
    for (const name of names) await gateway.reaches(name, 'connected');
    const count = (rows: readonly { readonly name: string }[]): number =>
      new Set(rows.flatMap(({ name }) => (/__tool_/.test(name) ? [name] : []))).size;

    const legacy = await legacyServed(t, gateway);
    const first = await legacy.listTools();
    const second = await legacy.listTools({ cursor: first.nextCursor });
    t.equal(count([...first.tools, ...second.tools]), 60);
    t.equal(second.nextCursor, undefined);
    t.equal(count((await (await modernServed(t, gateway)).listTools()).tools), 60);
    t.same(await legacy.listTools({ cursor: '' }), first, 'as some clients ask for the first page');
    await t.rejects(legacy.listTools({ cursor: 'x' }), { code: -32602 });
    const { code, stdout } = await gateway.cli('mcp', 'tools', '--json');
    t.equal(code, 0);
    t.equal(count(JSON.parse(stdout) as readonly ToolRow[]), 60);
  },
);

t.test('CLI-5 · requests one after another need no connection to the gateway each, and few are kept', async (t) => {
  const gateway = await withNotes(t);
  let connections = 0;
  const relay = createServer((client) => {
    connections += 1;
    const door = connect(homePaths(gateway.home.path).socket);
    for (const socket of [client, door]) socket.on('error', () => {});
    client.pipe(door).pipe(client);
  });
  const open = promisify(relay.getConnections.bind(relay));
  const path = join(gateway.home.path, 'relay.sock');
  relay.listen(path);
  t.teardown(() => relay.close());
  const { command, args, env } = serveCommand(gateway);
  const client = new Client({ name: 'spec', version: '1' });
  t.teardown(() => client.close());
  await client.connect(new StdioClientTransport({ command, args, env: { ...env, AGENT_SOCKET: path } }));
  const before = connections;
  for (let n = 0; n < 5; n += 1)
    t.match(await client.callTool({ name: 'mcp__notes__echo', arguments: { text: `${n}` } }), {
      content: [{ text: `${n}` }],
    });
  t.equal(connections - before, 1);
  const call = { name: 'mcp__notes__echo', arguments: { text: 'x' } };
  await Promise.all(Array.from({ length: 8 }, () => client.callTool(call)));
  // One of them watches the lists. A run may have 64, for all the programs that it starts.
  const kept = await eventually(async () => ((await open()) <= 3 ? await open() : undefined));
  t.equal(kept, 3);
});

t.test('CLI-5 · a message that is too long is refused with the limit, and the next one is answered', async (t) => {
  const gateway = await withNotes(t);
  const client = await legacyServed(t, gateway);
  const call = (text: string) => client.callTool({ name: 'mcp__notes__echo', arguments: { text } });

  const tooLong = { isError: true, content: [{ text: /^the request has more than 8 MiB; send a shorter text \[/ }] };
  t.match(await call('x'.repeat(11 * 1_048_576)), tooLong);

  t.match(await call('hi'), { content: [{ text: 'hi' }] });
});

t.test('CLI-5 · a client that writes null, or a batch, is answered', async (t) => {
  const gateway = await withNotes(t);
  const { command, args, env } = serveCommand(gateway);
  const server = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  t.teardown(() => server.kill());
  const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<JsonObject> => JSON.parse((await answers.next()).value);
  const say = (message: object): void => void server.stdin.write(`${JSON.stringify(message)}\n`);
  const request = (id: number, method: string, params: Json): object => ({ jsonrpc: '2.0', id, method, params });
  const clientInfo = { name: 'x', title: null, version: '1' };
  const capabilities = { roots: null, sampling: null };
  say(request(1, 'initialize', { protocolVersion: '2025-03-26', capabilities, clientInfo, _meta: null }));
  t.match(await answer(), { id: 1, result: { protocolVersion: '2025-03-26' } });
  say({ jsonrpc: '2.0', method: 'notifications/initialized', params: null });
  say(request(2, 'tools/list', null));
  t.match(await answer(), { id: 2, result: { tools: Array } });
  const call = { name: 'mcp__notes__echo', arguments: { text: 'x' }, _meta: { progressToken: null } };
  say([request(3, 'tools/call', call), request(4, 'ping', [])]);
  const both = [await answer(), await answer()].sort((one, other) => Number(one.id) - Number(other.id));
  t.match(both, [
    { id: 3, result: { content: [{ text: 'x' }] } },
    { id: 4, result: {} },
  ]);
});

async function withNotes(t: Test): Promise<Gateway> {
  const gateway = await startGateway(t, { notes: entryOf(await started(t)) });
  await gateway.reaches('notes', 'connected');
  return gateway;
}
