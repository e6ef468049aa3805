import t from 'tap';
import { type ForeignFile, foreignFiles, serversIn } from '../../../machines/mcp/foreign-files.ts';

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
    '/u/.config/Code - Insiders/User/mcp.json',
    '/u/.config/VSCodium/User/mcp.json',
    '/p/.vscode/mcp.json',
    '/u/.codex/config.toml',
    '/p/.codex/config.toml',
  ]);
  const rows: readonly (readonly [object, string])[] = [
    [{ platform: 'darwin' }, '/u/Library/Application Support/Claude/claude_desktop_config.json'],
    [{ platform: 'win32', env: { APPDATA: 'C:/A' } }, 'C:/A/Claude/claude_desktop_config.json'],
    [{ platform: 'win32' }, '/u/AppData/Roaming/Code/User/mcp.json'],
    [{ env: { XDG_CONFIG_HOME: '/x' } }, '/x/Code/User/mcp.json'],
    [{ env: { CODEX_HOME: '/c' } }, '/c/config.toml'],
    [{ env: { CLAUDE_CONFIG_DIR: '/d' } }, '/d/.claude.json'],
  ];
  for (const [change, path] of rows) t.ok(paths(change).includes(path), path);
  t.end();
});

t.test('CLI-5 · the servers stand under each program’s own key', (t) => {
  const file = (program: ForeignFile['program']): ForeignFile => ({ program, path: '/x', form: 'json' });
  const one = { command: 'x' };
  const names = (program: ForeignFile['program'], value: object): string[] =>
    serversIn(file(program), JSON.parse(JSON.stringify(value)), '/p').map(({ name }) => name);
  const projects = { '/p': { mcpServers: { b: one } }, '/other': { mcpServers: { c: one } } };
  t.same(names('claude-code', { mcpServers: { a: one, odd: 1 }, projects }), ['a', 'b']);
  t.same(names('claude-desktop', { mcpServers: { a: one }, servers: { no: one } }), ['a']);
  t.same(names('cursor', { mcpServers: { a: one } }), ['a']);
  t.same(names('vscode', { servers: { a: one }, mcpServers: { no: one } }), ['a']);
  t.same(names('codex', { mcp_servers: { a: one } }), ['a']);
  for (const value of [null, 1, 'x', [], {}, { mcpServers: [] }, { mcpServers: null }]) {
    t.same(serversIn(file('cursor'), value as never, '/p'), []);
  }
  const inputs = [{ id: 'k', description: 'A key' }, { id: 'n' }, 1, {}];
  t.same(serversIn(file('vscode'), { servers: { a: one }, inputs } as never, '/p')[0]?.inputs, { k: 'A key', n: 'n' });
  t.end();
});
