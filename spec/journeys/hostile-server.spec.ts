/** Servers that mean harm: whatever one does, the others answer, webhooks are taken, and memory and time are bounded. */

import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { listenHttp } from '../support/http-listener.ts';
import type { PeerTool } from '../support/mcp/catalogue.ts';
import {
  child,
  commandOf,
  entryOf,
  eventually,
  type Gateway,
  isWell,
  startGateway,
  wordsOf,
} from '../support/mcp/gateway.ts';
import { type Harm, hostilePeer, manySchemas, maxForms } from '../support/mcp/hostile-peer.ts';
import { started } from '../support/mcp/http-peer.ts';
import { jsonPeer } from '../support/mcp/json-peer.ts';
import { listingPeer } from '../support/mcp/listing-peer.ts';
import { leakedToken } from '../support/mcp/odd-tools.ts';
import { until } from '../support/processes.ts';

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

  // A busy machine may refuse calls for want of processor time, and is asked again until it has had enough of it.
  const codes: unknown[] = [];
  let last: unknown;
  await until(async () => {
    const { error } = await gateway.call('mcp__hostile__tool', { value: 1 });
    codes.push(error?.code);
    last = error;
    return error?.code === 'invalid_schema';
  });
  t.match(last, { code: 'invalid_schema', message: /mcp server "hostile".*checking a value takes too long/ });
  t.same(new Set(codes.slice(0, -1)), new Set(codes.length > 1 ? ['server_unavailable'] : []));
  const again = await gateway.call('mcp__hostile__tool', { value: 1 });
  t.match(again.error, { code: 'invalid_schema' }, 'it is final');
  await isWell(t, gateway);
});

t.test('LIF-13 · a server with many such schemas has none checked once it has used up their time', async (t) => {
  const gateway = await besideHealthy(t, 'doubling-schemas');

  // What a busy machine refuses for want of processor time has used up none of it.
  let tool = 0;
  let last: unknown;
  await until(async () => {
    const { error } = await gateway.call(`mcp__hostile__t${tool++ % manySchemas}`, { value: 1 });
    last = error;
    return error?.code === 'server_unavailable' && !error.message.includes('too busy');
  });
  t.match(last, { code: 'server_unavailable', message: /took too much time to check; try again in \d+ s/ });
  await isWell(t, gateway);
});

t.test('LIF-13 · the last words of a child that dies in a call come without their secrets', async (t) => {
  const gateway = await besideHealthy(t, 'dying-words');

  const answer = await gateway.call('mcp__hostile__tool');

  t.match(answer.error, { code: 'outcome_uncertain', message: /Authorization: \[redacted\]/ });
  t.notMatch(JSON.stringify([answer, await gateway.list(), gateway.daemon.log]), leakedToken);
});

t.test('SRV-1 · of a flood of forms that belong to no call a person has four, and the rest are declined', async (t) => {
  const gateway = await besideHealthy(t, 'forms');

  await eventually(async () => {
    const { answered } = JSON.parse(wordsOf(await gateway.call('mcp__hostile__tool'))) as { answered: number };
    return answered === maxForms - 4 ? true : undefined;
  });

  t.equal((await gateway.approvals()).length, 4);
  await isWell(t, gateway);
});

t.test('FLT-4 · a server whose tools change without end is listed once a second at most', async (t) => {
  const gateway = await besideHealthy(t, 'changes');
  interface Told {
    readonly said: number;
    readonly asked: number;
  }
  const told = async (): Promise<Told | undefined> => {
    const answer = await gateway.call('mcp__hostile__tool');
    return answer.error === undefined ? (JSON.parse(wordsOf(answer)) as Told) : undefined;
  };
  let before: (Told & { readonly atMs: number }) | undefined;

  const asked = await eventually(async () => {
    const now = await told();
    // One that goes on so for five seconds is ended for it (LIF-14); it counts anew then.
    if (now === undefined) before = undefined;
    else before ??= { ...now, atMs: performance.now() };
    if (now === undefined || before === undefined || now.asked <= before.asked + 1) return undefined;
    return { count: now.asked - before.asked, seconds: (performance.now() - before.atMs) / 1_000 };
  });

  t.ok(asked.count <= 2 + asked.seconds, `${asked.count} listings in ${asked.seconds} s`);
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

t.test(
  'LIF-14 · LIF-13 · a list of wrong items takes neither memory nor the log, whatever answer has it',
  async (t) => {
    const wrong: number[] = Array(200_000).fill(1);
    const shaking = await jsonPeer(t, ({ method, params: { protocolVersion = '' } }) => {
      const serverInfo = { name: 'shaking', version: '1', icons: wrong };
      return method === 'initialize' ? { result: { protocolVersion, capabilities: {}, serverInfo } } : undefined;
    });
    const offering = await jsonPeer(t, ({ method, params: { protocolVersion = '' } }) => {
      const results: Readonly<Record<string, JsonObject>> = {
        initialize: {
          ...{ protocolVersion, capabilities: { tools: {}, resources: {} } },
          serverInfo: { name: 'offering', version: '1' },
        },
        'tools/list': { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] },
        'resources/list': { resources: [{ uri: 'a:b', name: 'one' }] },
        'resources/read': { contents: wrong },
        'tools/call': { content: wrong },
      };
      const result = results[method];
      return result === undefined ? undefined : { result };
    });
    const gateway = await startGateway(t, { shaking, offering, healthy: child(t).entry });
    for (const server of ['healthy', 'offering']) await gateway.reaches(server, 'connected');

    const { error = '' } = await eventually(async () => {
      const row = await gateway.server('shaking');
      return row?.error === undefined ? undefined : row;
    });
    t.match(error, /a message may have 10000 members, and this one has more/);
    const read = await gateway.call('mcp__offering__read_resource', { uri: 'a:b' });
    t.match(read.error?.message, /its answer is not one of the protocol/);
    await gateway.call('mcp__offering__tool');
    // The answer may be read before the line of the log.
    const dropped = await eventually(async () => {
      const lines = gateway.daemon.log.filter(({ message }) => message.includes('dropped a content block'));
      return lines.length === 0 ? undefined : lines;
    });
    t.match(dropped, [{ message: /of type unknown and 199999 more$/ }]);
    t.equal(dropped.length, 1);
    await isWell(t, gateway);
  },
);

t.test('LIF-14 · an answer of millions of values is refused before it is parsed', async (t) => {
  const wide = await jsonPeer(t, ({ method }) => {
    if (method === 'tools/list') return { result: { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] } };
    return method === 'tools/call'
      ? { result: { content: [], structuredContent: { a: Array(2_000_000).fill(0) } } }
      : undefined;
  });
  const gateway = await startGateway(t, { wide, healthy: child(t).entry });
  for (const server of ['healthy', 'wide']) await gateway.reaches(server, 'connected');

  const { error } = await gateway.call('mcp__wide__tool');

  t.match(error, { code: 'outcome_uncertain', message: /\(a message of it has more than 1000000 values/ });
  await isWell(t, gateway);
});

t.test('LIF-14 · a batch of more than a thousand messages is refused', async (t) => {
  const { url } = await listenHttp(t, async (request, response) => {
    const { id, method, params } = JSON.parse((await text(request)) || '{}') as Record<string, JsonObject>;
    if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
    const results: Readonly<Record<string, JsonObject>> = {
      initialize: {
        protocolVersion: params?.protocolVersion ?? '',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'batching', version: '1' },
      },
      'tools/list': { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] },
    };
    const answer = { jsonrpc: '2.0', id, result: results[String(method)] ?? { content: [] } };
    const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    const batch = String(method) === 'tools/call' ? [...Array(1_000).fill(changed), answer] : [answer];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(batch));
  });
  const gateway = await startGateway(t, { batching: { url, skip_preflight: true }, healthy: child(t).entry });
  for (const server of ['healthy', 'batching']) await gateway.reaches(server, 'connected');

  const { error } = await gateway.call('mcp__batching__tool');

  t.match(error, { code: 'outcome_uncertain', message: /answers with a batch of more than 1000 messages/ });
  await isWell(t, gateway);
});

t.test('LIF-13 · an event without an end is cut off', async (t) => {
  let cut = false;
  const { url } = await listenHttp(t, async (req, res) => {
    const { id, method, params } = JSON.parse((await text(req)) || '{}') as Record<string, Record<string, unknown>>;
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
  const gateway = await startGateway(t, { hostile: { url: `${url}/mcp`, timeout: 60 }, healthy: child(t).entry });
  await gateway.reaches('healthy', 'connected');
  await gateway.reaches('hostile', 'connected');

  const answer = await gateway.call('mcp__hostile__tool');

  t.equal(answer.error?.code, 'outcome_uncertain');
  await eventually(() => cut || undefined);
  await isWell(t, gateway);
});

t.test('LIF-14 · CLI-5 · a tool without bounds is left out and reported, and costs no other tool', async (t) => {
  const tool = (name: string, description: string): PeerTool => ({
    definition: { name, description, inputSchema: { type: 'object' } },
    run: () => ({ text: name }),
  });
  const long = 'd'.repeat(240_000);
  const many = Array.from({ length: 20 }, (_, n) => tool(`many_${n}`, long));
  const huge = await started(t, { tools: [tool('huge', 'd'.repeat(300_000)), tool('small', 'Small')] });
  const wide = await started(t, { tools: many });
  const odd = listingPeer({
    'tools/list': [
      {
        tools: [
          { name: 'well', inputSchema: { type: 'object' } },
          { name: 'odd', inputSchema: 5 },
        ],
      },
    ],
  });
  const gateway = await startGateway(t, { huge: entryOf(huge), wide: entryOf(wide), odd });
  for (const name of ['huge', 'wide', 'odd']) await gateway.reaches(name, 'connected');

  const leftOut = (await gateway.list()).map(({ left_out }) => left_out);
  const names = (await gateway.tools()).filter(({ tool }) => !/resource|prompt/.test(tool)).map(({ tool }) => tool);

  t.match(leftOut, [
    [/^its tool "huge" is left out: a definition may have 256 KiB$/],
    [/^its tools "many_17", "many_18", "many_19" are left out: .* 4 MiB together$/],
    [/^its tool "odd" is left out: inputSchema/],
  ]);
  t.same(names, ['small', ...many.slice(0, 17).map(({ definition }) => definition.name), 'well']);
  t.ok(gateway.daemon.log.some(({ message }) => /mcp server "huge": its tool "huge" is left out/.test(message)));
  t.match((await gateway.cli('mcp', 'list')).stdout, /its tool "huge" is left out: a definition may have 256 KiB/);
  t.match((await gateway.cli('mcp', 'test', 'huge')).stdout, /its tool "huge" is left out/);
  const doctor = JSON.parse((await gateway.cli('doctor', '--json')).stdout) as readonly {
    code?: string;
    place?: string;
  }[];
  t.same(
    doctor.filter(({ code }) => code === 'server-tools').map(({ place }) => place),
    ['huge', 'wide', 'odd'],
  );
});
