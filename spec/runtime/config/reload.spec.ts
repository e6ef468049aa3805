import { renameSync, symlinkSync } from 'node:fs';
import t from 'tap';
import { type AnyActorRef, createActor } from 'xstate';
import { stampForReader } from '../../../actors/files.ts';
import { createHomes, createReloads, wireReload } from '../../../runtime/config/reload.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { makeHome } from '../../support/home.ts';

const log = { log: () => {}, warnOnce: () => {} };
const homesAt = (home: string) => createHomes({ home, env: {} }, createRedactor(), log);

t.test(
  'CFG-2 · PRF-1 · a profile for whose error a configuration is refused is watched until it is corrected',
  async (t) => {
    const home = makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n', 'profiles/work/config.yaml': 'agent: [\n' });
    const homes = homesAt(home.path);
    const file = `${home.path}/profiles/work/config.yaml`;
    t.notOk(homes.watched().includes(file), 'it is not served');
    home.write('config.yaml', 'gateway: {multiplex_profiles: true}\n');
    t.match((await homes.read()).webhookBlocked, [{ file: 'profiles/work/config.yaml' }]);
    homes.dismiss();
    t.ok(homes.watched().includes(file), 'it keeps the configuration from being in force');
    t.equal(homes.inForce().profiles.has('work' as never), false);
  },
);

t.test('PRF-2 · CFG-2 · a profile whose link leads nowhere is watched until its disk is back', async (t) => {
  const elsewhere = makeHome(t, { 'work/config.yaml': '{}\n' }).path;
  const home = makeHome(t, { 'config.yaml': 'gateway: {multiplex_profiles: true}\n', 'profiles/note': '' });
  symlinkSync(`${elsewhere}/work`, `${home.path}/profiles/work`);
  const homes = homesAt(home.path);
  renameSync(`${elsewhere}/work`, `${elsewhere}/away`);
  t.match((await homes.read()).webhookBlocked, [{ code: 'file-gone' }]);
  homes.dismiss();
  t.ok(homes.watched().includes(`${home.path}/profiles/work/config.yaml`));
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

t.test('CFG-2 · the findings of a long file are those of its last reading, in pieces', async (t) => {
  const long = '# of a person\n'.repeat(5_000);
  const home = makeHome(t, { 'config.yaml': long });
  const homes = homesAt(home.path);
  home.write('config.yaml', `${long}agent: [\n`);
  t.same(homes.problems(), []);
  await homes.read();
  t.match(homes.problems(), [{ file: 'config.yaml', line: 5_002 }]);
});

t.test(
  'CFG-2 · LIF-12 · files that were read need not be read again, unless a reload failed for another reason',
  async (t) => {
    const home = makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n' });
    const homes = homesAt(home.path);
    const reloads = createReloads(homes, log);
    const config = `${home.path}/config.yaml`;
    const isHandled = () => homes.handled().get(config) === stampForReader(config);
    t.ok(isHandled());
    home.write('config.yaml', 'agent: {runner: echo, concurrency: 2}\n');
    t.notOk(isHandled());
    await homes.read();
    reloads.ended({ inForce: false, hasFindings: true, fault: 'the findings' });
    t.ok(isHandled(), 'refused for findings, which the status shows');
    await homes.read();
    reloads.ended({ inForce: true, hasFindings: false, fault: 'a server could not be stopped' });
    t.notOk(isHandled(), 'another failure');
    await homes.read();
    reloads.refuse();
    t.notOk(isHandled(), 'it was cut off');
    t.end();
  },
);

t.test('CFG-2 · a reload reads a file of many routes and servers between other work', async (t) => {
  const many = (entry: (at: number) => string): string => Array.from({ length: 100 }, (_, at) => entry(at)).join('');
  const routes = many(
    (at) => `      r${at}: {secret: long-enough-secret-${at}, filters: [{field: a, equals: ${at}}]}\n`,
  );
  const servers = many((at) => `  s${at}: {command: nowhere, enabled: false}\n`);
  const written = `platforms:\n  webhook:\n    routes:\n${routes}mcp_servers:\n${servers}`;
  const home = makeHome(t, { 'config.yaml': written });
  const homes = homesAt(home.path);
  // Each look at the clock finds the time of a turn over.
  let nowMs = 0;
  t.intercept(performance, 'now', {
    value: () => {
      nowMs += 10;
      return nowMs;
    },
  });
  let turns = 0;
  let isRead = false;
  const count = (): void => {
    turns += 1;
    if (!isRead) setImmediate(count);
  };
  setImmediate(count);
  const { main } = await homes.read();
  isRead = true;
  t.equal(main.settings.webhook.routes.length, 100);
  const found = `a turn for each route to be read, each to be checked, each server, and the secrets of both: ${turns}`;
  t.ok(turns > 500, found);
});

t.test('CFG-2 · CLI-3 · reloads that meet are one, and those that come during it are the next', async (t) => {
  const reloads = createReloads(homesAt(makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n' }).path), log);
  const root = { getSnapshot: () => ({ can: () => true }), send: () => {} } as unknown as AnyActorRef;
  const answered: string[] = [];
  const ask = (name: string) => reloads.ask(root).then(() => answered.push(name));
  const asked = ['a', 'b', 'c'].map(ask);
  reloads.begun();
  asked.push(ask('later'));
  for (const expected of ['a,b,c', 'a,b,c,later']) {
    reloads.ended({ inForce: true, hasFindings: false, fault: null });
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(answered.join(), expected);
    reloads.begun();
  }
  await Promise.all(asked);
});

t.test('CFG-2 · a gateway that stops reads no further', async (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n' });
  const lines: string[] = [];
  const kept = { log: (_: string, line: string) => void lines.push(line), warnOnce: () => {} };
  const homes = createHomes({ home: home.path, env: {} }, createRedactor(), kept);
  home.write('config.yaml', 'agent: {runner: echo}\nnonsense: 1\n');
  const none = (): void => {};
  const ports = { homes, begun: none, listensAs: () => true, apply: none, refused: none, redact: String, log: kept };
  const reload = createActor(wireReload(ports), { input: { wasBlocked: false } }).start();
  reload.stop();
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  t.same(lines, []);
});
