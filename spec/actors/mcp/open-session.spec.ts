import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { statelessRevision } from '../../../machines/mcp/connect-failure.ts';
import { makeHome } from '../../support/home.ts';
import { listenHttp } from '../../support/http-listener.ts';
import { lentTime } from '../../support/lent-time.ts';
import { faults } from '../../support/mcp/faults.ts';
import { started, startHttpPeer } from '../../support/mcp/http-peer.ts';
import { jsonPeer } from '../../support/mcp/json-peer.ts';
import { listingPeer } from '../../support/mcp/listing-peer.ts';
import { open, opened } from '../../support/mcp/open-session.ts';
import { stdioPeer } from '../../support/mcp/stdio-peer.ts';
import { hasEnded, numbersIn, until } from '../../support/processes.ts';

t.test('ERA-1 · ERA-3 · every transport and era opens, in the order that `protocol` asks for', async (t) => {
  const rows = [
    ['http', 'auto', 'legacy', ['initialize']],
    ['http', 'legacy', 'legacy', ['initialize']],
    ['http', 'stateless', 'legacy', ['server/discover', 'initialize']],
    ['modern', 'auto', 'stateless', ['initialize', 'server/discover']],
    ['modern', 'stateless', 'stateless', ['server/discover']],
    ['sse', 'auto', 'legacy', ['initialize']],
    ['dual', 'auto', 'legacy', ['initialize']],
    ['dual', 'stateless', 'stateless', ['server/discover']],
  ] as const;
  for (const [kind, protocol, era, handshakes] of rows) {
    const peer = await started(t, { kind });
    const entry = { url: peer.url, protocol, ...(kind === 'sse' ? { transport: 'sse' } : {}) };
    const { session, listing, facts } = await opened(t, entry);
    t.equal(session.era, era, `${kind} ${protocol}`);
    t.ok(listing.tools.length > 5, `${kind} ${protocol}: its tools are listed`);
    const said = peer.requests.map(({ rpc }) => rpc).filter((rpc) => /initialize$|discover/.test(rpc ?? ''));
    t.same([...new Set(said.filter((rpc) => rpc !== 'notifications/initialized'))], handshakes, `${kind} ${protocol}`);
    t.equal(facts.handshake, handshakes.at(-1) === 'server/discover' ? 'discover' : 'initialize');
    await session.close();
  }
});

t.test('ERA-1 · stdio servers of both eras open, and leave no child', async (t) => {
  const home = makeHome(t);
  for (const [behaviour, era] of [
    ['legacy', 'legacy'],
    ['modern', 'stateless'],
  ] as const) {
    const pidFile = join(home.path, behaviour);
    const peer = stdioPeer(behaviour, { pidFile });
    const { session } = await opened(t, { command: peer.command, args: peer.args });
    t.equal(session.era, era);
    const pids = readFileSync(pidFile, 'utf8').trim().split('\n').map(Number);
    await session.close();
    t.same(
      pids.filter((pid) => !hasEnded(pid)),
      [],
      behaviour,
    );
  }
});

t.test('ERA-1 · what is null in the answer to a handshake counts as not given', async (t) => {
  const answer = {
    protocolVersion: '2025-06-18',
    capabilities: { tools: { listChanged: null }, logging: null, prompts: null, experimental: null },
    serverInfo: { name: 'nulls', version: '1', title: null, icons: null },
    instructions: null,
  };
  const tools = [{ name: 'well', inputSchema: { type: 'object' } }];
  const peer = listingPeer({ initialize: [answer], 'tools/list': [{ tools }] });
  const { listing } = await opened(t, peer);
  t.same(listing, { tools, capabilities: { tools: {} } });
});

t.test('FLT-4 · LIF-13 · a handshake may deviate in what it only says or switches on', async (t) => {
  const said = {
    capabilities: {
      tools: { listChanged: 'yes' },
      prompts: ['list', 'get'],
      completions: true,
      logging: false,
      experimental: { a: true, b: {} },
      extensions: { a: true, b: null, c: [], d: {} },
      resources: { subscribe: true },
    },
    serverInfo: { version: 1, icons: [{ src: 'https://icons.test/a.png', sizes: '48x48' }] },
    instructions: 5,
    _meta: 3,
  };
  const tools = [{ name: 'well', inputSchema: { type: 'object' } }];
  const capabilities = {
    tools: {},
    prompts: {},
    completions: {},
    experimental: { b: {} },
    extensions: { d: {} },
    resources: { subscribe: true },
  };
  for (const [method, revision, handshake] of [
    ['initialize', { protocolVersion: '2025-06-18' }, 'initialize'],
    ['server/discover', { supportedVersions: [statelessRevision] }, 'discover'],
  ] as const) {
    const peer = listingPeer({ [method]: [{ ...revision, ...said }], 'tools/list': [{ tools }] });
    const { listing } = await opened(t, peer, { handshake });
    t.same(listing, { tools, capabilities }, method);
  }
});

t.test('ERA-1 · ERA-3 · a message may write null for a member that it does not have', async (t) => {
  const results: JsonObject = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'nulls', version: '1' },
    },
    'tools/list': { tools: [{ name: 'well', inputSchema: { type: 'object' } }] },
  };
  const params = { level: 'warning', logger: null, data: 'It says', _meta: null };
  const log = { jsonrpc: '2.0', method: 'notifications/message', params };
  const peer = await jsonPeer(t, ({ id, method }) => {
    const result = results[method] ?? null;
    const error = result === null ? { code: -32_601, message: 'Method not found' } : null;
    // An error has not even the id of its request.
    return { id: result === null ? null : id, method: null, result, error };
  });
  const script = `
    const results = ${JSON.stringify(results)};
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      const result = results[method] ?? null;
      const error = result === null ? { code: -32601, message: 'Method not found' } : null;
      console.log(${JSON.stringify(JSON.stringify(log))});
      console.log(JSON.stringify({ jsonrpc: '2.0', id, method: null, params: null, result, error }));
    });`;
  const { url } = await listenHttp(t, async (request, response) => {
    const { id, method } = JSON.parse((await text(request)) || '{}') as {
      readonly id?: number;
      readonly method: string;
    };
    if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
    const result = results[method] ?? null;
    const error = result === null ? { code: -32_601, message: 'Method not found' } : null;
    const answer = { jsonrpc: '2.0', id: result === null ? null : id, method: null, result, error };
    const stream = [log, answer].map((message) => `data: ${JSON.stringify(message)}\n\n`).join('');
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream);
  });
  const entries: readonly JsonObject[] = [
    { ...peer },
    { url, skip_preflight: true },
    { command: process.execPath, args: ['-e', script] },
  ];
  for (const entry of entries) {
    const { session, listing, facts } = await opened(t, entry);
    t.equal(listing.tools.length, 1);
    t.match(await session.call('well', {}), { kind: 'refused', rpc: { code: -32_601 } });
    t.equal(await session.ping(), undefined);
    t.same(facts.closed, []);
    if (entry.url !== peer.url) t.match(facts.logged[0], /It says/);
  }
});

t.test('FLT-4 · LIF-4 · a message may write an empty list for a result or params without members', async (t) => {
  const results = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'php', version: '1' },
      _meta: [],
    },
    'tools/list': { tools: [], _meta: [] },
    ping: [],
  };
  const peer = await jsonPeer(t, ({ method }) => ({ result: results[method as keyof typeof results] }));
  const script = `
    const results = ${JSON.stringify(results)};
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      if (method === 'ping')
        console.log(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: [] }));
      console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }));
    });`;
  const { session } = await opened(t, peer);
  t.equal(await session.ping(), undefined);
  const child = await opened(t, { command: process.execPath, args: ['-e', script] });
  t.equal(await child.session.ping(), undefined);
  await until(() => child.facts.changed === 1);
});

t.test('FLT-4 · LIF-13 · a result in a JSON answer may write null for its _meta', async (t) => {
  const results: JsonObject = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'nulls', version: '1' },
      _meta: null,
    },
    'tools/list': { tools: [{ name: 'well', inputSchema: { type: 'object' } }], nextCursor: null, _meta: null },
    'tools/call': { content: [], structuredContent: null, isError: false, _meta: null },
  };
  const peer = await jsonPeer(t, ({ method }) => ({ result: results[method] ?? null }));
  const { session, listing } = await opened(t, peer);
  t.equal(listing.tools.length, 1);
  t.match(await session.call('well', {}), { kind: 'result', result: { content: [] } });
});

t.test('ERA-1 · what is null in the answer to a discovery counts as not given', async (t) => {
  const hints = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  const discovery = {
    ...hints,
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: { listChanged: null }, logging: null },
    instructions: null,
  };
  const tools = [{ name: 'well', inputSchema: { type: 'object' } }];
  const peer = listingPeer({ 'server/discover': [discovery], 'tools/list': [{ ...hints, tools }] });
  const { session, listing } = await opened(t, { ...peer, protocol: 'stateless' });
  t.equal(session.era, 'stateless');
  t.equal(listing.tools.length, 1);
});

t.test('ERA-2 · a list of the stateless era without a lifetime, or with a wrong one, is stale at once', async (t) => {
  const discovery = { supportedVersions: ['2026-07-28'], capabilities: { tools: {}, resources: {} } };
  const tools = [{ name: 'well', inputSchema: { type: 'object' } }];
  const rows: readonly JsonObject[] = [
    {},
    { ttlMs: null, cacheScope: null },
    { ttlMs: -1, cacheScope: 'shared' },
    { ttlMs: 1.5, cacheScope: 'public' },
  ];
  for (const hints of rows) {
    const peer = listingPeer({
      'server/discover': [discovery],
      'tools/list': [{ ...hints, tools }],
      'resources/read': [{ ...hints, contents: [{ uri: 'mem://a', text: 'a' }] }],
    });
    const { session, listing } = await opened(t, { ...peer, protocol: 'stateless' });
    t.equal(session.era, 'stateless', JSON.stringify(hints));
    t.equal(listing.tools.length, 1, JSON.stringify(hints));
    t.equal(listing.ttlMs, undefined, JSON.stringify(hints));
    const read = await session.ask('resources/read', { uri: 'mem://a' });
    t.match(read, { kind: 'result', result: { contents: [{ text: 'a' }] } }, JSON.stringify(hints));
  }
});

t.test('ERA-2 · LIF-13 · a structure may be all of a result, in both eras', async (t) => {
  const peer = listingPeer({
    'server/discover': [{ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }],
    'tools/list': [{ tools: [{ name: 'well', inputSchema: { type: 'object' } }] }],
    'tools/call': [{ structuredContent: { sum: 3 } }],
  });
  for (const [protocol, era] of [
    ['legacy', 'legacy'],
    ['stateless', 'stateless'],
  ] as const) {
    const { session } = await opened(t, { ...peer, protocol });
    t.equal(session.era, era);
    t.match(await session.call('well', {}), { kind: 'result', result: { structuredContent: { sum: 3 } } }, era);
  }
});

t.test('LIF-7 · a stream that ends after the discovery is not the reason of a later failure', async (t) => {
  const { url } = await listenHttp(t, async (request, response) => {
    const { id, method } = JSON.parse((await text(request)) || '{}') as JsonObject;
    if (method === 'server/discover') {
      const result = {
        ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
        ...{ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
      };
      const event = `data: ${JSON.stringify({ jsonrpc: '2.0', id: id ?? null, result })}\n\n`;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(event);
      return;
    }
    const error = { code: -32_603, message: 'the list is broken' };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error }));
  });
  const { verdict } = await open(t, { url: `${url}/mcp`, protocol: 'stateless', skip_preflight: true });
  const [first] = verdict.kind === 'failed' ? verdict.failures : [];
  t.match(first, { kind: 'rpc', code: -32_603, message: 'the list is broken' });
});

t.test('ERA-1 · what the server took last time is tried first', async (t) => {
  const peer = await started(t, { kind: 'modern' });
  await opened(t, { url: peer.url }, { handshake: 'discover' });
  t.equal(peer.seen('initialize').length, 0);
});

t.test('ERA-2 · silence, a broken connection and trouble of the server are no refusal', async (t) => {
  const time = lentTime(t);
  for (const fault of [
    { kind: 'hang', at: 'before-head' },
    { kind: 'reset', at: 'before-head' },
    faults.serverError,
    faults.unauthorized,
    faults.tooMany,
  ] as const) {
    const peer = await started(t, { kind: 'dual' });
    peer.set({ ...fault, on: 'initialize' });
    const attempt = open(t, { url: peer.url, connect_timeout: 60, skip_preflight: true });
    if (fault.kind === 'hang') {
      await until(() => peer.seen('initialize').length > 0);
      time.pass(60_000);
    }
    t.equal((await attempt).verdict.kind, 'failed');
    t.equal(peer.seen('server/discover').length, 0, JSON.stringify(fault));
  }
});

t.test('ERA-1 · LIF-7 · a list that is refused after the handshake is a failure of its own', async (t) => {
  const peer = await started(t);
  peer.set({ kind: 'answer', status: 400, body: 'a parameter is missing', on: 'tools/list' });
  const { verdict } = await open(t, { url: peer.url });
  t.match(verdict, { kind: 'failed', failures: [{ kind: 'http', status: 400 }] });
  t.equal(peer.seen('server/discover').length, 0);
});

t.test('ERA-2 · two refusals are reported in the order of the attempts', async (t) => {
  const peer = await started(t);
  peer.set({ ...faults.notFound, on: 'POST' });
  const { verdict } = await open(t, { url: peer.url, skip_preflight: true });
  t.match(verdict, {
    kind: 'failed',
    failures: [
      { kind: 'http', status: 404, message: 'Not Found' },
      { kind: 'http', status: 404 },
    ],
  });
});

t.test('ERA-2 · LIF-7 · a session that is gone after its handshake refuses no era, and is tried again', async (t) => {
  for (const on of ['tools/list', 'notifications/initialized']) {
    const peer = await started(t);
    peer.set({ ...faults.sessionGone404, on });
    const { verdict } = await open(t, { url: peer.url });
    t.match(verdict, { kind: 'failed', failures: [{ kind: 'http', status: 404, sessionGone: true }] }, on);
    t.equal(peer.seen('server/discover').length, 0, on);
  }
  // Another instance of the server has the stream.
  const peer = await started(t, { kind: 'sse' });
  peer.set({ kind: 'answer', status: 404, body: 'Could not find session', on: 'initialize' });
  const { verdict } = await open(t, { url: peer.url, transport: 'sse' });
  t.match(verdict, { kind: 'failed', failures: [{ kind: 'http', status: 404, sessionGone: true }] }, 'over SSE');
});

t.test('LIF-7 · a refused notice after the handshake fails no server, unless the session is gone', async (t) => {
  const on = 'notifications/initialized';
  for (const kind of ['http', 'sse'] as const) {
    const peer = await started(t, { kind });
    peer.set({ kind: 'answer', status: 400, body: '', on });
    const { listing } = await opened(t, { url: peer.url, transport: kind });
    t.ok(listing.tools.length > 0, kind);
    t.equal(peer.seen(on).length, 1, kind);
  }
  const peer = await started(t);
  peer.set({ kind: 'answer', status: 400, body: 'Bad Request: Session not found', on });
  const { verdict } = await open(t, { url: peer.url });
  t.match(verdict, { kind: 'failed', failures: [{ kind: 'http', status: 400, sessionGone: true }] });
});

t.test('OAU-1 · a scope that a server demands is read from its refusal', async (t) => {
  const challenge = 'Bearer error="insufficient_scope", scope="files:write"';
  for (const [protocol, kind, on = 'POST'] of [
    ['auto', 'http'],
    ['legacy', 'http'],
    ['stateless', 'modern'],
    ['auto', 'sse'],
    ['auto', 'sse', 'GET'],
  ] as const) {
    const peer = await started(t, { kind });
    peer.set({ kind: 'answer', status: 403, headers: { 'www-authenticate': challenge }, on });
    const transport = kind === 'sse' ? kind : 'http';
    const { verdict } = await open(t, { url: peer.url, protocol, transport });
    t.match(
      verdict,
      { kind: 'failed', failures: [{ kind: 'http', status: 403, scope: 'files:write' }] },
      `${protocol} ${kind} ${on}`,
    );
  }
  const peer = await started(t, { kind: 'sse' });
  const { session } = await opened(t, { url: peer.url, transport: 'sse' });
  peer.set({ kind: 'answer', status: 403, headers: { 'www-authenticate': challenge }, on: 'tools/call' });
  t.match(await session.call('echo', { text: 'hi' }), { kind: 'needsScope', scope: 'files:write' });
});

t.test('ERA-2 · requests of the stateless era carry their revision, method and client', async (t) => {
  const peer = await started(t, { kind: 'modern' });
  const { session } = await opened(t, { url: peer.url, protocol: 'stateless' });
  await session.call('echo', { text: 'hi' }, { signal: new AbortController().signal });
  const [call] = peer.seen('tools/call');
  t.match(call?.headers, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' });
  t.match(call?.body, {
    params: {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'agent-gateway', version: '1.2.3' },
      },
    },
  });
});

t.test('LIF-3 · a silent server is dropped at its connect timeout and leaves no child', async (t) => {
  const pidFile = join(makeHome(t).path, 'pids');
  const peer = stdioPeer('silent', { pidFile });
  const time = lentTime(t);
  const attempt = open(t, { command: peer.command, args: peer.args, connect_timeout: 60 });
  await until(() => numbersIn(pidFile).length === 1);
  time.pass(60_000);
  t.same((await attempt).verdict, { kind: 'failed', failures: [{ kind: 'timeout', afterMs: 60_000 }] });
  t.ok(numbersIn(pidFile).every(hasEnded));

  const home = makeHome(t);
  const asks = 'echo open http://x >&2; sleep 0.2; echo 1 >>asked; cat >/dev/null';
  const waiting = open(t, { command: 'sh', args: ['-c', asks], cwd: home.path, connect_timeout: 60 });
  await until(() => numbersIn(join(home.path, 'asked')).length === 1);
  time.pass(60_000);
  t.match((await waiting).verdict, { failures: [{ kind: 'timeout', words: 'open http://x' }] });
});

t.test('LIF-3 · an attempt that is aborted is over at once and leaves no child', async (t) => {
  const pidFile = join(makeHome(t).path, 'pids');
  const peer = stdioPeer('silent', { pidFile });
  const stop = new AbortController();
  const attempt = open(t, { command: peer.command, args: peer.args }, { signal: stop.signal });
  await until(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8').includes('\n'));
  stop.abort();
  t.equal((await attempt).verdict.kind, 'failed');
  t.equal(hasEnded(Number(readFileSync(pidFile, 'utf8'))), true);
});

t.test('LIF-7 · a child that cannot start says why in its last words', async (t) => {
  const peer = stdioPeer(['exit=3']);
  const { verdict } = await open(t, { command: peer.command, args: peer.args });
  t.match(verdict, { kind: 'failed', failures: [{ kind: 'exited', words: /no licence found/ }] });
  const { verdict: missing } = await open(t, { command: 'no-such-command-here' });
  t.match(missing, { kind: 'failed', failures: [{ kind: 'spawn', code: 'ENOENT' }] });
});

t.test('SRV-1 · SRV-2 · a client says what it offers, and no more', async (t) => {
  const rows = [
    [{}, { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }],
    [{ elicitation: { enabled: false } }, { elicitation: undefined, sampling: {} }],
    [{ sampling: { enabled: false } }, { elicitation: { form: {} }, sampling: undefined }],
  ] as const;
  for (const [more, expected] of rows) {
    const peer = await startHttpPeer();
    t.teardown(() => peer.close());
    await opened(t, { url: peer.url, ...more });
    const body = peer.seen('initialize')[0]?.body as { params: { capabilities: object; clientInfo: object } };
    t.match(body.params.capabilities, expected, JSON.stringify(more));
    t.same(body.params.clientInfo, { name: 'agent-gateway', version: '1.2.3' });
  }
});

t.test('SRV-1 · a server that refuses the modes of elicitation is asked for forms without them', async (t) => {
  // As the Java SDK says it, with the status of each of its transports.
  const message = 'Unrecognized field "form" (class McpSchema$ClientCapabilities$Elicitation), not marked as ignorable';
  for (const status of [200, 400]) {
    const asked: unknown[] = [];
    const peer = await jsonPeer(t, ({ method, params: { capabilities } }) => {
      if (method !== 'initialize') return { result: { tools: [] } };
      const { elicitation = {} } = capabilities as JsonObject;
      asked.push(elicitation);
      return JSON.stringify(elicitation) === '{}' ? undefined : { status, error: { code: -32_603, message } };
    });
    const { session } = await opened(t, peer);
    t.equal(session.era, 'legacy');
    t.same(asked, [{ form: {}, url: {} }, {}], String(status));
  }
});

t.test('SRV-1 · SRV-2 · what a server asks goes to the handlers, and the answer back', async (t) => {
  for (const kind of ['http', 'modern'] as const) {
    const peer = await started(t, { kind });
    const asked: unknown[] = [];
    const { session } = await opened(
      t,
      { url: peer.url },
      {
        requests: {
          elicit: (params) => {
            asked.push(params.message);
            return Promise.resolve({ kind: 'answered', result: { action: 'accept', content: { name: 'Ada' } } });
          },
          sample: () => Promise.resolve({ kind: 'refused', reason: 'sampling refused: switched off' }),
        },
      },
    );
    const signal = new AbortController().signal;
    const form = await session.call('ask', {}, { signal });
    t.match(JSON.stringify(form), /Ada/, kind);
    t.same(asked, ['What is your name?'], kind);
    t.match(JSON.stringify(await session.call('sample', {}, { signal })), /switched off/, kind);
  }
});
