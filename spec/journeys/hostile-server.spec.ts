/** Servers that mean harm: whatever one does, the others answer, webhooks are taken, and memory and time are bounded. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { child, commandOf, eventually, type Gateway, isWell, startGateway, wordsOf } from '../support/mcp/gateway.ts';
import { type Harm, hostilePeer, mostForms } from '../support/mcp/hostile-peer.ts';
import { leakedToken } from '../support/mcp/odd-tools.ts';

/** A daemon with a server that means harm and one that does not. */
async function besideHealthy(t: Test, harm: Harm): Promise<Gateway> {
  const gateway = await startGateway(t, { hostile: commandOf(hostilePeer(harm)), healthy: child(t).entry });
  await gateway.reaches('healthy', 'connected');
  await gateway.reaches('hostile', 'connected');
  return gateway;
}

t.test('LIF-13 · a pattern for results that would backtrack for ever refuses the result at once', async (t) => {
  const gateway = await besideHealthy(t, 'result-pattern');

  const answer = await gateway.call('mcp__hostile__tool');

  t.match(answer.error, { code: 'outcome_uncertain', message: /\/text must match pattern/ });
  await isWell(t, gateway);
});

t.test('LIF-13 · a schema that would be checked for ever refuses the call, which is never sent', async (t) => {
  const gateway = await besideHealthy(t, 'doubling-schema');

  const answer = await gateway.call('mcp__hostile__tool', { value: 1 });

  t.match(answer.error, { code: 'invalid_schema', message: /hostile/ });
  await isWell(t, gateway);
});

t.test('LIF-13 · the last words of a child that dies in a call come without their secrets', async (t) => {
  const gateway = await besideHealthy(t, 'dying-words');

  const answer = await gateway.call('mcp__hostile__tool');

  t.match(answer.error, { code: 'outcome_uncertain', message: /Authorization: \[redacted\]/ });
  t.notMatch(JSON.stringify([answer, await gateway.list(), gateway.daemon.log]), leakedToken);
});

t.test('SRV-1 · of a flood of forms a person has ten, and the rest are declined', async (t) => {
  const gateway = await besideHealthy(t, 'forms');

  await eventually(async () => {
    const { answered } = JSON.parse(wordsOf(await gateway.call('mcp__hostile__tool'))) as { answered: number };
    return answered === mostForms - 10 ? true : undefined;
  });

  t.equal((await gateway.approvals()).length, 10);
  await isWell(t, gateway);
});

t.test('FLT-4 · a server whose tools change without end is listed once a second at most', async (t) => {
  const gateway = await besideHealthy(t, 'changes');
  const told = async (): Promise<{ readonly said: number; readonly asked: number }> =>
    JSON.parse(wordsOf(await gateway.call('mcp__hostile__tool')));
  const beganAt = performance.now();
  const before = await told();

  const after = await eventually(async () => {
    const now = await told();
    return now.said > before.said + 5_000 && now.asked > before.asked + 1 ? now : undefined;
  });

  const asked = after.asked - before.asked;
  t.ok(asked <= 2 + (performance.now() - beganAt) / 1_000, `${asked} listings`);
  await isWell(t, gateway);
});

t.test('LIF-9 · a child that reads nothing of what it asks for is ended, and its connection says why', async (t) => {
  const gateway = await startGateway(t, { hostile: commandOf(hostilePeer('deaf')), healthy: child(t).entry });
  await gateway.reaches('healthy', 'connected');

  // How long it stays connected before that is its own affair.
  const row = await eventually(async () => {
    const found = await gateway.server('hostile');
    return found?.error === undefined ? undefined : found;
  });

  t.match(row.error, /it does not read what it is sent/);
  await isWell(t, gateway);
});

t.test('LIF-13 · an event without an end is cut off', async (t) => {
  let cut = false;
  const server = createServer(async (req, res) => {
    let text = '';
    for await (const chunk of req) text += chunk;
    const { id, method, params } = (text === '' ? {} : JSON.parse(text)) as Record<string, Record<string, unknown>>;
    const answer = (result: unknown): void => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    if (req.method !== 'POST') res.writeHead(405).end();
    else if (String(method) === 'initialize') {
      answer({
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'x', version: '1' },
      });
    } else if (String(method) === 'tools/list') answer({ tools: [{ name: 'tool', inputSchema: { type: 'object' } }] });
    else if (String(method) !== 'tools/call') res.writeHead(202).end();
    else {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: ');
      const chunk = 'x'.repeat(1_048_576);
      res.on('close', () => {
        cut = true;
      });
      const goOn = (): void => void (res.destroyed || res.write(chunk, () => setImmediate(goOn)));
      goOn();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const gateway = await startGateway(t, { hostile: { url, timeout: 60 }, healthy: child(t).entry });
  await gateway.reaches('healthy', 'connected');
  await gateway.reaches('hostile', 'connected');

  const answer = await gateway.call('mcp__hostile__tool');

  t.equal(answer.error?.code, 'outcome_uncertain');
  await eventually(() => cut || undefined);
  await isWell(t, gateway);
});
