import t from 'tap';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { listingPeer } from '../../support/mcp/listing-peer.ts';
import { open, opened } from '../../support/mcp/open-session.ts';

const anyObject = { type: 'object' };
const well: JsonObject = { name: 'well', inputSchema: anyObject };

function warnings() {
  const said: string[] = [];
  return { said, log: { log: () => {}, warnOnce: (_: string, text: string) => void said.push(text) } };
}

t.test('FLT-4 · a tool that is none of the protocol is left out alone, and told with its reason', async (t) => {
  const rows: readonly (readonly [Json, RegExp])[] = [
    [{ name: 'odd' }, /^mcp server "peer": its tool "odd" is left out, for inputSchema is not .* tell its author$/],
    [{ name: 'odd', inputSchema: null }, /inputSchema is not/],
    [{ name: 'odd', inputSchema: { type: 'array' } }, /inputSchema\.type is not as it has to be: expected "object"/],
    [{ name: 'odd', inputSchema: { anyOf: [anyObject] } }, /inputSchema\.type/],
    [{ name: 'odd', inputSchema: anyObject, annotations: { readOnlyHint: 'true' } }, /annotations\.readOnlyHint/],
    [{ name: 'odd', inputSchema: anyObject, outputSchema: { type: 'array' } }, /outputSchema\.type/],
    [{ inputSchema: anyObject }, /its tool without a name is left out/],
    [null, /its tool without a name is left out, for it is not/],
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
  }
});

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
  t.match(said.join('\n'), /its resource "mem:\/\/b" is left out, for name is not[\s\S]*its prompt without a name/);
});

t.test(
  'LIF-7 · what is no list, or has no end, and a revision of nobody are failures of the server alone',
  async (t) => {
    const rows: readonly (readonly [Parameters<typeof listingPeer>[0], object])[] = [
      [{ 'tools/list': [{ tools: 'none' }] }, { kind: 'malformed', message: /tools\/list/ }],
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
