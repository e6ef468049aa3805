import t from 'tap';
import { configChanges } from '../../../machines/config/config-changes.ts';

t.test('INS-4 · what changed is named by server, route, platform or section', (t) => {
  const before = {
    agent: { runner: 'echo' },
    mcp_servers: { docs: { url: 'a' }, old: { command: 'x' } },
    platforms: { slack: { enabled: true }, webhook: { extra: { port: 1, routes: { a: { prompt: '1' } } } } },
  };
  const after = {
    agent: { runner: 'model' },
    mcp_servers: { docs: { url: 'b' }, fresh: { command: 'y' } },
    platforms: { slack: { enabled: true }, webhook: { extra: { port: 1, routes: { a: { prompt: '2' }, b: {} } } } },
  };
  t.same(configChanges(before, after), [
    'Server docs changed',
    'Server old removed',
    'Server fresh added',
    'Route a changed',
    'Route b added',
    'Section agent changed',
  ]);
  t.same(configChanges(before, before), []);
  t.end();
});
