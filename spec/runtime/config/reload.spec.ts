import { renameSync, symlinkSync } from 'node:fs';
import t from 'tap';
import { stampForReader } from '../../../actors/files.ts';
import { createHomes, createReloads } from '../../../runtime/config/reload.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { makeHome } from '../../support/home.ts';

const log = { log: () => {}, warnOnce: () => {} };
const homesAt = (home: string) => createHomes({ home, env: {} }, createRedactor(), log);

t.test('CFG-2 · PRF-1 · a profile for whose error a configuration is refused is watched until it is corrected', (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n', 'profiles/work/config.yaml': 'agent: [\n' });
  const homes = homesAt(home.path);
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
  const homes = homesAt(home.path);
  renameSync(`${elsewhere}/work`, `${elsewhere}/away`);
  t.match(homes.read().webhookBlocked, [{ code: 'file-gone' }]);
  homes.dismiss();
  t.ok(homes.watched().includes(`${home.path}/profiles/work/config.yaml`));
  t.end();
});

t.test('CLI-5 · CFG-2 · the findings are those of the files as they stand, read again only after a change', (t) => {
  const home = makeHome(t, { 'config.yaml': 'platforms: {webhook: {routes: {r: {}}}}\n' });
  const homes = homesAt(home.path);
  const first = homes.problems();
  t.match(first, [{ code: 'route-secret-missing' }]);
  t.equal(homes.problems(), first, 'the same list');
  home.write('.env', 'WEBHOOK_SECRET=long-enough-secret\n');
  t.same(homes.problems(), []);
  t.end();
});

t.test('CFG-2 · LIF-12 · files that were read need not be read again, unless a reload failed for another reason', (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n' });
  const homes = homesAt(home.path);
  const reloads = createReloads(homes, log);
  const config = `${home.path}/config.yaml`;
  const isHandled = () => homes.handled().get(config) === stampForReader(config);
  t.ok(isHandled());
  home.write('config.yaml', 'agent: {runner: echo, concurrency: 2}\n');
  t.notOk(isHandled());
  homes.read();
  reloads.ended({ inForce: false, hasFindings: true, fault: 'the findings' });
  t.ok(isHandled(), 'refused for findings, which the status shows');
  homes.read();
  reloads.ended({ inForce: true, hasFindings: false, fault: 'a server could not be stopped' });
  t.notOk(isHandled(), 'another failure');
  homes.read();
  reloads.refuse();
  t.notOk(isHandled(), 'it was cut off');
  t.end();
});
