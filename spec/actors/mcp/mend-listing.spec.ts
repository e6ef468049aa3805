import t from 'tap';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { hostilePeer, mostTools } from '../../support/mcp/hostile-peer.ts';
import { listingPeer } from '../../support/mcp/listing-peer.ts';
import { open, opened } from '../../support/mcp/open-session.ts';

const anyObject = { type: 'object' };
const well: JsonObject = { name: 'well', inputSchema: anyObject };

function warnings() {
  const said: string[] = [];
  return { said, log: { log: () => {}, warnOnce: (_: string, text: string) => void said.push(text) } };
}

t.test(
  'FLT-4 · LIF-14 · a tool that is none of the protocol is left out alone, and told with its reason',
  async (t) => {
    const rows: readonly (readonly [Json, RegExp])[] = [
      [{ name: 'odd' }, /^mcp server "peer": its tool "odd" is left out: inputSchema is not .* tell its author$/],
      [{ name: 'odd', inputSchema: null }, /inputSchema is not/],
      [{ name: 'odd', inputSchema: { type: 'array' } }, /inputSchema\.type is not as it has to be: expected "object"/],
      [{ name: 'odd', inputSchema: { anyOf: [anyObject] } }, /inputSchema\.type/],
      [{ name: 'odd', inputSchema: anyObject, annotations: { readOnlyHint: 'true' } }, /annotations\.readOnlyHint/],
      [{ name: 'odd', inputSchema: anyObject, outputSchema: { type: 'array' } }, /outputSchema\.type/],
      [{ inputSchema: anyObject }, /its tool without a name is left out/],
      [null, /its tool without a name is left out: it is not/],
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
      t.match(listing.leftOut, [/^its tool .* is left out/], 'the listing keeps it for whoever looks');
    }
  },
);

t.test(
  'FLT-4 · what is null in a tool counts as not given; a list as it should be is told of in no word',
  async (t) => {
    const { said, log } = warnings();
    const nulls = { ...well, description: null, title: null, annotations: null, outputSchema: null };
    const { listing } = await opened(t, listingPeer({ 'tools/list': [{ tools: [nulls] }] }), { log });
    t.same(listing.tools, [well]);
    await opened(t, listingPeer({ 'tools/list': [{ tools: [well] }] }), { log });
    t.same(said, []);
  },
);

t.test('FLT-2 · resources and prompts are read entry by entry too', async (t) => {
  const { said, log } = warnings();
  const peer = listingPeer({
    'tools/list': [{ tools: [] }],
    'resources/list': [{ resources: [{ uri: 'mem://a', name: 'a', description: null }, { uri: 'mem://b' }] }],
    'prompts/list': [{ prompts: [{ name: 'p' }, { name: 5 }] }],
  });
  const { session } = await opened(t, peer, { log });
  t.match(JSON.stringify(await session.callUtility('list_resources', {})), /mem:\/\/a/);
  t.notMatch(JSON.stringify(await session.callUtility('list_resources', {})), /mem:\/\/b/);
  t.match(JSON.stringify(await session.callUtility('list_prompts', {})), /\\"p\\"/);
  t.match(said.join('\n'), /its resource "mem:\/\/b" is left out: name is not[\s\S]*its prompt without a name/);
});

t.test(
  'LIF-7 · what is no list, or has no end, and a revision of nobody are failures of the server alone',
  async (t) => {
    const rows: readonly (readonly [Parameters<typeof listingPeer>[0], object])[] = [
      [
        { 'tools/list': [{ tools: 'none' }] },
        { kind: 'malformed', message: 'its tools/list is not one of the protocol: tools must be array' },
      ],
      [{ 'tools/list': [{}] }, { kind: 'malformed', message: /tools\/list/ }],
      [
        {
          'tools/list': Array.from({ length: 70 }, (_, at) => ({
            tools: [{ ...well, name: `t${at}` }],
            nextCursor: `${at}`,
          })),
        },
        { kind: 'malformed', message: /no end/ },
      ],
      [
        { initialize: [{ protocolVersion: '1999-01-01', capabilities: {}, serverInfo: { name: 'x', version: '1' } }] },
        { kind: 'revision', offered: '1999-01-01' },
      ],
    ];
    for (const [listed, failure] of rows) {
      const { verdict } = await open(t, listingPeer(listed));
      t.match(verdict, { kind: 'failed', failures: [failure] });
    }
  },
);

t.test(
  'LIF-14 · of a listing without measure 10,000 tools are read, and one sentence reports the others',
  async (t) => {
    const { said, log } = warnings();
    const { listing, session } = await opened(t, { ...hostilePeer('many-tools') }, { log });
    const others = `its tools "t10000", "t10001", "t10002" and ${mostTools - 10_003} more are left out`;
    t.equal(listing.tools.length, 10_000);
    t.same(listing.leftOut, [`${others}: one server may have 10000 tools`]);
    t.equal(said.length, 1);
    t.same((await session.list(new AbortController().signal)).leftOut, listing.leftOut, 'once for each listing');
  },
);

t.test('LIF-14 · no page is asked for after the one that goes beyond 4 MiB, and that is reported', async (t) => {
  const { listing, session } = await opened(t, { ...hostilePeer('endless-pages') });
  const answer = await session.call('tool', {});
  t.match(JSON.stringify(answer), /\\"asked\\":3[,}]/);
  t.equal(listing.tools.length, 23);
  t.match(listing.leftOut, [
    /^its tools "t3_0", "t3_1", "t3_2" and 7 more are left out: .* 4 MiB together$/,
    'its tools on further pages are left out: they are not asked for once one is beyond what a server may list',
  ]);
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
