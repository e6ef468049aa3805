import { readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { loadHome } from '../../../actors/config/load-config.ts';
import { parseEnvFile } from '../../../machines/config/env-file.ts';
import { makeExampleHome } from '../../../runtime/system/example-home.ts';
import { makeHome } from '../../support/home.ts';

const secretOf = (home: string): string | undefined =>
  parseEnvFile(readFileSync(join(home, '.env'), 'utf8')).get('WEBHOOK_SECRET');

t.test('CON-1 · SUB-1 · the first start makes a home that works, with a secret of its own', async (t) => {
  const homes = [join(makeHome(t).path, 'one'), join(makeHome(t).path, 'other')];
  for (const home of homes) {
    const made = await makeExampleHome({ AGENT_HOME: home });
    t.equal(made.home, home);
    t.match(secretOf(home), /^[0-9a-f]{64}$/);
    t.notMatch(made.greeting, secretOf(home) ?? '', 'the greeting reads the secret, it does not show it');
    const loaded = loadHome({ home, env: {} });
    t.same(loaded.diagnostics, []);
    t.match(loaded.main.settings.webhook, { enabled: true, host: '127.0.0.1', port: 8_644 });
    t.ok(loaded.main.settings.webhook.routes.length >= 2);
    t.equal(statSync(home).mode & 0o777, 0o700);
  }
  t.not(secretOf(homes[0] ?? ''), secretOf(homes[1] ?? ''));
});

t.test('CON-1 · the commands of the greeting can be pasted, whatever the folders are called', async (t) => {
  const { argv } = process;
  t.teardown(() => {
    process.argv = argv;
  });
  process.argv = ['node', resolve("it's my clone/dist/cli/main.js")];
  const home = join(makeHome(t).path, "Ada's home");
  const { greeting } = await makeExampleHome({ AGENT_HOME: home });
  const quoted = `'${home.replace("'", "'\\''")}'`;
  t.ok(greeting.includes(`AGENT_HOME=${quoted} node 'it'\\''s my clone/dist/cli/main.js' events\n`), greeting);
  t.ok(greeting.includes(` '${home.replace("'", "'\\''")}/.env')\n`), greeting);
});

t.test('HOME-1 · CON-1 · a home that begins with ~ is where every other command looks for it', async (t) => {
  const { HOME } = process.env;
  t.teardown(() => {
    if (HOME === undefined) delete process.env.HOME;
    else process.env.HOME = HOME;
  });
  const user = makeHome(t).path;
  process.env.HOME = user;
  t.equal((await makeExampleHome({ AGENT_HOME: '~/example' })).home, join(user, 'example'));
});

t.test('HOME-3 · a home that is there is used as it is', async (t) => {
  const home = makeHome(t, { 'config.yaml': 'agent: {runner: echo}\n', '.env': 'KEY=1' });
  await makeExampleHome({ AGENT_HOME: home.path });
  t.equal(readFileSync(join(home.path, 'config.yaml'), 'utf8'), 'agent: {runner: echo}\n');
  const first = secretOf(home.path);
  t.match(first, /^[0-9a-f]{64}$/);
  t.equal(parseEnvFile(readFileSync(join(home.path, '.env'), 'utf8')).get('KEY'), '1', 'what stood there still stands');
  await makeExampleHome({ AGENT_HOME: home.path });
  t.equal(secretOf(home.path), first, 'its secret is kept');
});

t.test('CON-1 · HOME-3 · a home that was cut off while it was made is completed by the next start', async (t) => {
  const home = makeHome(t, { scripts: 'no folder' });
  await t.rejects(makeExampleHome({ AGENT_HOME: home.path }));
  rmSync(`${home.path}/scripts`);
  await makeExampleHome({ AGENT_HOME: home.path });
  t.same(loadHome({ home: home.path, env: {} }).diagnostics, []);
  t.ok(statSync(`${home.path}/scripts/triage.mjs`).isFile());
});
