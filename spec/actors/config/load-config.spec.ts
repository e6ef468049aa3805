import t from 'tap';
import { loadHome } from '../../../actors/config/load-config.ts';
import type { ProfileName } from '../../../machines/base/names.ts';
import { makeHome } from '../../support/home.ts';

t.test('HOME-1 · PRF-2 · each profile has its own settings and secrets', (t) => {
  const home = makeHome(t, {
    'config.yaml':
      'gateway: {multiplex_profiles: true}\nagent: {runner: echo}\nplatforms: {webhook: {secret: from-home, routes: {}}}\n',
    'profiles/work/config.yaml':
      'agent: {runner: command, command: ["${TOOL}"]}\nplatforms: {webhook: {routes: {mine: {}}}}\n',
    'profiles/work/.env': 'TOOL=worker\n',
  });
  const loaded = loadHome({ home: home.path, env: {} });
  const work = loaded.profiles.get('work' as ProfileName);
  t.same(loaded.diagnostics, []);
  t.same(work?.settings.agent.command, ['worker']);
  t.match(work?.settings.webhook.routes, [
    { route: { name: 'mine', profile: 'work' }, secret: { secret: 'from-home' } },
  ]);
  t.end();
});
