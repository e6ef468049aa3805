import t from 'tap';
import type { Json } from '../../../machines/base/json.ts';
import {
  type ForeignFile,
  foreignFiles,
  serversElsewhere,
  serversIn,
  switchedOffIn,
  withoutOff,
} from '../../../machines/mcp/foreign-files.ts';

const places = { platform: 'linux', userHome: '/u', folder: '/p', env: {} };

t.test('CLI-5 · the files of each program lie where its system has them', (t) => {
  const paths = (change: object): string[] => foreignFiles({ ...places, ...change }).map(({ path }) => path);
  t.same(paths({}), [
    '/u/.claude.json',
    '/p/.mcp.json',
    '/u/.config/Claude/claude_desktop_config.json',
    '/u/.cursor/mcp.json',
    '/p/.cursor/mcp.json',
    '/u/.config/Code/User/mcp.json',
    '/u/.config/Code/User/settings.json',
    '/u/.config/Code - Insiders/User/mcp.json',
    '/u/.config/Code - Insiders/User/settings.json',
    '/u/.config/VSCodium/User/mcp.json',
    '/u/.config/VSCodium/User/settings.json',
    '/p/.vscode/mcp.json',
    '/p/.vscode/settings.json',
    '/u/.codex/config.toml',
    '/p/.codex/config.toml',
    '/u/.gemini/settings.json',
    '/p/.gemini/settings.json',
    '/u/.codeium/windsurf/mcp_config.json',
    '/u/.config/zed/settings.json',
    '/p/.zed/settings.json',
    '/u/.config/opencode/opencode.json',
    '/p/opencode.json',
    '/u/.config/opencode/opencode.jsonc',
    '/p/opencode.jsonc',
    '/u/.config/goose/config.yaml',
    '/u/.hermes/config.yaml',
    '/u/.openclaw/openclaw.json',
  ]);
  const rows: readonly (readonly [object, string])[] = [
    [{ platform: 'darwin' }, '/u/Library/Application Support/Claude/claude_desktop_config.json'],
    [{ platform: 'win32', env: { APPDATA: 'C:/A' } }, 'C:/A/Claude/claude_desktop_config.json'],
    [{ platform: 'win32' }, '/u/AppData/Roaming/Code/User/mcp.json'],
    [{ env: { XDG_CONFIG_HOME: '/x' } }, '/x/Code/User/mcp.json'],
    [{ env: { XDG_CONFIG_HOME: '', CODEX_HOME: '' } }, '/u/.config/Code/User/mcp.json'],
    [{ env: { CODEX_HOME: '', CLAUDE_CONFIG_DIR: '' } }, '/u/.codex/config.toml'],
    [{ env: { CODEX_HOME: '/c' } }, '/c/config.toml'],
    [{ env: { CLAUDE_CONFIG_DIR: '/d' } }, '/d/.claude.json'],
    [{ platform: 'darwin' }, '/u/.config/zed/settings.json'],
    [{ platform: 'darwin' }, '/u/.config/opencode/opencode.json'],
    [{ platform: 'win32' }, '/u/AppData/Roaming/Zed/settings.json'],
    [{ env: { XDG_CONFIG_HOME: '/x' } }, '/x/zed/settings.json'],
    [{ platform: 'win32' }, '/u/AppData/Roaming/Block/goose/config/config.yaml'],
    [{ platform: 'win32' }, '/u/AppData/Local/hermes/config.yaml'],
    [{ env: { HERMES_HOME: '/h' } }, '/h/config.yaml'],
    [{ env: { OPENCLAW_STATE_DIR: '/o' } }, '/o/openclaw.json'],
    [{ env: { OPENCLAW_CONFIG_PATH: '/o/own.json', OPENCLAW_STATE_DIR: '/o' } }, '/o/own.json'],
  ];
  for (const [change, path] of rows) t.ok(paths(change).includes(path), path);
  t.end();
});

t.test('CLI-5 · in a folder of the user, its parent folders are read too, the nearest first', (t) => {
  const files = foreignFiles({ ...places, folder: '/u/a/b' });
  const of = (name: string): (string | undefined)[][] =>
    files.filter(({ path }) => path.endsWith(name)).map(({ path, workspace }) => [path, workspace]);
  t.same(of('.mcp.json'), [
    ['/u/a/b/.mcp.json', '/u/a/b'],
    ['/u/a/.mcp.json', '/u/a'],
    ['/u/.mcp.json', '/u'],
  ]);
  t.same(
    of('.cursor/mcp.json').map(([path]) => path),
    ['/u/.cursor/mcp.json', '/u/a/b/.cursor/mcp.json', '/u/a/.cursor/mcp.json'],
    'the user’s own is not read twice',
  );
  t.same(of('/u/.cursor/mcp.json'), [['/u/.cursor/mcp.json', undefined]], 'and stays the user’s');
  t.same(
    files.filter(({ form }) => form === 'toml').map(({ path }) => path),
    ['/u/.codex/config.toml', '/u/a/b/.codex/config.toml', '/u/a/.codex/config.toml'],
  );
  t.ok(foreignFiles({ ...places, folder: '/ux/a' }).every(({ path }) => path !== '/ux/.mcp.json'));
  t.end();
});

const file = (program: ForeignFile['program'], path = '/x'): ForeignFile => ({ program, path, form: 'json' });
const one = { command: 'x' };

t.test('CLI-5 · the servers stand under each program’s own key', (t) => {
  const names = (of: ForeignFile, value: object, folder = '/p'): string[] =>
    serversIn(of, JSON.parse(JSON.stringify(value)), { folder, userHome: '/u' }).map(({ name }) => name);
  const projects = { '/p': { mcpServers: { b: one } }, '/other': { mcpServers: { c: one } } };
  t.same(names(file('claude-code'), { mcpServers: { a: one, odd: 1 }, projects }), ['a', 'b']);
  const nested = { '/u/w': { mcpServers: { outer: one } }, '/u/w/in': { mcpServers: { inner: one } } };
  t.same(names(file('claude-code'), { projects: nested }, '/u/w/in/src'), ['inner', 'outer']);
  t.same(names(file('claude-desktop'), { mcpServers: { a: one }, servers: { no: one } }), ['a']);
  t.same(names(file('cursor'), { mcpServers: { a: one } }), ['a']);
  t.same(names(file('vscode'), { servers: { a: one }, mcpServers: { no: one } }), ['a']);
  const settings = { mcp: { servers: { a: one } }, servers: { no: one } };
  t.same(names(file('vscode', '/x/settings.json'), settings), ['a']);
  t.same(names(file('codex'), { mcp_servers: { a: one } }), ['a']);
  t.same(names(file('windsurf'), { mcpServers: { a: one } }), ['a']);
  t.same(names(file('zed'), { context_servers: { a: one }, mcpServers: { no: one } }), ['a']);
  t.same(names(file('opencode'), { mcp: { a: one, servers: { type: 'local' } } }), ['a', 'servers']);
  t.same(names(file('opencode'), { mcp: { servers: { a: one, type: one }, timeout: { startup: 1 } } }), ['a', 'type']);
  const extensions = { a: { cmd: 'x' }, b: { uri: 'https://x' }, developer: { type: 'builtin' } };
  t.same(names(file('goose'), { extensions }), ['a', 'b']);
  t.same(names(file('hermes'), { mcp_servers: { a: one } }), ['a']);
  t.same(names(file('openclaw'), { mcp: { servers: { a: one } }, mcpServers: { no: one } }), ['a']);
  for (const value of [null, 1, 'x', [], {}, { mcpServers: [] }, { mcpServers: null }]) {
    t.same(names(file('cursor'), value as never), []);
  }
  t.end();
});

t.test('CLI-5 · what Gemini CLI leaves out is known as switched off', (t) => {
  const off = (mcp: Json): (string | false)[] =>
    serversIn(file('gemini-cli'), { mcpServers: { a: one, b: one }, mcp }, places).map(
      ({ name, value }) => value.disabled === true && name,
    );
  t.strictSame(off({}), [false, false]);
  t.strictSame(off({ excluded: ['b'] }), [false, 'b']);
  t.strictSame(off({ allowed: ['b'], excluded: ['b'] }), ['a', 'b']);
  t.strictSame(off({ allowed: [] }), [false, false]);
  t.end();
});

t.test('CLI-5 · what VS Code would ask for is shown in its words, with what it would offer, and no password', (t) => {
  const inputs = [
    { id: 'k', type: 'promptString', description: 'A key', password: true, default: 'secret' },
    { id: 'n' },
    {
      id: 'r',
      type: 'pickString',
      description: 'Region',
      options: ['eu', { label: 'US', value: 'us' }],
      default: 'eu',
    },
    1,
    {},
  ];
  const value: Json = { servers: { a: one }, inputs };
  t.same(serversIn(file('vscode'), value, places)[0]?.inputs, {
    k: 'A key',
    n: 'n',
    r: 'Region (one of eu, us; VS Code proposes eu)',
  });
  t.end();
});

t.test('CLI-5 · what a person has switched off in Claude Code is known as switched off', (t) => {
  const value: Json = {
    mcpServers: { a: one, b: one },
    projects: {
      '/p': { disabledMcpServers: ['b'], disabledMcpjsonServers: ['c'] },
      '/q': { disabledMcpServers: ['a'] },
    },
  };
  const own = serversIn(file('claude-code'), value, places);
  t.match(own, [
    { name: 'a', value: { disabled: undefined } },
    { name: 'b', value: { disabled: true } },
  ]);
  t.same(switchedOffIn(value, '/p'), ['c', 'b']);
  t.same(switchedOffIn({ disabledMcpjsonServers: ['d', 1] }, '/p'), ['d'], 'a file of settings');
  for (const odd of [null, 'x', { disabledMcpjsonServers: 'a' }, { projects: [] }])
    t.same(switchedOffIn(odd, '/p'), []);
  t.same(withoutOff(own, new Set(['a']))[0]?.value, { command: 'x', disabled: true });
  const switches = foreignFiles(places).find(({ path }) => path === '/p/.mcp.json')?.switches;
  t.same(switches, [
    '/u/.claude.json',
    '/u/.claude/settings.json',
    '/p/.claude/settings.json',
    '/p/.claude/settings.local.json',
  ]);
  t.end();
});

t.test('CLI-5 · servers of other folders are named, since they are not read', (t) => {
  const value: Json = {
    projects: { '/p': { mcpServers: { a: one } }, '/q': { mcpServers: { b: one, c: one } }, '/r': { mcpServers: {} } },
  };
  t.same(serversElsewhere(file('claude-code'), value, places), [{ folder: '/q', names: ['b', 'c'] }]);
  t.same(serversElsewhere(file('cursor'), value, places), []);
  t.same(serversElsewhere(file('claude-code'), 1, places), []);
  t.end();
});
