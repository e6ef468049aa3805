import t from 'tap';
import type { Listing } from '../../../actors/mcp/session.ts';
import { createRegistry } from '../../../runtime/mcp/registry.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';

const warned: string[] = [];
const log = { log: () => {}, warnOnce: (_: string, text: string) => void warned.push(text) };
const listed = (...names: string[]): Listing => ({
  tools: names.map((name) => ({ name, description: `does ${name}` })),
  capabilities: { tools: {} },
});
const server = (name: string, tools?: object) => settingsOf({ command: 'x', ...(tools && { tools }) } as never, name);

t.test('NAM-1 · FLT-1 · FLT-2 · what was listed is filtered, named and found again', (t) => {
  const registry = createRegistry(log);
  registry.configure([server('git-hub', { exclude: ['drop_*'] })]);
  const count = registry.learn('git-hub', {
    ...listed('search.code', 'drop_repo'),
    capabilities: { tools: {}, resources: {} },
  });
  t.equal(count, 3);
  t.same(
    registry.all().map(({ name, kind }) => [name, kind]),
    [
      ['mcp__git_hub__search_code', 'native'],
      ['mcp__git_hub__list_resources', 'utility'],
      ['mcp__git_hub__read_resource', 'utility'],
    ],
  );
  t.match(registry.find('mcp__git_hub__search_code'), {
    server: 'git-hub',
    tool: 'search.code',
    definition: { description: 'does search.code' },
  });
  t.match(registry.find('mcp__git_hub__read_resource')?.definition, { annotations: { readOnlyHint: true } });
  t.equal(registry.find('mcp__git_hub__drop_repo'), undefined);
  t.end();
});

t.test(
  'FLT-1 · LIF-14 · what is left out is not reported if the filter excludes it, and is a tool to the filter',
  (t) => {
    const words = ['its tools "big", "odd" are left out: each for its reason'];
    const listing: Listing = { ...listed('good'), leftOut: words, leftOutNames: ['big', 'odd'] };
    for (const [tools, expected] of [
      [{}, words],
      [{ exclude: ['big', 'o*'] }, []],
      [{ include: ['good'] }, []],
      [{ exclude: ['odd'] }, words],
      [{ include: ['big'] }, words],
    ] as const) {
      const registry = createRegistry(log);
      registry.configure([server('s', tools)]);
      registry.learn('s', listing);
      t.same(registry.leftOut('s'), expected, JSON.stringify(tools));
    }
    const registry = createRegistry(log);
    registry.configure([server('s', { include: ['good'] })]);
    registry.learn('s', { ...listed('good'), leftOut: words });
    t.same(registry.leftOut('s'), words, 'without their names nothing is known of them');
    t.end();
  },
);

t.test('FLT-1 · a pattern of the filter that matches no tool is logged and listed, by the tools of the time', (t) => {
  warned.length = 0;
  const registry = createRegistry(log);
  registry.configure([server('s', { include: ['serch', 'other'] })]);
  t.same(registry.leftOut('s'), [], 'before the first listing');
  registry.learn('s', listed('search', 'other'));
  const words = 'tools.include has "serch", which matches no tool; did you mean "search"?';
  t.same([registry.leftOut('s'), warned], [[words], [`mcp server "s": ${words}`]]);
  registry.learn('s', listed('serch', 'other'));
  t.same(registry.leftOut('s'), []);
  t.end();
});

t.test('FLT-3 · a server with nothing left has no tools', (t) => {
  const registry = createRegistry(log);
  registry.configure([server('s', { include: [], resources: false, prompts: false })]);
  t.equal(registry.learn('s', { ...listed('one'), capabilities: { tools: {}, resources: {}, prompts: {} } }), 0);
  t.same(registry.all(), []);
  t.end();
});

t.test('NAM-2 · collisions are reported, and the first configured keeps the name, whichever connects first', (t) => {
  warned.length = 0;
  const registry = createRegistry(log);
  registry.configure([server('a.b'), server('a-b')]);
  registry.learn('a-b', listed('one', 'only'));
  t.equal(registry.find('mcp__a_b__one')?.server, 'a-b', 'while it is alone');
  registry.learn('a.b', listed('one'));
  t.equal(registry.find('mcp__a_b__one')?.server, 'a.b');
  t.equal(registry.find('mcp__a_b__only')?.server, 'a-b');
  t.match(warned, [/"one" of "a-b" left out, for "one" of "a\.b" is mcp__a_b__one already/]);
  t.same([registry.count('a-b'), registry.count('a.b'), registry.count('none')], [1, 1, undefined], 'as it is now');
  t.match(registry.leftOut('a-b'), [/^"one" of "a-b" left out, .* already; rename a server$/]);
  t.same(registry.leftOut('a.b'), []);
  const many = Array.from({ length: 10 }, (_, at) => `t${at}`);
  registry.learn('a.b', listed(...many));
  registry.learn('a-b', listed(...many));
  t.equal(registry.count('a-b'), 0);
  t.match(registry.leftOut('a-b'), [/^"t0"/, /^"t1"/, /^"t2"/, /^7 more names are taken$/]);
  t.end();
});

t.test('FLT-4 · a new list replaces the old in one step: what still exists is never missing', (t) => {
  const registry = createRegistry(log);
  registry.configure([server('s')]);
  const seen: (readonly string[])[] = [];
  registry.learn('s', listed('kept', 'goes'));
  const forget = registry.onChange(() => void seen.push(registry.all().map(({ tool }) => tool)));
  registry.learn('s', listed('kept', 'comes'));
  t.same(seen, [['kept', 'comes']], 'one change, and no moment between');
  forget();
  registry.learn('s', listed());
  t.equal(seen.length, 1);
  t.end();
});

t.test('CLI-5 · LIF-6 · what a server offers beside its tools is remembered as long as its listing', (t) => {
  const registry = createRegistry(log);
  const changes: (readonly string[])[] = [];
  registry.onChange((lists) => void changes.push(lists));
  registry.configure([server('s')]);
  const rows = [{ uri: 'a://b', name: 'b' }];
  t.notOk(registry.keepOffered('s', 'resources/list', rows), 'it has listed nothing');
  registry.learn('s', listed('one'));
  t.ok(registry.keepOffered('s', 'resources/list', rows));
  t.notOk(registry.keepOffered('s', 'resources/list', [...rows]), 'the same again');
  registry.learn('s', listed('two'));
  t.match(registry.listing('s'), { tools: [{ name: 'two' }], offered: { 'resources/list': rows } });
  registry.announce(['resources']);
  registry.forget('s');
  registry.learn('s', { ...listed('two'), offered: { 'prompts/list': [] } });
  t.same(registry.listing('s')?.offered, { 'prompts/list': [] });
  t.same(changes, [['tools'], ['tools'], ['resources'], ['tools'], ['tools']]);
  t.end();
});

t.test('CLI-5 · FLT-4 · only a list that has changed is announced', (t) => {
  const registry = createRegistry(log);
  const changes: (readonly string[])[] = [];
  const listing = () => ({ ...listed('one'), capabilities: { tools: {}, resources: {} } });
  registry.configure([server('s')]);
  registry.learn('s', listing());
  registry.onChange((lists) => void changes.push(lists));
  registry.learn('s', listing());
  registry.configure([server('s')]);
  t.same(changes, [], 'the same list, and a reload that changes none');
  registry.configure([server('s', { exclude: 'one' })]);
  registry.forget('s');
  t.same(changes, [['tools'], ['tools', 'resources']]);
  t.end();
});

t.test('LIF-12 · what is configured no more is gone; what changed is filtered anew without a listing', (t) => {
  const registry = createRegistry(log);
  registry.configure([server('a'), server('b')]);
  registry.learn('a', listed('one', 'two'));
  registry.learn('b', listed('one'));
  registry.configure([server('a', { include: 'two' })]);
  t.same(
    registry.all().map(({ name }) => name),
    ['mcp__a__two'],
  );
  registry.configure([server('a'), server('b')]);
  t.same(
    registry.all().map(({ name }) => name),
    ['mcp__a__one', 'mcp__a__two'],
    'b must be listed again',
  );
  registry.forget('a');
  t.same(registry.all(), []);
  t.end();
});

t.test('FLT-4 · a listing makes anew what its own server has, and nothing of any other', (t) => {
  const registry = createRegistry(log);
  const [one, two] = [server('one'), server('two')];
  registry.configure([one, two]);
  registry.learn('one', listed('a'));
  const standing = registry.find('mcp__one__a');
  registry.learn('two', listed('a'));
  t.equal(registry.find('mcp__one__a'), standing);
  registry.configure([{ ...server('one', { exclude: ['a'] }) }, two]);
  t.equal(registry.find('mcp__one__a'), undefined, 'other settings choose again');
  t.ok(registry.find('mcp__two__a'));
  registry.configure([two]);
  registry.configure([one, two]);
  t.equal(registry.find('mcp__one__a'), undefined, 'who was gone is listed again before it has tools');
  t.end();
});

t.test('OBS-1 · a secret in the words of a listed tool is masked, and what a call must fit stays', (t) => {
  const registry = createRegistry(log, (text) => text.replaceAll('own-key', '[redacted]'));
  const schema = (description: string) => ({
    type: 'object',
    properties: { key: { description, enum: ['own-key'], default: 'own-key' }, title: { const: 'own-key' } },
  });
  const plain = { name: 'plain', description: 'does', inputSchema: schema('does') };
  const quoting = { name: 'quoting', description: 'an own-key', inputSchema: schema('the own-key') };
  registry.configure([server('s')]);
  registry.learn('s', { tools: [plain, quoting], capabilities: { tools: {} } });
  t.strictSame(registry.find('mcp__s__plain')?.definition, plain);
  t.strictSame(registry.find('mcp__s__quoting')?.definition, {
    ...{ name: 'quoting', description: 'an [redacted]', inputSchema: schema('the [redacted]') },
  });
  t.end();
});
