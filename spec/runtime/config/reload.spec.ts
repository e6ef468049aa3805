import { renameSync, symlinkSync } from 'node:fs';
import t from 'tap';
import { createHomes } from '../../../runtime/config/reload.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { makeHome } from '../../support/home.ts';

t.test('CFG-2 · PRF-1 · a profile for whose error a configuration is refused is watched until it is corrected', (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n', 'profiles/work/config.yaml': 'agent: [\n' });
  const log = { log: () => {}, warnOnce: () => {} };
  const homes = createHomes({ home: home.path, env: {} }, createRedactor(), log);
  const file = `${home.path}/profiles/work/config.yaml`;
  t.notOk(homes.watched().includes(file), 'it is not served');
  home.write('config.yaml', 'gateway: {multiplex_profiles: true}\n');
  t.match(homes.read().webhookBlocked, [{ file: 'profiles/work/config.yaml' }]);
  homes.dismiss();
  t.ok(homes.watched().includes(file), 'it keeps the configuration from being in force');
  t.equal(homes.inForce().profiles.has('work' as never), false);
  t.end();
});

t.test('PRF-2 · CFG-2 · a profile whose link leads nowhere is watched until its disk is back', (t) => {
  const elsewhere = makeHome(t, { 'work/config.yaml': '{}\n' }).path;
  const home = makeHome(t, { 'config.yaml': 'gateway: {multiplex_profiles: true}\n', 'profiles/note': '' });
  symlinkSync(`${elsewhere}/work`, `${home.path}/profiles/work`);
  const log = { log: () => {}, warnOnce: () => {} };
  const homes = createHomes({ home: home.path, env: {} }, createRedactor(), log);
  renameSync(`${elsewhere}/work`, `${elsewhere}/away`);
  t.match(homes.read().webhookBlocked, [{ code: 'file-gone' }]);
  homes.dismiss();
  t.ok(homes.watched().includes(`${home.path}/profiles/work/config.yaml`));
  t.end();
});
