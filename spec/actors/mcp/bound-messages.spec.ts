import t, { type Test } from 'tap';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { jsonPeer } from '../../support/mcp/json-peer.ts';
import { opened } from '../../support/mcp/open-session.ts';

const eras = ['legacy', 'stateless'] as const;
const members = 'a message may have 10000 members, and this one has more';

/** A session with a server that answers these requests so, and the others as it has to. */
async function answered(t: Test, protocol: (typeof eras)[number], results: Readonly<Record<string, JsonObject>>) {
  const capabilities = { tools: {}, resources: {}, prompts: {} };
  const usual: Readonly<Record<string, JsonObject>> = {
    'server/discover': { supportedVersions: ['2026-07-28'], capabilities },
    'tools/list': { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] },
  };
  const entry = await jsonPeer(t, ({ method, params: { protocolVersion = '' } }) => {
    if (method === 'initialize')
      return { result: { protocolVersion, capabilities, serverInfo: { name: 'many', version: '1' } } };
    const result = results[method] ?? usual[method];
    return result === undefined ? undefined : { result };
  });
  return opened(t, { ...entry, protocol });
}

function many(count: number, item: Json): readonly Json[] {
  return Array.from({ length: count }, () => item);
}

t.test('LIF-13 · LIF-14 · a long list of what is right is passed on, in both eras', async (t) => {
  const content = many(5_000, { type: 'text', text: 'a' });
  const contents = many(5_000, { uri: 'mem://a', mimeType: 'text/plain', text: 'a' });
  const messages = many(3_000, { role: 'user', content: { type: 'text', text: 'a' } });
  for (const era of eras) {
    const { session } = await answered(t, era, {
      'tools/call': { content },
      'resources/read': { contents },
      'prompts/get': { messages },
    });
    t.match(await session.call('tool', {}), { kind: 'result', result: { content } }, era);
    t.match(await session.ask('resources/read', { uri: 'mem://a' }), { kind: 'result', result: { contents } }, era);
    t.match(await session.ask('prompts/get', { name: 'a' }), { kind: 'result', result: { messages } }, era);
  }
});

t.test('LIF-14 · one wrong item of a list is explained, and the others take no time and no memory', async (t) => {
  const wrong = many(200_000, {});
  for (const era of eras) {
    const { session } = await answered(t, era, {
      'tools/call': { content: [{ type: 'text', text: 'a' }, ...wrong] },
      'resources/read': { contents: wrong },
      'prompts/get': { messages: wrong },
    });
    const unusable = { kind: 'unusable', why: /^its answer is not one of the protocol: / };
    if (era === 'stateless') t.match(await session.call('tool', {}), unusable);
    t.match(await session.ask('resources/read', { uri: 'mem://a' }), unusable, era);
    t.match(await session.ask('prompts/get', { name: 'a' }), unusable, era);
  }
});

t.test('LIF-14 · what a call of the stateless era asks for is bounded too', async (t) => {
  const inputRequests = Object.fromEntries(many(10_000, 1).map((wrong, at) => [`r${at}`, { wrong }]));
  const { session } = await answered(t, 'stateless', { 'tools/call': { resultType: 'input_required', inputRequests } });
  t.match(await session.call('tool', {}), { kind: 'refused', message: new RegExp(members) });
});

t.test('LIF-14 · the wrong items within the entries of a listing are explained up to a number', async (t) => {
  const required = many(110_000, 1);
  const tools = ['a', 'b', 'c'].map((name) => ({ name, inputSchema: { type: 'object', required } }));
  const { listing } = await answered(t, 'legacy', { 'tools/list': { tools } });
  t.same(listing.tools, []);
  t.match(listing.leftOut, [
    /^its tool "a" is left out: inputSchema\.required\.0 is not as it has to be/,
    /^its tools "b", "c" are left out: the entries before have more than 100000 mistakes$/,
  ]);
});
