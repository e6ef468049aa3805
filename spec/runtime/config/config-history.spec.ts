import t from 'tap';
import { loadHome } from '../../../actors/config/load-config.ts';
import { createConfigHistory } from '../../../runtime/config/config-history.ts';
import { makeHome } from '../../support/home.ts';

t.test('INS-4 · what changed is named by the values that were read, and the texts are not read again', (t) => {
  const before = loadHome({ home: makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n' }).path, env: {} });
  const history = createConfigHistory(before, () => 7);
  const [name] = before.profiles.keys();
  const written = { ...before.main.written, mcp_servers: { docs: { url: 'https://docs.example' } } };
  const main = { ...before.main, text: 'not: [read', written };
  history.applied({ ...before, main, profiles: new Map([[main.name, main]]) });
  t.same(history.changes(`${name}`), [{ atMs: 7, profile: name, kind: 'applied', what: ['Server docs added'] }]);
  t.end();
});
