import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { createListReader } from '../../../actors/mcp/read-listing.ts';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { listenHttp } from '../../support/http-listener.ts';
import { hostilePeer, maxTools } from '../../support/mcp/hostile-peer.ts';
import { started } from '../../support/mcp/http-peer.ts';
import { jsonPeer } from '../../support/mcp/json-peer.ts';
import { listingPeer } from '../../support/mcp/listing-peer.ts';
import { headerTools } from '../../support/mcp/odd-tools.ts';
import { open, opened } from '../../support/mcp/open-session.ts';

const anyObject = { type: 'object' };
const tooLong = (method: string) => ({
  kind: 'oversized',
  message: `the answer to its ${method} has more than 8 MiB, 1000000 values or 131072 levels in one page`,
});
const well: JsonObject = { name: 'well', inputSchema: anyObject };

function warnings() {
  const said: string[] = [];
  return { said, log: { log: () => {}, warnOnce: (_: string, text: string) => void said.push(text) } };
}

t.test(
  'FLT-4 · LIF-14 · a tool that is none of the protocol is left out alone, and reported with its reason',
  async (t) => {
    const rows: readonly (readonly [Json, RegExp])[] = [
      [
        { name: 'odd' },
        /^mcp server "peer": its tool "odd" is left out: inputSchema is not .* only its author can change that$/,
      ],
      [{ name: 'odd', inputSchema: null }, /inputSchema is not/],
      [{ name: 'odd', inputSchema: { type: 'array' } }, /inputSchema\.type is not as it has to be: expected "object"/],
      [{ name: 'odd', inputSchema: { anyOf: [anyObject] } }, /inputSchema\.type/],
      [{ name: 'odd', inputSchema: anyObject, annotations: { readOnlyHint: 'true' } }, /annotations\.readOnlyHint/],
      [{ name: 'odd', inputSchema: anyObject, outputSchema: { type: 'array' } }, /outputSchema\.type/],
      [{ inputSchema: anyObject }, /its tool without a name is left out/],
      [null, /its tool without a name is left out: it is not/],
      [
        { name: 'odd', inputSchema: anyObject, execution: { taskSupport: 'required' } },
        /as a task .* is not supported/,
      ],
    ];
    for (const [odd, message] of rows) {
      const { said, log } = warnings();
      const peer = listingPeer({
        'tools/list': [{ tools: [well], nextCursor: '2' }, { tools: [odd, { ...well, name: 'last' }] }],
      });
      const { listing } = await opened(t, peer, { log });
      t.same(
        listing.tools.map(({ name }) => name),
        ['well', 'last'],
        JSON.stringify(odd),
      );
      t.match(said, [message]);
      t.equal(said.length, 1);
      t.match(listing.leftOut, [/^its tool .* is left out/], 'the listing keeps it');
    }
  },
);

t.test('FLT-4 · a null in a tool counts as absent; a correct list is not logged', async (t) => {
  const { said, log } = warnings();
  const nulls = { ...well, description: null, title: null, annotations: null, outputSchema: null };
  const { listing } = await opened(t, listingPeer({ 'tools/list': [{ tools: [nulls] }] }), { log });
  t.same(listing.tools, [well]);
  const last = { tools: [nulls], nextCursor: null, _meta: null };
  t.same((await opened(t, listingPeer({ 'tools/list': [last] }), { log })).listing.tools, [well]);
  await opened(t, listingPeer({ 'tools/list': [{ tools: [well] }] }), { log });
  t.same(said, []);
});

t.test('FLT-4 · what is null in a part of a tool counts as not given, and a list that is null as empty', async (t) => {
  const { said, log } = warnings();
  const nulls = {
    name: 'well',
    inputSchema: { type: 'object', properties: null, required: null, default: null },
    outputSchema: { type: 'object', required: null },
    annotations: { title: null, readOnlyHint: true, destructiveHint: null },
    icons: [{ src: 'https://icons.test/a.png', mimeType: null, sizes: null }],
    execution: { taskSupport: null },
  };
  const { listing } = await opened(t, listingPeer({ 'tools/list': [{ tools: [nulls] }] }), { log });
  t.match(listing.tools, [
    {
      inputSchema: { type: 'object', default: null },
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
    },
  ]);
  t.notMatch(JSON.stringify(listing.tools), /"(?!default)\w+":null/);
  const empty = listingPeer({ 'tools/list': [{ tools: null }], 'prompts/list': [{ prompts: null }] });
  const { session, listing: none } = await opened(t, empty, { log });
  t.same(none.tools, []);
  t.match(await session.ask('prompts/list', {}), { kind: 'result', result: { prompts: [] } });
  t.same(said, []);
});

t.test('FLT-4 · ERA-1 · an empty list where the protocol has an object is an object without members', async (t) => {
  const { said, log } = warnings();
  const schema = { type: 'object', properties: [], required: [] };
  const tool = { name: 'well', inputSchema: schema, outputSchema: schema, annotations: [], _meta: [] };
  const handshake = {
    protocolVersion: '2025-06-18',
    capabilities: { tools: [], prompts: [], logging: [], experimental: [] },
    serverInfo: { name: 'php', version: '1' },
    _meta: [],
  };
  const { listing } = await opened(t, listingPeer({ initialize: [handshake], 'tools/list': [{ tools: [tool] }] }), {
    log,
  });
  const read = { type: 'object', properties: {}, required: [] };
  t.same(listing.tools, [{ name: 'well', inputSchema: read, outputSchema: read, annotations: {}, _meta: {} }]);
  t.same(listing.capabilities, { tools: {}, prompts: {}, logging: {}, experimental: {} });
  t.same(said, []);
});

t.test('FLT-4 · a tool that asks for a header of another form is left out with that reason', async (t) => {
  const { said, log } = warnings();
  const peer = await started(t, { kind: 'modern', tools: headerTools, pageSize: 2 });
  const { listing } = await opened(t, { url: peer.url }, { log });
  t.same(
    listing.tools.map(({ name }) => name),
    ['good_header'],
  );
  t.match(listing.leftOut, [
    /^its tools "bad_header_space", "bad_header_empty", "bad_header_object" are left out: an x-mcp-header in its/,
  ]);
  t.same(listing.leftOutNames, ['bad_header_space', 'bad_header_empty', 'bad_header_object']);
  t.equal(said.length, 1);
});

t.test('LIF-14 · a listing is cleaned and limited, whichever form the id of its answer has', async (t) => {
  const peer = await jsonPeer(t, ({ id, method, params: { protocolVersion = '' } }) => {
    const handshake = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'texts', version: '1' } };
    const tools = [{ ...well, description: 'plain\u{e0041}' }, { name: 'odd' }];
    return { id: String(id), result: method === 'initialize' ? handshake : { tools } };
  });
  const { listing } = await opened(t, peer);
  t.same(listing.tools, [{ ...well, description: 'plain' }]);
});

t.test('FLT-2 · resources and prompts are read entry by entry too', async (t) => {
  const { said, log } = warnings();
  const peer = listingPeer({
    'tools/list': [{ tools: [] }],
    'resources/list': [{ resources: [{ uri: 'mem://a', name: 'a', description: null }, { uri: 'mem://b' }] }],
    'prompts/list': [{ prompts: [{ name: 'p', arguments: [{ name: 'a', required: null }] }, { name: 5 }] }],
  });
  const { session } = await opened(t, peer, { log });
  t.match(JSON.stringify(await session.callUtility('list_resources', {})), /mem:\/\/a/);
  t.notMatch(JSON.stringify(await session.callUtility('list_resources', {})), /mem:\/\/b/);
  t.match(JSON.stringify(await session.callUtility('list_prompts', {})), /\\"p\\"/);
  t.match(said.join('\n'), /its resource "mem:\/\/b" is left out: name is not[\s\S]*its prompt without a name/);
});

t.test('LIF-7 · what is no list, and an unknown revision are failures of the server alone', async (t) => {
  const rows: readonly (readonly [Parameters<typeof listingPeer>[0], object])[] = [
    [
      { 'tools/list': [{ tools: 'none' }] },
      { kind: 'malformed', message: 'its tools/list is not one of the protocol: tools must be array' },
    ],
    [{ 'tools/list': [{}] }, { kind: 'malformed', message: /tools\/list/ }],
    [{ 'tools/list': [null] }, { kind: 'malformed', message: /tools\/list/ }],
    [
      { initialize: [{ protocolVersion: '1999-01-01', capabilities: {}, serverInfo: { name: 'x', version: '1' } }] },
      { kind: 'revision', offered: '1999-01-01' },
    ],
  ];
  for (const [listed, failure] of rows) {
    const { verdict } = await open(t, listingPeer(listed));
    t.match(verdict, { kind: 'failed', failures: [failure] });
  }
});

t.test(
  'LIF-14 · of a listing without measure 10,000 tools are read, and one sentence reports the others',
  async (t) => {
    const { said, log } = warnings();
    const { listing, session } = await opened(t, { ...hostilePeer('many-tools') }, { log });
    const others = `its tools "t10000", "t10001", "t10002" and ${maxTools - 10_003} more are left out`;
    t.equal(listing.tools.length, 10_000);
    t.same(listing.leftOut, [`${others}: one server may have 10000 tools`]);
    t.equal(said.length, 1);
    t.same((await session.list(new AbortController().signal)).leftOut, listing.leftOut, 'once for each listing');
  },
);

t.test('LIF-14 · a listing has as many pages as its tools need, and ends after 64 without a new one', async (t) => {
  const pages = (length: number, tools: (at: number) => readonly JsonObject[]) =>
    Array.from({ length }, (_, at) => ({ tools: tools(at), nextCursor: `${at}` }));
  const one = pages(100, (at) => [{ ...well, name: `t${at}` }]);
  // The last page is repeated for ever.
  const { listing } = await opened(t, listingPeer({ 'tools/list': one }));
  t.equal(listing.tools.length, 100);
  t.notOk(listing.leftOut);

  const empty = pages(66, (at) => (at === 0 ? [well] : []));
  const ended = await opened(t, listingPeer({ 'tools/list': [...empty, { tools: [{ ...well, name: 'late' }] }] }));
  t.equal(ended.listing.tools.length, 1);
  t.match(ended.listing.leftOut, [
    /further pages are left out: they are not asked for after 64 pages in a row without/,
  ]);

  // The cursors of its pages lead in a circle, often enough for any timeout.
  for (const others of [[], [{ inputSchema: anyObject }]]) {
    const circle = Array.from({ length: 200 }, (_, at) => ({
      tools: [{ ...well, name: `t${at % 2}` }, ...others],
      nextCursor: `${at}`,
    }));
    const round = await opened(t, listingPeer({ 'tools/list': [...circle, { tools: [{ ...well, name: 'late' }] }] }));
    const names = new Set(round.listing.tools.map(({ name }) => name));
    t.same([...names], ['t0', 't1']);
    t.match(round.listing.leftOut?.at(-1), /after 64 pages in a row without a new one$/);
  }
});

t.test('LIF-14 · no page is asked for after the one that goes beyond 4 MiB, and that is reported', async (t) => {
  const { listing, session } = await opened(t, { ...hostilePeer('endless-pages') });
  const answer = await session.call('tool', {});
  t.match(JSON.stringify(answer), /\\"asked\\":3[,}]/);
  t.equal(listing.tools.length, 23);
  t.match(listing.leftOut, [
    /^its tools "t3_0", "t3_1", "t3_2" and 7 more are left out: .* 4 MiB together$/,
    'its tools on further pages are left out: they are not asked for once one is beyond what a server may list',
  ]);
  t.equal(listing.leftOutNames, undefined, 'nor are their names known');
});

t.test('LIF-14 · malformed tools are reported together, however many and for whatever reasons', async (t) => {
  const { said, log } = warnings();
  const { listing } = await opened(t, { ...hostilePeer('malformed-tools') }, { log });
  t.same(listing.tools, []);
  t.match(listing.leftOut, [
    /^its tools "t10000", "t10001", "t10002" and 49997 more are left out: one server may have 10000 tools$/,
    /^its tools "t0", "t1", "t2" and 9997 more are left out: inputSchema is not as it has to be/,
  ]);
  t.equal(said.length, 2);

  const odd = Array.from({ length: 20 }, (_, at) => ({
    ...well,
    name: `t${at}`,
    icons: [...Array.from({ length: at }, () => ({ src: 'x' })), {}],
  }));
  const many = await opened(t, listingPeer({ 'tools/list': [{ tools: odd }] }));
  t.equal(many.listing.leftOut?.length, 11);
  t.match(many.listing.leftOut?.at(-1), / and 7 more are left out: other reasons$/);
});

t.test('LIF-14 · a page of more than 8 MiB fails a listing over stdio, with its own reason', async (t) => {
  for (const harm of ['long-page', 'longer-page'] as const) {
    const { verdict } = await open(t, { ...hostilePeer(harm) });
    t.match(verdict, { kind: 'failed', failures: [tooLong('tools/list')] }, harm);
  }
});

/** A server over HTTP whose answer to a method has no end, or as many bytes as are given. */
async function longAnswer(
  t: Test,
  { on, as, bytes = Number.POSITIVE_INFINITY }: { on: string; as: 'json' | 'event'; bytes?: number },
) {
  const { url } = await listenHttp(t, async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { id, method, params } = JSON.parse(text || '{}') as { id?: number; method?: string; params?: JsonObject };
    if (request.method !== 'POST' || id === undefined) {
      response.writeHead(request.method === 'POST' ? 202 : 405).end();
      return;
    }
    const handshake = {
      protocolVersion: params?.protocolVersion ?? '',
      capabilities: { tools: {}, resources: {}, prompts: {} },
      serverInfo: { name: 'long', version: '1' },
    };
    const page = { tools: [well], resources: [], prompts: [], content: [] };
    const result = method === 'initialize' ? handshake : page;
    const isEvent = method === on && as === 'event';
    response.writeHead(200, { 'content-type': isEvent ? 'text/event-stream' : 'application/json' });
    const [start = '', end = ''] = JSON.stringify({
      jsonrpc: '2.0',
      id,
      result: { _meta: { rest: '|' }, ...result },
    }).split('|');
    response.write(`${isEvent ? 'data: ' : ''}${start}`);
    const cut = new AbortController();
    response.once('close', () => cut.abort());
    const chunk = 'x'.repeat(65_536);
    for (let left = method === on ? bytes : 0; left > 0 && !response.destroyed; left -= chunk.length) {
      if (!response.write(chunk)) await once(response, 'drain', { signal: cut.signal }).catch(() => {});
    }
    response.end(`${end}${isEvent ? '\n\n' : ''}`);
  });
  return { url: `${url}/mcp` };
}

t.test('LIF-14 · a page of more than 8 MiB is not read to its end over HTTP, in a body or an event', async (t) => {
  for (const as of ['json', 'event'] as const) {
    const { url } = await longAnswer(t, { on: 'tools/list', as });
    const { verdict } = await open(t, { url, skip_preflight: true });
    t.match(verdict, { kind: 'failed', failures: [tooLong('tools/list')] }, as);

    for (const on of ['resources/list', 'resources/templates/list', 'prompts/list'] as const) {
      const peer = await longAnswer(t, { on, as });
      const { session } = await opened(t, { url: peer.url, skip_preflight: true });
      t.same(await session.ask(on, {}), { kind: 'unusable', why: tooLong(on).message }, `${as} ${on}`);
      t.match(await session.call('well', {}), { kind: 'result' }, 'the session is as it was');
    }
  }
});

t.test('LIF-14 · a page of more than a million values is not read over HTTP, and the reason counts them', async (t) => {
  const tool = { ...well, _meta: { many: Array<number>(1_000_001).fill(0) } };
  const { url } = await jsonPeer(t, ({ method }) =>
    method === 'tools/list' ? { result: { tools: [tool] } } : undefined,
  );
  const { verdict } = await open(t, { url, skip_preflight: true });
  t.match(verdict, { kind: 'failed', failures: [tooLong('tools/list')] });
});

/** A server whose streams end with an event that has an id and no message; what resumes one is answered in `bytes`. */
async function resuming(t: Test, { on, bytes }: { on: string; bytes: number }) {
  const resumed: string[] = [];
  const requests = new Map<string, JsonObject>();
  const { url } = await listenHttp(t, async (request, response) => {
    const [last] = [request.headers['last-event-id']].flat();
    if (request.method === 'GET' && last === undefined) return void response.writeHead(405).end();
    const { id, method, params } = (requests.get(String(last)) ??
      JSON.parse((await text(request)) || '{}')) as JsonObject;
    if (id === undefined) return void response.writeHead(202).end();
    const handshake = {
      protocolVersion: (params as JsonObject | undefined)?.protocolVersion ?? '',
      capabilities: { tools: {} },
      serverInfo: { name: 'resuming', version: '1' },
    };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (method === on && last === undefined) {
      requests.set('e1', { id, method: String(method) });
      return void response.end('retry: 1\r\nid: e1\r\ndata:\r\n\r\n');
    }
    if (last !== undefined) resumed.push(last);
    const result = method === 'initialize' ? handshake : { tools: [well], content: [] };
    const [start, end] = JSON.stringify({ jsonrpc: '2.0', id, result: { _meta: { rest: '|' }, ...result } }).split('|');
    response.write(`id: e2\ndata: ${start}`);
    const cut = new AbortController();
    response.once('close', () => cut.abort());
    const chunk = 'x'.repeat(65_536);
    let length = 0;
    for (; last !== undefined && length < bytes && !response.destroyed; length += chunk.length) {
      if (!response.write(chunk)) await once(response, 'drain', { signal: cut.signal }).catch(() => {});
    }
    response.end(`${end}\n\n`);
  });
  return { url: `${url}/mcp`, resumed };
}

t.test(
  'LIF-14 · a page of more than 8 MiB on a resumed stream is not read to its end, and not resumed again',
  async (t) => {
    const peer = await resuming(t, { on: 'tools/list', bytes: Number.POSITIVE_INFINITY });
    const { verdict } = await open(t, { url: peer.url, skip_preflight: true });
    t.match(verdict, { kind: 'failed', failures: [tooLong('tools/list')] });
    t.same(peer.resumed, ['e1']);
  },
);

t.test('LIF-13 · LIF-14 · a listing is read on a resumed stream, and a call that is longer than a page', async (t) => {
  const listing = await resuming(t, { on: 'tools/list', bytes: 1_048_576 });
  t.equal((await opened(t, { url: listing.url, skip_preflight: true })).listing.tools.length, 1);
  const call = await resuming(t, { on: 'tools/call', bytes: 9 * 1_048_576 });
  const { session } = await opened(t, { url: call.url, skip_preflight: true });
  t.match(await session.call('well', {}), { kind: 'result', result: { _meta: { rest: /^x{100}/ } } });
  t.same([listing.resumed, call.resumed], [['e1'], ['e1']]);
});

t.test('LIF-13 · LIF-14 · a result of a call may be longer than a page, over every transport', async (t) => {
  for (const as of ['json', 'event'] as const) {
    const bytes = 9 * 1_048_576;
    const { url } = await longAnswer(t, { on: 'tools/call', as, bytes });
    const { session } = await opened(t, { url, skip_preflight: true });
    const outcome = await session.call('well', {});
    t.match(outcome, { kind: 'result', result: { _meta: { rest: /^x{100}/ } } }, as);
    t.ok(JSON.stringify(outcome).length > bytes);
  }
});

t.test('LIF-14 · a call whose arguments read like the request for a page is not cut off as one', async (t) => {
  const bytes = 9 * 1_048_576;
  const { url } = await longAnswer(t, { on: 'tools/call', as: 'json', bytes });
  const { session } = await opened(t, { url, skip_preflight: true });
  for (const method of ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'])
    t.match(await session.call('well', { method, params: {} }), { kind: 'result' }, method);
});

t.test('LIF-14 · resources and prompts beyond the bounds of a listing are left out, and further pages', async (t) => {
  for (const [list, utility] of [
    ['resources', 'list_resources'],
    ['prompts', 'list_prompts'],
  ] as const) {
    const noun = list.slice(0, -1);
    const { said, log } = warnings();
    const { session } = await opened(t, { ...hostilePeer(`endless-${list}`) }, { log });
    const answer = JSON.stringify(await session.callUtility(utility, {}));
    // Its first page answered the listing of tools; two whole pages fit into 4 MiB.
    const read = ['2_0', '3_9', '4_0', '4_9', '5_0'].map((name) => answer.includes(`mem://${name}`));
    t.same(read, [true, true, false, false, false]);
    t.match(said, [
      new RegExp(`its ${noun}s .* are left out: the definitions of one server may have 4 MiB together`),
      new RegExp(`its ${noun}s on further pages are left out`),
    ]);
  }
});

t.test(
  'LIF-14 · listings of one method at once have bounds of their own, also after one that ended early',
  async (t) => {
    for (const list of ['resources', 'prompts'] as const) {
      const { session } = await opened(t, { ...hostilePeer(`endless-${list}`) });
      const ask = (signal?: AbortSignal) => session.ask(`${list}/list`, {}, signal === undefined ? {} : { signal });
      const leaving = new AbortController();
      const asked = [ask(leaving.signal), ask(), ask(leaving.signal), ask(), ask()];
      leaving.abort();
      const read = (await Promise.all(asked)).map((outcome) =>
        outcome.kind === 'result' ? (outcome.result as Record<string, readonly Json[]>)[list]?.length : outcome.kind,
      );
      t.same(read, ['cancelled', 20, 'cancelled', 20, 20], list);
    }
  },
);

t.test('LIF-14 · a page that did not come in time is not kept for its answer', async (t) => {
  const reader = createListReader({ messageBytes: () => 0, isCut: () => false }, true);
  const request = (id: number) =>
    reader.send?.({ jsonrpc: '2.0', id, method: 'tools/list' }, undefined, () => Promise.resolve());
  const answered = (id: number): Json => {
    const result: JsonObject = { tools: null };
    reader.receive?.({ jsonrpc: '2.0', id, result }, undefined, () => {});
    return result.tools ?? null;
  };
  const { answer } = await reader.ask('tools/list', async () => {
    await request(1);
    return { tools: answered(1) };
  });
  t.same(answer, { tools: [] }, 'one that came in time is read');

  const late = reader.ask('tools/list', async () => {
    await request(2);
    throw new Error('too late');
  });
  await t.rejects(late, /too late/);
  t.equal(answered(2), null, 'passed on as it came');
});
