import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { addServerEntry, changeServerEntry } from '../../../actors/config/server-entries.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import type { EntryPlan, EntryRefusal } from '../../../machines/mcp/entry-change.ts';

const variables = [{ variable: 'NOTES_TOKEN', value: 'a-token' }];
const entry = { command: 'notes', env: { TOKEN: '${NOTES_TOKEN}' } };
const taken = 'mcp_servers: {notes: {command: other}}\n';

t.test('CLI-5 · HOME-4 · an entry that cannot be added leaves no variable behind', async (t) => {
  for (const [config, kind] of [
    [taken, 'taken'],
    ['base: &all {a: {command: x}}\nmcp_servers: *all\n', 'unwritable'],
    ['mcp_servers: [\n', 'unwritable'],
  ] as const) {
    const home = t.testdir({ 'config.yaml': config });
    const place = { home, profile: defaultProfile, name: 'notes' };
    t.match(await addServerEntry(place, entry, variables), { kind });
    t.same(readdirSync(home), ['config.yaml']);
    t.equal(readFileSync(join(home, 'config.yaml'), 'utf8'), config);
  }
  const home = t.testdir({ '.env': 'OTHER=1' });
  t.same(await addServerEntry({ home, profile: defaultProfile, name: 'notes' }, entry, variables), { kind: 'changed' });
  t.equal(readFileSync(join(home, '.env'), 'utf8'), 'OTHER=1\nNOTES_TOKEN=a-token\n');
  t.match(readFileSync(join(home, 'config.yaml'), 'utf8'), /^mcp_servers:\n {2}notes:\n/);
});

t.test('CLI-5 · HOME-4 · a name that is taken while an entry is planned leaves no variable behind', async (t) => {
  const home = t.testdir({ 'config.yaml': '' });
  const config = join(home, 'config.yaml');
  const planOf = ({ config: read }: { readonly config: object }): EntryPlan | EntryRefusal => {
    if ('mcp_servers' in read) return { kind: 'refused', code: 'server-exists', message: '' };
    writeFileSync(config, taken);
    return { kind: 'planned', edits: [{ path: ['mcp_servers', 'notes'], value: entry }], variables, entry, unused: [] };
  };
  t.match(await changeServerEntry({ home, profile: defaultProfile }, planOf), {
    kind: 'refused',
    code: 'server-exists',
  });
  t.equal(existsSync(join(home, '.env')), false);
  t.equal(readFileSync(config, 'utf8'), taken);
});
