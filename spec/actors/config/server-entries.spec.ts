import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { editHomeAndVariables } from '../../../actors/config/edit-home.ts';
import { type JsonObject, objectAt } from '../../../machines/base/json.ts';
import { defaultProfile } from '../../../machines/base/names.ts';

const variables = [{ variable: 'NOTES_TOKEN', value: 'a-token' }];
const entry = { command: 'notes', env: { TOKEN: '${NOTES_TOKEN}' } };
const taken = 'mcp_servers: {notes: {command: other}}\n';
const edits = [{ path: ['mcp_servers', 'notes'], value: entry }];

const unlessTaken = ({ config }: { readonly config: JsonObject }) =>
  'notes' in objectAt(config, 'mcp_servers')
    ? ({ kind: 'refused' } as const)
    : ({ kind: 'planned', edits, variables } as const);

t.test('CLI-5 · HOME-4 · an entry that cannot be added leaves no variable behind', async (t) => {
  for (const [config, kind, why] of [
    [taken, 'refused'],
    ['base: &all {a: {command: x}}\nmcp_servers: *all\n', 'unwritable'],
    ['mcp_servers: [\n', 'unwritable', /config\.yaml:\d is no YAML/],
  ] as const) {
    const home = t.testdir({ 'config.yaml': config });
    t.match(await editHomeAndVariables({ home, profile: defaultProfile }, unlessTaken), why ? { kind, why } : { kind });
    t.same(readdirSync(home), ['config.yaml']);
    t.equal(readFileSync(join(home, 'config.yaml'), 'utf8'), config);
  }
  const home = t.testdir({ '.env': 'OTHER=1' });
  t.match(await editHomeAndVariables({ home, profile: defaultProfile }, unlessTaken), { kind: 'planned' });
  t.equal(readFileSync(join(home, '.env'), 'utf8'), 'OTHER=1\nNOTES_TOKEN=a-token\n');
  t.match(readFileSync(join(home, 'config.yaml'), 'utf8'), /^mcp_servers:\n {2}notes:\n/);
});

t.test('HOME-4 · a change is planned once where the files stay as they are', async (t) => {
  let planned = 0;
  const counting: typeof unlessTaken = (files) => {
    planned += 1;
    return unlessTaken(files);
  };
  await editHomeAndVariables({ home: t.testdir({ 'config.yaml': 'a: 1\n' }), profile: defaultProfile }, counting);
  t.equal(planned, 1);
});

t.test('CLI-5 · HOME-4 · a name that is taken while an entry is planned leaves no variable behind', async (t) => {
  const home = t.testdir({ 'config.yaml': '' });
  const config = join(home, 'config.yaml');
  const planOf: typeof unlessTaken = (files) => {
    const plan = unlessTaken(files);
    if (plan.kind === 'planned') writeFileSync(config, taken);
    return plan;
  };
  t.match(await editHomeAndVariables({ home, profile: defaultProfile }, planOf), { kind: 'refused' });
  t.equal(existsSync(join(home, '.env')), false);
  t.equal(readFileSync(config, 'utf8'), taken);
});

t.test('HOME-4 · other work is done while a long file is changed', async (t) => {
  const names = Array.from({ length: 500 }, (_, index) => `s${index}`);
  const home = t.testdir({
    'config.yaml': `mcp_servers:\n${names.map((name) => `  ${name}: {command: a}\n`).join('')}`,
  });
  // With this clock, each piece ends its turn.
  let now = 0;
  t.intercept(performance, 'now', { value: () => (now += 10) });
  let turns = 0;
  const { setImmediate: nextTurn } = globalThis;
  const value = (resolve: () => void): void => {
    turns += 1;
    nextTurn(resolve);
  };
  t.intercept(globalThis, 'setImmediate', { value });
  await editHomeAndVariables({ home, profile: defaultProfile }, unlessTaken);
  t.ok(turns > 60, `${turns}`);
});
