import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import type { RequestHandlers } from '../../../actors/mcp/open-session.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { joinInstructions } from '../../../machines/mcp/instructions.ts';
import { makeHome } from '../../support/home.ts';
import { listenHttp } from '../../support/http-listener.ts';
import { lentTime } from '../../support/lent-time.ts';
import { started } from '../../support/mcp/http-peer.ts';
import { jsonPeer } from '../../support/mcp/json-peer.ts';
import { listingPeer } from '../../support/mcp/listing-peer.ts';
import { invisibleWords, taggedTool } from '../../support/mcp/odd-tools.ts';
import { opened } from '../../support/mcp/open-session.ts';
import { stdioPeer } from '../../support/mcp/stdio-peer.ts';
import { until } from '../../support/processes.ts';

const never = (): AbortSignal => new AbortController().signal;

t.test(
  'LIF-13 · every page is listed, texts without invisible characters, names as the server spells them',
  async (t) => {
    for (const kind of ['http', 'modern'] as const) {
      const odd = { ...taggedTool, definition: { ...taggedTool.definition, name: `odd${invisibleWords}` } };
      const peer = await started(t, { kind, tools: ['one', 'two', 'three', taggedTool, odd], pageSize: 2 });
      const { listing } = await opened(t, { url: peer.url });
      t.same(
        listing.tools.map(({ name }) => name),
        ['one', 'two', 'three', 'tagged', `odd${invisibleWords}`],
        kind,
      );
      t.equal(listing.tools[3]?.description, 'Looks harmless', kind);
      t.ok(listing.capabilities.tools !== undefined, kind);
    }
  },
);

t.test('FLT-4 · a changed list is reported in each era, and listed again', async (t) => {
  for (const kind of ['http', 'modern', 'sse'] as const) {
    const peer = await started(t, { kind, tools: ['one'] });
    const entry = { url: peer.url, ...(kind === 'sse' ? { transport: 'sse' } : {}) };
    const { session, facts } = await opened(t, entry);
    await until(async () => {
      // Where a stream must be open first, the server says it again.
      await peer.setTools(['one', 'two']);
      return facts.changed > 0;
    });
    const { tools } = await session.list(never());
    t.same(
      tools.map(({ name }) => name),
      ['one', 'two'],
      kind,
    );
  }
});

t.test(
  'FLT-4 · a change during a gap of the stream is reported once the stream is open again, in each era',
  async (t) => {
    for (const kind of ['http', 'modern'] as const) {
      const peer = await started(t, { kind, tools: ['one'] });
      const { session, facts } = await opened(t, { url: peer.url, skip_preflight: true });
      const streams = (): number => peer.seen(kind === 'http' ? 'GET' : 'subscriptions/listen').length;
      await until(() => streams() === 1);
      peer.set({ kind: 'answer', status: 503, times: 1, on: kind === 'http' ? 'GET' : 'subscriptions/listen' });
      await until(async () => {
        // One that was asked for may not stand yet.
        if (kind === 'http') peer.dropStreams();
        else await peer.expireSessions();
        return streams() === 2;
      });
      const before = facts.changed;
      await peer.setTools(['one', 'two']);
      await until(() => facts.changed > before);
      t.equal(streams(), 3, kind);
      t.equal((await session.list(never())).tools.length, 2, kind);
    }
  },
);

t.test('SRV-3 · log messages of the server become lines, and its progress goes to the call', async (t) => {
  const peer = await started(t);
  const { session, facts } = await opened(t, { url: peer.url });
  await session.call('log', { text: 'half done' }, { signal: never() });
  await until(() => facts.logged.length > 0);
  t.match(facts.logged, [/^\[info\].* half done$/]);

  await session.call('log', { text: 'one\n[error] forged Bearer abcdef123456' }, { signal: never() });
  await until(() => facts.logged.length > 1);
  t.match(facts.logged[1], /^\[info\] .*one \[error\] forged Bearer \[redacted\]$/, 'one line, and no secret');

  const steps: unknown[] = [];
  await session.call(
    'progress',
    { steps: 3, everyMs: 1 },
    { signal: never(), onProgress: ({ progress, total }) => void steps.push([progress, total]) },
  );
  t.same(steps, [
    [1, 3],
    [2, 3],
    [3, 3],
  ]);
});

t.test('LIF-3 · a call that takes too long is cancelled on the wire', async (t) => {
  const time = lentTime(t);
  for (const kind of ['http', 'modern', 'sse'] as const) {
    const peer = await started(t, { kind });
    const entry = { url: peer.url, timeout: 60, ...(kind === 'sse' ? { transport: 'sse' } : {}) };
    const { session, facts } = await opened(t, entry);
    const call = session.call('slow', {}, { signal: never() });
    await until(() => peer.work.slow.length > 0);
    time.pass(60_000);
    t.same(await call, { kind: 'timedOut', afterMs: 60_000 }, kind);
    await until(() => peer.work.slow[0]?.state === 'cancelled');
    await until(() => peer.seen('tools/call')[0]?.outcome !== 'open');
    t.ok((await session.list(never())).tools.length > 0, `${kind}: the session goes on`);
    t.same(facts.closed, []);
  }
});

t.test('LIF-3 · a call that its caller gives up is cancelled on the wire', async (t) => {
  const peer = await started(t);
  const { session } = await opened(t, { url: peer.url });
  const stop = new AbortController();
  const call = session.call('slow', {}, { signal: stop.signal });
  await until(() => peer.work.slow.length > 0);
  stop.abort();
  t.same(await call, { kind: 'cancelled' });
  await until(() => peer.work.slow[0]?.state === 'cancelled');
  // The server never answers it, so its stream would stay open.
  await until(() => peer.seen('tools/call')[0]?.outcome === 'cut');
});

t.test('LIF-3 · a cancelled request for a resource is ended too', async (t) => {
  for (const kind of ['http', 'modern'] as const) {
    const peer = await started(t, { kind });
    const { session } = await opened(t, { url: peer.url });
    peer.set({ kind: 'hang', at: 'after-head', on: 'resources/read' });
    const stop = new AbortController();
    const read = session.ask('resources/read', { uri: 'mem://a' }, { signal: stop.signal });
    await until(() => peer.seen('resources/read').length > 0);
    stop.abort();
    t.same(await read, { kind: 'cancelled' }, kind);
    await until(() => peer.seen('resources/read')[0]?.outcome === 'cut');
  }
});

t.test('TRU-2 · an expired session is reported as expired, whatever status says so', async (t) => {
  for (const status of [404, 400] as const) {
    const peer = await started(t);
    const { session } = await opened(t, { url: peer.url });
    await peer.expireSessions(status);
    t.same(await session.call('write_note', { text: 'x' }, { signal: never() }), { kind: 'expired' }, String(status));
    t.equal(peer.executions('write_note'), 0);
  }
});

t.test('TRU-2 · LIF-4 · a session of SSE that is forgotten is expired too, although its stream is open', async (t) => {
  for (const [status, body] of [
    [404, 'Could not find session'],
    [404, ''],
    [400, 'No transport found for sessionId'],
    [503, 'No active SSE connection for session 1f0c'],
  ] as const) {
    const peer = await started(t, { kind: 'sse' });
    const { session, facts } = await opened(t, { url: peer.url, transport: 'sse' });
    peer.set({ kind: 'answer', status, body, on: 'POST' });
    t.same(await session.call('write_note', { text: 'x' }), { kind: 'expired' }, `${status} ${body}`);
    t.equal(await session.ping(), undefined);
    t.equal(facts.expired, 1, 'a ping finds it out too');
    t.same(facts.closed, []);
  }
});

t.test(
  'ERA-1 · LIF-4 · a server of which another release runs now is connected again, by a call or a ping',
  async (t) => {
    const old = 'Bad Request: Unsupported protocol version (supported versions: 2025-06-18)';
    const rows = [
      ['initialize', 400, -32_022, 'Unsupported protocol version', true],
      ['discover', 400, -32_000, old, true],
      ['discover', 400, -32_000, 'Bad Request: Mcp-Session-Id header is required', true],
      ['initialize', 400, -32_600, 'Bad Request: Missing session ID', true],
      ['initialize', 200, -32_022, 'Unsupported protocol version', true],
      ['discover', 200, -32_002, 'language server not initialized: no session', false],
      // Tools that pass on the refusal of a service.
      ['initialize', 200, -32_603, 'Bad Request: the browser has no such session', false],
      ['discover', 200, -32_000, '400 Bad Request: invalid session id', false],
      ['initialize', 200, -32_022, 'the tape has run out', false],
    ] as const;
    for (const [handshake, status, code, message, isGone] of rows) {
      let isOther = false;
      const peer = await jsonPeer(t, ({ method }) => {
        if (isOther) return { status, error: { code, message } };
        if (method === 'tools/list') return { result: { tools: [], ttlMs: 0, cacheScope: 'private' } };
        if (method !== 'server/discover' || handshake === 'initialize') return undefined;
        return { result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } };
      });
      const protocol = handshake === 'discover' ? 'stateless' : 'legacy';
      for (const ask of ['call', 'ping'] as const) {
        isOther = false;
        const { session, facts } = await opened(t, { ...peer, protocol });
        isOther = true;
        if (ask === 'ping') t.equal(await session.ping(), undefined, message);
        else t.match(await session.call('any', {}, { signal: never() }), { kind: 'refused' }, message);
        t.equal(facts.expired > 0, isGone, `${ask}: ${message}`);
      }
    }
  },
);

t.test('ERA-1 · a process that refuses a call for its revision is kept, with its other calls', async (t) => {
  const program = `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    const result = { protocolVersion: params?.protocolVersion, capabilities: {}, serverInfo: { name: 'x', version: '1' } };
    const error = { code: -32022, message: 'Unsupported protocol version' };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(method === 'initialize' ? { result } : { error }) }));
  });`;
  const { session, facts } = await opened(t, { command: process.execPath, args: ['-e', program], protocol: 'legacy' });
  t.match(await session.call('any', {}, { signal: never() }), { kind: 'refused' });
  t.equal(facts.expired, 0);
});

t.test('TRU-2 · a child that dies in a call is a loss after dispatch; a later call was never sent', async (t) => {
  const home = makeHome(t);
  const counter = join(home.path, 'counter');
  const peer = stdioPeer('die-on-call', { counter });
  const { session, facts } = await opened(t, { command: peer.command, args: peer.args });
  t.match(await session.call('write_note', { text: 'x' }, { signal: never() }), { kind: 'lost', dispatched: true });
  t.equal(readFileSync(counter, 'utf8'), 'write_note\n');
  await until(() => facts.closed.length > 0);
  t.match(await session.call('write_note', { text: 'x' }, { signal: never() }), { kind: 'lost', dispatched: false });
  t.equal(facts.closed.length, 1, 'once');
  t.equal(readFileSync(counter, 'utf8'), 'write_note\n', 'nothing ran twice');
});

t.test('TRU-2 · LIF-8 · a connection that is refused sent nothing; one that breaks may have', async (t) => {
  const peer = await started(t, { kind: 'modern' });
  const { session } = await opened(t, { url: peer.url });
  peer.set({ kind: 'reset', at: 'after-request', on: 'tools/call' });
  t.match(await session.call('write_note', { text: 'x' }, { signal: never() }), { kind: 'lost', dispatched: true });
  t.equal(peer.executions('write_note'), 1);
  await peer.stop();
  t.match(await session.call('write_note', { text: 'x' }, { signal: never() }), { kind: 'lost', dispatched: false });
  t.equal(peer.executions('write_note'), 1);
});

t.test('TRU-2 · LIF-13 · an answer that cannot be read is named in words for a person, over sockets', async (t) => {
  const json = { 'content-type': 'application/json' };
  const rows: readonly (readonly [string, (response: ServerResponse) => void, object])[] = [
    [
      'accepted without an answer',
      (response) => response.writeHead(202).end(),
      { kind: 'unclear', why: 'it answered HTTP 202, which is for a message without an answer' },
    ],
    [
      'an event of more than a million values',
      (response) =>
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${'[],'.repeat(1_000_001)}\n\n`),
      { kind: 'unusable', why: 'its answer was cut off, at 64 MiB or a million values' },
    ],
    [
      'a body of more than a million values',
      (response) => response.writeHead(200, json).end(`${'[],'.repeat(1_000_001)}`),
      { kind: 'unusable', why: /^a message of it has more than 1000000 values/ },
    ],
    [
      'a result with another id',
      (response) => response.writeHead(200, json).end('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'),
      {
        kind: 'unusable',
        why: 'its answer is not one of the protocol: it has the id 1, not that of the request',
      },
    ],
    [
      'an error with another id',
      (response) =>
        response.writeHead(200, json).end('{"jsonrpc":"2.0","id":"x","error":{"code":-32000,"message":"No disk"}}'),
      { kind: 'refused', message: 'error -32000: No disk' },
    ],
    [
      'a batch of nothing',
      (response) => response.writeHead(200, json).end('[]'),
      { kind: 'unusable', why: 'its answer is not one of the protocol: it answers nothing' },
    ],
    [
      'no gzip',
      (response) => response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end('not compressed'),
      { kind: 'lost', why: 'its answer is not what its content-encoding says, or incomplete' },
    ],
    [
      'shorter than declared',
      (response) => {
        response.writeHead(200, { ...json, 'content-length': 100 }).write('{');
        setImmediate(() => response.destroy());
      },
      { kind: 'lost', why: 'the other side closed the connection' },
    ],
  ];
  for (const [name, answer, expected] of rows) {
    const { url } = await listenHttp(t, async (request, response) => {
      const { id, method, params } = JSON.parse((await text(request)) || '{}') as Record<string, JsonObject>;
      if (method === ('tools/call' as never)) return answer(response);
      if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
      const { protocolVersion = '' } = params ?? {};
      const shaken = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } };
      const result = method === ('initialize' as never) ? shaken : { tools: [] };
      response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
    const { session } = await opened(t, { url: `${url}/mcp`, skip_preflight: true });
    t.match(await session.call('write_note', { text: 'x' }), expected, name);
  }
});

t.test('LIF-4 · a live server answers the ping of its era; a dead one is reported with the reason', async (t) => {
  for (const [kind, method] of [
    ['http', 'ping'],
    ['modern', 'server/discover'],
  ] as const) {
    const peer = await started(t, { kind });
    const { session } = await opened(t, { url: peer.url });
    const before = peer.seen(method).length;
    t.equal(await session.ping(), undefined, kind);
    t.equal(peer.seen(method).length, before + 1, kind);
    await peer.stop();
    t.match(await session.ping(), /no answer to a liveness ping/, kind);
  }
});

t.test('LIF-4 · TRU-2 · a server that answers a ping with an expired session is not dead', async (t) => {
  for (const status of [404, 400] as const) {
    const peer = await started(t);
    const { session, facts } = await opened(t, { url: peer.url });
    await peer.expireSessions(status);
    t.equal(await session.ping(), undefined);
    t.equal(facts.expired, 1, String(status));
  }
});

t.test('LIF-4 · where ping is not known, the tools are listed instead, whatever is remembered of them', async (t) => {
  for (const [kind, on] of [
    ['http', 'ping'],
    ['modern', 'server/discover'],
  ] as const) {
    const peer = await started(t, { kind, ttlMs: 3_600_000 });
    const { session } = await opened(t, { url: peer.url });
    await session.list(never());
    const unknown = { jsonrpc: '2.0', error: { code: -32601, message: 'Method not found' } };
    const body = JSON.stringify({ ...unknown, id: null });
    peer.set({ kind: 'answer', status: 404, body, contentType: 'application/json', on });
    t.equal(await session.ping(), undefined, 'whoever answers lives');
    const listed = peer.seen('tools/list').length;
    t.equal(await session.ping(), undefined);
    t.equal(peer.seen('tools/list').length, listed + 1, kind);
    await peer.stop();
    t.match(await session.ping(), /no answer to a liveness ping/, kind);
  }
});

t.test('LIF-4 · a ping refused by HTTP 400 with a JSON-RPC error leads to a listing instead', async (t) => {
  const peer = await started(t);
  const { session, facts } = await opened(t, { url: peer.url });
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_600, message: 'Invalid Request' } });
  peer.set({ kind: 'answer', status: 400, body, contentType: 'application/json', on: 'ping' });
  t.equal(await session.ping(), undefined);
  const listed = peer.seen('tools/list').length;
  t.equal(await session.ping(), undefined);
  t.equal(peer.seen('tools/list').length, listed + 1);
  t.equal(facts.expired, 0);
});

t.test('LIF-4 · LIF-14 · a health check by tools/list and a listing are never asked at the same time', async (t) => {
  const asked: string[] = [];
  let answer: (() => void) | undefined;
  let isHeld = false;
  const peer = await jsonPeer(t, async ({ method, params: { cursor } }) => {
    if (method !== 'tools/list') return undefined;
    asked.push(String(cursor ?? 1));
    if (isHeld) await new Promise<void>((resolve) => (answer = resolve));
    const tools = [{ name: `page ${String(cursor ?? 1)}`, inputSchema: { type: 'object' } }];
    return { result: { tools, ...(cursor === undefined ? { nextCursor: '2' } : {}) } };
  });
  const { session } = await opened(t, peer);
  t.equal(await session.ping(), undefined, 'it knows no ping');
  asked.length = 0;
  isHeld = true;

  const listing = session.list(never());
  await until(() => asked.length === 1);
  t.equal(await session.ping(), undefined, 'the listing is asked already');
  t.same(asked, ['1']);
  isHeld = false;
  answer?.();
  t.equal((await listing).tools.length, 2);

  isHeld = true;
  const check = session.ping();
  await until(() => asked.length === 3);
  const next = session.list(never());
  isHeld = false;
  t.same(asked, ['1', '2', '1'], 'the listing waits for the check');
  answer?.();
  t.equal(await check, undefined);
  t.equal((await next).tools.length, 2);
  t.same(asked, ['1', '2', '1', '1', '2']);
});

t.test('LIF-13 · a structure that does not fit is named in a few visible words, whatever its keys are', async (t) => {
  const key = `${invisibleWords}${'k'.repeat(100_000)}`;
  const odd = {
    definition: {
      ...{ name: 'odd', description: 'odd', inputSchema: { type: 'object' as const } },
      outputSchema: { type: 'object' as const, additionalProperties: { type: 'string' } },
    },
    run: () => ({ text: 'x', structured: { [key]: 1 } }),
  };
  const peer = await started(t, { tools: [odd] });
  const { session } = await opened(t, { url: peer.url });
  const outcome = await session.call('odd', {}, { signal: never() });
  t.match(outcome, { kind: 'unusable', why: /^its structured content does not match .* \/k+ must be string$/ });
  t.ok(JSON.stringify(outcome).length < 1_000);
});

t.test('OAU-1 · a call that is refused by a server which logs in by OAuth says so', async (t) => {
  const metadata = 'Bearer resource_metadata="https://hub.test/.well-known/oauth-protected-resource"';
  for (const [challenge, expected] of [
    ['Bearer', { kind: 'unauthorized' }],
    [metadata, { kind: 'unauthorized', namesOauth: true }],
  ] as const) {
    const peer = await started(t);
    const { session } = await opened(t, { url: peer.url });
    peer.set({ kind: 'answer', status: 401, headers: { 'www-authenticate': challenge }, on: 'tools/call' });
    t.same(await session.call('echo', { text: 'hi' }), expected, challenge);
  }
});

t.test('LIF-13 · the JSON in the one text of a result is the structure that it lacks, if it fits', async (t) => {
  let text = '';
  const bridge = {
    definition: {
      ...{ name: 'bridge', description: 'bridge', inputSchema: { type: 'object' as const } },
      outputSchema: { type: 'object' as const, properties: { n: { type: 'number' } }, required: ['n'] },
    },
    run: () => ({ text }),
  };
  const peer = await started(t, { tools: [bridge] });
  const { session } = await opened(t, { url: peer.url });
  const deep = `{"n":1,"a":${'['.repeat(300)}${']'.repeat(300)}}`;
  for (const [said, outcome] of [
    ['{"n":1}', { kind: 'result', result: { structuredContent: { n: 1 }, content: [{ text: '{"n":1}' }] } }],
    ['{"n":"1"}', { kind: 'unusable', why: /does not match the tool's output schema/ }],
    ['{"n":', { kind: 'unusable', why: /did not return structured content/ }],
    ['[1]', { kind: 'unusable', why: /did not return structured content/ }],
    [deep, { kind: 'unusable', why: /did not return structured content/ }],
  ] as const) {
    text = said;
    t.match(await session.call('bridge', {}, { signal: never() }), outcome, said.slice(0, 20));
  }
});

t.test('LIF-13 · TRU-2 · a result that does not fit its output schema is unusable in both eras', async (t) => {
  let answer: { text: string; structured?: Record<string, unknown> } = { text: '' };
  const sum = {
    definition: {
      ...{ name: 'sum', description: 'sum', inputSchema: { type: 'object' as const } },
      outputSchema: { type: 'object' as const, properties: { n: { type: 'number' } }, required: ['n'] },
    },
    run: () => answer,
  };
  const misfit = { kind: 'unusable', why: /^its structured content does not match the tool's output schema/ };
  for (const kind of ['http', 'modern'] as const) {
    const peer = await started(t, { kind, tools: [sum] });
    const { session } = await opened(t, { url: peer.url });
    for (const [given, outcome] of [
      [
        { text: 'x', structured: { n: 2 } },
        { kind: 'result', result: { structuredContent: { n: 2 } } },
      ],
      [{ text: 'x', structured: { n: '2' } }, misfit],
      [{ text: '{"n":1}' }, { kind: 'result', result: { structuredContent: { n: 1 } } }],
      [{ text: '{"n":"1"}' }, misfit],
      [{ text: 'x' }, { kind: 'unusable', why: /did not return structured content/ }],
    ] as const) {
      answer = given;
      const said = `${kind} ${JSON.stringify(given)}`;
      t.match(await session.call('sum', {}, { signal: never() }), outcome, said);
    }
  }
});

t.test('LIF-9 · closing says nothing of a loss, and a closed session sends nothing', async (t) => {
  const peer = await started(t);
  const { session, facts } = await opened(t, { url: peer.url });
  await session.close();
  t.match(await session.call('echo', { text: 'x' }, { signal: never() }), { kind: 'lost', dispatched: false });
  t.same(facts.closed, []);
  t.equal(peer.seen('tools/call').length, 0);
  await session.close();
});

t.test('LIF-12 · TRU-2 · a call that is cut from here hears why, over every transport', async (t) => {
  const peer = await started(t, { tools: ['slow'] });
  for (const entry of [{ url: peer.url }, stdioPeer()] as const) {
    const { session } = await opened(t, { ...entry } as never);
    const answer = session.call('slow', { ms: 60_000 });
    await session.close('its entry was changed');
    t.match(await answer, { kind: 'lost', dispatched: true, why: 'its entry was changed', closedHere: true });
    t.match(await session.call('slow', {}), {
      kind: 'lost',
      dispatched: false,
      why: 'its entry was changed',
      closedHere: true,
    });
  }
});

/** Forms that stop the clocks of their calls until the spec fills them in. */
function forms() {
  const asked: { readonly ids: readonly (string | undefined)[]; readonly fill: () => void }[] = [];
  const elicit: RequestHandlers['elicit'] = (_params, _signal, calls) =>
    new Promise((resolve) => {
      const holds = calls.map((call) => call.hold());
      const fill = (): void => {
        for (const release of holds) release();
        resolve({ kind: 'answered', result: { action: 'accept', content: { name: 'Ada' } } });
      };
      asked.push({ ids: calls.map(({ id }) => id), fill });
    });
  return { asked, requests: { elicit } };
}

t.test(
  'LIF-3 · TRU-5 · the time of a call stands still while a person is asked for it, and no other one',
  async (t) => {
    const time = lentTime(t);
    const tied = { http: true, modern: true, 'modern stdio': true, stdio: false, sse: false } as const;
    for (const [kind, isTied] of Object.entries(tied)) {
      const over = kind === 'http' || kind === 'modern' || kind === 'sse' ? kind : undefined;
      const peer = over === undefined ? undefined : await started(t, { kind: over, tools: ['ask', 'slow', 'echo'] });
      const entry =
        peer === undefined
          ? { ...stdioPeer(kind === 'stdio' ? 'legacy' : 'modern') }
          : { url: peer.url, ...(over === 'sse' ? { transport: 'sse' } : {}) };
      const { asked, requests } = forms();
      const { session } = await opened(t, { ...entry, timeout: 20 } as never, { requests });
      const ids = isTied ? ['asks'] : ['other', 'asks'];

      const other = session.call('slow', {}, { id: 'other' });
      const call = session.call('ask', {}, { id: 'asks' });
      await until(() => asked.length === 1);
      t.same(asked[0]?.ids, ids, kind);
      // All of it together is less than the peer itself waits for its form.
      time.pass(25_000);
      if (isTied)
        t.same(await other, { kind: 'timedOut', afterMs: 20_000 }, `${kind}: no person is asked for this one`);
      asked[0]?.fill();
      t.match(await call, { kind: 'result' }, kind);
      if (!isTied) time.pass(20_000);
      t.match(await other, { kind: 'timedOut' }, kind);

      const alone = session.call('ask', {}, { id: 'alone' });
      await until(() => asked.length === 2);
      t.same(asked[1]?.ids, ['alone'], `${kind}: the only one that is open`);
      time.pass(25_000);
      const begun = session.call('slow', {}, { id: 'begun later' });
      time.pass(20_000);
      t.match(await begun, { kind: 'timedOut' }, `${kind}: one that begins later is not asked for`);
      asked[1]?.fill();
      t.match(await alone, { kind: 'result' }, kind);
    }
  },
);

t.test('LIF-1 · an SSE stream that breaks ends the session, and says so once', async (t) => {
  const peer = await started(t, { kind: 'sse' });
  const { facts } = await opened(t, { url: peer.url, transport: 'sse' });
  peer.dropStreams();
  await until(() => facts.closed.length > 0);
  t.match(facts.closed, [/^its event stream broke: \S/]);
  t.equal(facts.closed.length, 1);

  const { facts: other } = await opened(t, { url: peer.url, transport: 'sse' });
  peer.dropStreams('inOrder');
  await until(() => other.closed.length > 0);
  t.same(other.closed, ['its event stream has ended']);

  const { session, facts: long } = await opened(t, { url: peer.url, transport: 'sse' });
  const call = session.call('slow', {});
  await until(() => peer.work.slow.length > 0);
  peer.sendOnStreams(`data: ${'[],'.repeat(1_000_001)}\n\n`);
  await until(() => long.closed.length > 0);
  await session.close();
  t.match(await call, { kind: 'lost', why: /^a message of it has more than 1000000 values/ }, 'its calls hear why');
});

t.test('LIF-1 · a refused request over SSE ends no session, whatever its answer says', async (t) => {
  const peer = await started(t, { kind: 'sse' });
  const { session, facts } = await opened(t, { url: peer.url, transport: 'sse' });
  const other = session.call('slow', {});
  await until(() => peer.work.slow.length > 0);
  peer.set({ kind: 'answer', status: 500, body: 'upstream: socket hang up', on: 'tools/call', times: 1 });
  t.match(await session.call('write_note', { text: 'x' }), { kind: 'unclear' });
  t.same(facts.closed, []);
  peer.releaseSlow();
  t.match(await other, { kind: 'result' });
});

t.test('LIF-1 · a request over SSE that breaks, and an event that is no message, end no session', async (t) => {
  const peer = await started(t, { kind: 'sse' });
  const { session, facts } = await opened(t, { url: peer.url, transport: 'sse' });
  const other = session.call('slow', {});
  await until(() => peer.work.slow.length > 0);
  peer.set({ kind: 'reset', at: 'before-head', on: 'tools/call', times: 1 });
  t.match(await session.call('write_note', { text: 'x' }), { kind: 'lost' });
  peer.sendOnStreams('data: the socket was terminated\n\n');
  t.equal(await session.ping(), undefined, 'what comes after the event is read');
  t.same(facts.closed, []);

  const left = session.retire();
  peer.releaseSlow();
  t.match(await other, { kind: 'result' }, 'the last calls end before the session');
  await left;
});

t.test('FLT-4 · what is null in an answer counts as not given', async (t) => {
  const nulls = { annotations: null, _meta: null };
  const content = { type: 'text', text: 'hi' };
  const peer = listingPeer({
    'tools/list': [{ tools: [] }],
    'prompts/get': [{ description: null, messages: [{ role: 'user', content: { ...content, ...nulls } }] }],
    'resources/read': [{ contents: [{ uri: 'mem://a', mimeType: null, text: 'a', _meta: null }], _meta: null }],
    ping: [null],
  });
  const { session } = await opened(t, peer);
  t.equal(await session.ping(), undefined, 'an answer that is null is an answer');
  t.same(await session.ask('prompts/get', { name: 'p' }), {
    kind: 'result',
    result: { messages: [{ role: 'user', content }] },
  });
  t.same(await session.ask('resources/read', { uri: 'mem://a' }), {
    kind: 'result',
    result: { contents: [{ uri: 'mem://a', text: 'a' }] },
  });
});

t.test('LIF-13 · of instructions without measure only what may be shown is kept', async (t) => {
  const handshake = { protocolVersion: '2025-06-18', serverInfo: { name: 'x', version: '1' } };
  const instructions = 'Be brief. '.repeat(10_000);
  const peer = listingPeer({ initialize: [{ ...handshake, capabilities: {}, instructions }] });
  const { listing } = await opened(t, peer);
  t.match(listing.instructions, /^Be brief\. /);
  t.ok((listing.instructions?.length ?? 0) < 20_000);
  t.match(joinInstructions([{ server: 'x', instructions: listing.instructions ?? '' }]), /\[cut at 4000 characters\]$/);
});
