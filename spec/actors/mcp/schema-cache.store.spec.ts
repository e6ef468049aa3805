import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createSchemaCache } from '../../../actors/mcp/schema-cache.store.ts';
import type { Listing } from '../../../actors/mcp/session.ts';
import { makeHome } from '../../support/home.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';

const log = { log: () => {}, warnOnce: () => {} };
const listing: Listing = { tools: [{ name: 'echo', inputSchema: { type: 'object' } }], capabilities: { tools: {} } };
const entry = { command: 'x', env: { TOKEN: 'sk-live-4f9c2a7d8e1b6035' } };

t.test('LIF-6 · what was listed is remembered, private, and without the secrets of the entry', async (t) => {
  const folder = join(makeHome(t).path, 'cache', 'mcp');
  const cache = createSchemaCache(folder, log);
  t.same(cache.read(settingsOf(entry), 5), undefined);
  await cache.write(settingsOf(entry), { ...listing, instructions: 'Be kind' }, 5);
  t.match(cache.read(settingsOf(entry), 6), {
    tools: listing.tools,
    capabilities: { tools: {} },
    instructions: 'Be kind',
    savedAtMs: 5,
  });
  const [file = ''] = readdirSync(folder);
  t.equal(statSync(join(folder, file)).mode & 0o777, 0o600);
  t.equal(statSync(folder).mode & 0o777, 0o700);
  t.notMatch(readFileSync(join(folder, file), 'utf8'), /sk-live/);
});

t.test('LIF-6 · another entry, an old list and a damaged file do not stand for the server', async (t) => {
  const folder = join(makeHome(t).path, 'cache');
  const cache = createSchemaCache(folder, log);
  await cache.write(settingsOf(entry), { ...listing, ttlMs: 1_000 }, 0);
  t.ok(cache.read(settingsOf(entry), 999));
  t.notOk(cache.read(settingsOf(entry), 1_000));
  t.ok(cache.read(settingsOf(entry)), 'however old');
  t.notOk(cache.read(settingsOf({ ...entry, args: ['--more'] }), 1));
  t.notOk(cache.read(settingsOf({ ...entry, args: ['--more'] })));
  const [file = ''] = readdirSync(folder);
  for (const text of ['', '{', '[]', '{"format":1}', '\u0000\u0000']) {
    writeFileSync(join(folder, file), text);
    t.notOk(cache.read(settingsOf(entry), 1), text);
  }
});

t.test(
  'LIF-6 · the list that was learnt last is the one that is kept, however long the one before takes',
  async (t) => {
    const cache = createSchemaCache(join(makeHome(t).path, 'cache'), log);
    const long = { ...listing, instructions: 'x'.repeat(20_000_000) };
    await Promise.all([cache.write(settingsOf(entry), long, 0), cache.write(settingsOf(entry), listing, 1)]);
    t.match(cache.read(settingsOf(entry), 2), { savedAtMs: 1 });
  },
);

t.test(
  'LIF-6 · LIF-12 · a removed server leaves nothing behind, not even a write that is still under way',
  async (t) => {
    const folder = join(makeHome(t).path, 'cache');
    const cache = createSchemaCache(folder, log);
    await cache.write(settingsOf(entry, 'other'), listing, 0);
    await Promise.all([cache.write(settingsOf(entry), listing, 0), cache.remove('peer')]);
    await cache.remove('peer');
    t.same(cache.read(settingsOf(entry), 0), undefined);
    t.equal(readdirSync(folder).length, 1);
  },
);

t.test('LIF-6 · names that are no file names stay in the folder and apart', async (t) => {
  const folder = join(makeHome(t).path, 'cache');
  const cache = createSchemaCache(folder, log);
  const names = ['../../evil', 'a/b', 'a_b', '..', 'A', 'a'];
  for (const name of names) await cache.write(settingsOf(entry, name), listing, 0);
  t.equal(readdirSync(folder).length, names.length);
  for (const name of names) t.ok(cache.read(settingsOf(entry, name), 0), name);
});

t.test('LIF-6 · a folder that cannot be written costs a warning once, and nothing else', async (t) => {
  const home = makeHome(t);
  const folder = join(home.path, 'cache');
  mkdirSync(folder);
  writeFileSync(join(folder, 'mcp'), 'a file where the folder should be');
  const warned: string[] = [];
  const cache = createSchemaCache(join(folder, 'mcp'), { ...log, warnOnce: (_, text) => void warned.push(text) });
  await cache.write(settingsOf(entry), listing, 0);
  t.match(warned, [/mcp server "peer": its tools cannot be remembered/]);
  t.same(cache.read(settingsOf(entry), 0), undefined);
  chmodSync(folder, 0o700);
});
