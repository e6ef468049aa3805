import t from 'tap';
import {
  allServers,
  isWithin,
  ownersToolsets,
  resolveToolsets,
  restrictedToolsets,
  serversOf,
  toolFilter,
  toolsetNames,
  unknownToolsets,
  webhookToolset,
} from '../../../machines/agent/toolset.ts';

const servers = ['github', 'my-files'];

t.test('DIS-5 · without a list a run has the toolset of webhooks, and no tool of a server', (t) => {
  t.same(webhookToolset, ['web_search', 'web_extract', 'vision_analyze', 'clarify']);
  t.same(resolveToolsets(undefined, servers), { names: webhookToolset, dropped: [] });
  t.same(resolveToolsets(ownersToolsets, []), { names: [...webhookToolset, 'mcp-*'], dropped: [] });
  t.end();
});

t.test('DIS-5 · the servers are known that a list names, or whose tools it may name', (t) => {
  const all = ['git', 'git hub', 'files'];
  const rows: readonly (readonly [readonly string[], readonly string[]])[] = [
    [[], []],
    [['agent-webhook', 'nope', 'mcp-nope'], []],
    [['mcp'], all],
    [['mcp-git*'], ['git', 'git hub']],
    [['files'], ['files']],
    [['mcp__git_hub__read'], ['git hub']],
    [['mcp__git__read'], ['git']],
    [['mcp__git*'], ['git', 'git hub']],
    [['mcp__*__read'], all],
    [['mcp__git'], []],
  ];
  for (const [names, expected] of rows) t.same(serversOf(names, all), expected, names.join());
  t.end();
});

t.test('DIS-5 · a list replaces the default; unknown and restricted names are dropped', (t) => {
  const rows: readonly (readonly [readonly string[], readonly string[], readonly string[]])[] = [
    [[], [], []],
    [['agent-webhook'], webhookToolset, []],
    [['web', 'vision', 'clarify', 'web_search'], ['web_search', 'web_extract', 'vision_analyze', 'clarify'], []],
    [['mcp'], ['mcp-*'], []],
    [['mcp-github', 'my-files'], ['mcp-github', 'mcp-my-files'], []],
    [['mcp-my-*', 'mcp__gone__read'], ['mcp-my-*', 'mcp__gone__read'], []],
    [['web_search', 'terminal', 'nope', 'mcp-nope'], ['web_search'], ['terminal', 'nope', 'mcp-nope']],
  ];
  for (const [asked, names, dropped] of rows) {
    const resolved = resolveToolsets(asked, servers);
    t.same(resolved.names, names, asked.join());
    t.same(
      resolved.dropped.map(({ name }) => name),
      dropped,
      asked.join(),
    );
  }
  t.same(resolveToolsets(['terminal', 'nope'], servers).dropped, [
    { name: 'terminal', why: 'not for webhook runs' },
    { name: 'nope', why: 'unknown toolset' },
  ]);
  t.end();
});

t.test('DIS-5 · CFG-2 · a name that means nothing is unknown; a pattern may be meant for a later server', (t) => {
  t.same(unknownToolsets(['agent-webhook', 'agnet-webhook', 'mcp-*', 'mcp-nope', 'terminal'], servers), [
    'agnet-webhook',
    'mcp-nope',
  ]);
  t.same(restrictedToolsets(['web', 'terminal', 'nope']), ['terminal']);
  t.match(toolsetNames(['files']), ['agent-webhook', 'web', 'vision', 'mcp']);
  t.ok(toolsetNames(['files']).includes('mcp-files'));
  t.end();
});

t.test('DIS-5 · toolsets allow tools of servers by server or by name, and none without such a name', (t) => {
  const tools = [
    { server: 'git hub', name: 'mcp__git_hub__read' },
    { server: 'git hub', name: 'mcp__git_hub__write' },
    { server: 'files', name: 'mcp__files__read' },
  ];
  const allowed = (...names: string[]) => tools.filter(toolFilter(names)).map(({ name }) => name.slice(5));
  t.same(allowed(), []);
  t.same(allowed('web_search', 'clarify'), []);
  t.same(allowed('mcp-git hub'), ['git_hub__read', 'git_hub__write']);
  t.same(allowed('mcp__git_hub__read', 'mcp-files'), ['git_hub__read', 'files__read']);
  t.same(allowed('mcp__*__read'), ['git_hub__read', 'files__read']);
  t.equal(allowed('mcp-*').length, 3);
  t.end();
});

t.test('SEC-4 · what a run asks for lies within what it is lent, whatever else is configured', (t) => {
  const tools = [
    { server: 'docs', name: 'mcp__docs__read' },
    { server: 'docs', name: 'mcp__docs__list' },
    { server: 'notes', name: 'mcp__notes__write' },
  ];
  const lent = ['web_search', 'mcp-d*', 'mcp__notes__w*'];
  const within = [
    'none',
    'web_search',
    'mcp-d*',
    'mcp-docs',
    'mcp-do*',
    'mcp__docs__read',
    'mcp__docs__*',
    'mcp__notes__write',
  ];
  const beyond = ['mcp-*', 'mcp-notes', 'mcp-nosuch', 'mcp__*', 'mcp__notes__*', 'mcp__vault__read', 'mcp__nosuch__x'];
  for (const name of within) t.equal(isWithin(name, lent, tools), true, name);
  for (const name of beyond) t.equal(isWithin(name, lent, tools), false, name);
  for (const name of [...within, ...beyond]) t.equal(isWithin(name, [allServers], tools), true, `${name} of all`);
  t.equal(isWithin('mcp-[a,b]*', ['mcp-[a,b]*'], []), true, 'a class does not match itself');
  t.equal(isWithin('mcp__gh__get', ['mcp-gh'], []), true, 'before its server has listed any tool');
  t.equal(isWithin('mcp__hub__get', ['mcp-gh'], []), false);
  t.end();
});
