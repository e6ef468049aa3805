import t from 'tap';
import {
  describeCollision,
  mergeNames,
  namesOfServer,
  type ServerTools,
  toolName,
} from '../../../machines/mcp/tool-name.ts';
import { isLinear } from '../../support/linear.ts';
import { fc } from '../../support/property.ts';

const registerNames = (servers: readonly ServerTools[]) => {
  const { byName, collisions } = mergeNames(servers.map(namesOfServer));
  return { tools: [...byName.values()], collisions };
};

function server(name: string, natives: readonly string[], utilities: ServerTools['utilities'] = []): ServerTools {
  return { server: name, natives, utilities };
}

t.test('NAM-1 · a server my-api with a tool list-items.v2 becomes mcp__my_api__list_items_v2', (t) => {
  const rows: readonly (readonly [string, string, string])[] = [
    ['my-api', 'list-items.v2', 'mcp__my_api__list_items_v2'],
    ['GitHub', 'Search_Code9', 'mcp__GitHub__Search_Code9'],
    ['a b', 'c/d:e', 'mcp__a_b__c_d_e'],
    ['café', 'größe', 'mcp__caf___gr__e'],
    ['数据', '😀', 'mcp_______'],
    ['a', '٣', 'mcp__a___'],
    ['a', '\ud83d', 'mcp__a___'],
    ['a\u0000b', 'x\ny', 'mcp__a_b__x_y'],
    ['', '', 'mcp____'],
  ];
  for (const [name, tool, expected] of rows) t.equal(toolName(name, tool), expected, JSON.stringify([name, tool]));
  t.end();
});

t.test(
  'NAM-1 · NAM-2 · any name is letters, digits and underscores, one for each code point, or 64 with a hash',
  (t) => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (name, tool) => {
        const made = toolName(name, tool);
        return /^mcp__\w*$/.test(made) && made.length === Math.min(64, 7 + [...name].length + [...tool].length);
      }),
    );
    t.end();
  },
);

t.test('NAM-2 · long names that differ stay different, and long names that are alike still collide', (t) => {
  const long = 'x'.repeat(5_000);
  t.not(toolName('s', `${long}1`), toolName('s', `${long}2`));
  t.match(toolName('s', long), /^mcp__s__x{45}_[0-9a-f]{10}$/);
  const { tools, collisions } = registerNames([server('s', [`${long}-a`, `${long}_a`])]);
  t.same([tools.length, collisions.length], [0, 1]);
  t.end();
});

t.test('NAM-1 · the utilities are named like tools, and say that they are none', (t) => {
  const { tools } = registerNames([
    server('docs', ['find'], ['list_resources', 'read_resource', 'list_prompts', 'get_prompt']),
  ]);

  t.same(tools, [
    { name: 'mcp__docs__find', server: 'docs', kind: 'native', tool: 'find' },
    { name: 'mcp__docs__list_resources', server: 'docs', kind: 'utility', tool: 'list_resources' },
    { name: 'mcp__docs__read_resource', server: 'docs', kind: 'utility', tool: 'read_resource' },
    { name: 'mcp__docs__list_prompts', server: 'docs', kind: 'utility', tool: 'list_prompts' },
    { name: 'mcp__docs__get_prompt', server: 'docs', kind: 'utility', tool: 'get_prompt' },
  ]);
  t.end();
});

t.test('NAM-2 · two tools of one server that look alike are both left out and reported', (t) => {
  const { tools, collisions } = registerNames([server('s', ['a-b', 'ok', 'a.b', 'a b'])]);

  t.same(
    tools.map(({ tool }) => tool),
    ['ok'],
  );
  t.same(collisions, [
    {
      name: 'mcp__s__a_b',
      dropped: [
        { server: 's', tool: 'a-b' },
        { server: 's', tool: 'a.b' },
        { server: 's', tool: 'a b' },
      ],
      reason: 'alike',
    },
  ]);
  t.end();
});

t.test('NAM-2 · a tool that a listing repeats is one tool', (t) => {
  const { tools, collisions } = registerNames([server('s', ['a', 'a'])]);

  t.equal(tools.length, 1);
  t.same(collisions, []);
  t.end();
});

t.test("NAM-2 · a server's own tool beats a utility", (t) => {
  const { tools, collisions } = registerNames([server('s', ['list-prompts'], ['list_prompts', 'get_prompt'])]);

  t.same(
    tools.map(({ kind, tool }) => [kind, tool]),
    [
      ['native', 'list-prompts'],
      ['utility', 'get_prompt'],
    ],
  );
  t.same(collisions, [
    {
      name: 'mcp__s__list_prompts',
      kept: { server: 's', tool: 'list-prompts' },
      dropped: [{ server: 's', tool: 'list_prompts' }],
      reason: 'nativeFirst',
    },
  ]);
  t.end();
});

t.test('NAM-2 · what is left out claims no name, so the utility has it', (t) => {
  const { tools } = registerNames([server('s', ['list-prompts', 'list.prompts'], ['list_prompts'])]);

  t.same(tools, [{ name: 'mcp__s__list_prompts', server: 's', kind: 'utility', tool: 'list_prompts' }]);
  t.end();
});

t.test('NAM-2 · across servers the first in the order keeps the name, and every other is reported', (t) => {
  const servers = [server('my-api', ['x', 'y']), server('my.api', ['x']), server('my_api', ['x', 'z'])];
  const kept = (given: readonly ServerTools[]): unknown =>
    registerNames(given).tools.map(({ server, tool }) => `${server}/${tool}`);

  t.same(kept(servers), ['my-api/x', 'my-api/y', 'my_api/z']);
  t.same(kept(servers.toReversed()), ['my_api/x', 'my_api/z', 'my-api/y']);
  t.same(registerNames(servers).collisions, [
    {
      name: 'mcp__my_api__x',
      kept: { server: 'my-api', tool: 'x' },
      dropped: [
        { server: 'my.api', tool: 'x' },
        { server: 'my_api', tool: 'x' },
      ],
      reason: 'configuredFirst',
    },
  ]);
  t.end();
});

t.test('NAM-2 · where a tool comes from is never read from its name', (t) => {
  const { tools, collisions } = registerNames([server('a', ['b__c']), server('a__b', ['c', 'd'])]);

  t.same(tools, [
    { name: 'mcp__a__b__c', server: 'a', kind: 'native', tool: 'b__c' },
    { name: 'mcp__a__b__d', server: 'a__b', kind: 'native', tool: 'd' },
  ]);
  t.equal(collisions.length, 1);
  t.end();
});

t.test('NAM-2 · no name is registered twice, and every tool is registered or reported', (t) => {
  const name = fc.string({ unit: fc.constantFrom('a', '_', '-', '.'), maxLength: 3 });
  const servers = fc.uniqueArray(fc.tuple(name, fc.array(name)), { selector: ([first]) => first });
  fc.assert(
    fc.property(servers, (given) => {
      const { tools, collisions } = registerNames(
        given.map(([first, natives]) => server(first, natives, ['get_prompt'])),
      );
      const known = [...tools, ...collisions.flatMap(({ dropped }) => dropped)].map(
        ({ server, tool }) => `${server}/${tool}`,
      );
      const all = given.flatMap(([first, natives]) => [...natives, 'get_prompt'].map((tool) => `${first}/${tool}`));
      t.equal(new Set(tools.map((each) => each.name)).size, tools.length);
      t.same([...new Set(known)].sort(), [...new Set(all)].sort());
      t.equal(new Set(known).size, known.length);
    }),
  );
  t.end();
});

t.test('NAM-2 · 500 servers of 50 tools are named in time linear in the tools, even if all collide', (t) => {
  const natives = Array.from({ length: 50 }, (_, index) => `tool-${index}`);
  const many = (length: number) =>
    Array.from({ length }, (_, index) => server(index % 2 === 0 ? 'same-name' : `s${index}`, natives));
  const { tools, collisions } = registerNames(many(500));

  t.equal(tools.length, 251 * 50);
  t.equal(collisions.flatMap(({ dropped }) => dropped).length, 249 * 50);
  const register = (size: number) => {
    const servers = many(size);
    return () => registerNames(servers);
  };
  t.ok(isLinear(register, 32));
  t.end();
});

t.test('NAM-2 · a report names the servers, the tools and what to change', (t) => {
  const { collisions } = registerNames([
    server('one', ['a-b', 'a.b', 'get-prompt'], ['get_prompt']),
    server('o-e', ['x']),
    server('o.e', ['x']),
  ]);

  t.same(collisions.map(describeCollision), [
    'mcp server "one": "a-b" of "one", "a.b" of "one" all become mcp__one__a_b and are left out; exclude all but one of them in tools',
    'mcp server "one": "get_prompt" of "one" is left out, for the server\'s own "get-prompt" is mcp__one__get_prompt; exclude that one to have it',
    'mcp server "o.e": "x" of "o.e" left out, for "x" of "o-e" is mcp__o_e__x already; rename a server',
  ]);
  t.end();
});

t.test(
  'NAM-2 · LIF-13 · a report is as long as a line, however many names are taken and however long they are',
  (t) => {
    const alike = Array.from({ length: 1_000 }, (_, index) => `a${String.fromCodePoint(0x4e00 + index)}b`);
    const long = ['-', '.'].map((character) => character.repeat(100_000));
    const { collisions } = registerNames([server('one', [...alike, ...long])]);
    const [many = '', both = ''] = collisions.map(describeCollision);
    t.match(
      many,
      /^mcp server "one": "a一b" of "one", "a.b" of "one", "a.b" of "one", 997 more all become mcp__one__a_b /,
    );
    for (const text of [many, both]) t.ok(text.length < 1_000, text.slice(0, 200));
    t.end();
  },
);
