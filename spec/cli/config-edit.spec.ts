/** An edit of config.yaml takes effect only without errors, and a draft is never lost. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { askCli } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { hasTerminal, startTerminal } from '../support/terminal.ts';

const good = 'agent: {runner: echo} # mine\n';

/** A home, and an editor that writes each of some texts in turn. */
function edited(t: Test, texts: readonly string[]) {
  const home = makeHome(t, { 'config.yaml': good });
  texts.forEach((text, index) => {
    home.write(`texts/${index + 1}`, text);
  });
  const script = `n=$(cat '${home.path}/count' 2>/dev/null || echo 0); n=$((n + 1)); echo $n > '${home.path}/count'; cat '${home.path}/texts/'$n > "$1"`;
  home.write('editor.sh', script);
  const env = { VISUAL: `sh '${home.path}/editor.sh'`, EDITOR: 'false' };
  return {
    home,
    env,
    edit: () => askCli(['config', 'edit'], home.path, env),
    config: () => readFileSync(`${home.path}/config.yaml`, 'utf8'),
    drafts: () =>
      readdirSync(home.path)
        .filter((name) => name.includes('draft'))
        .map((name) => readFileSync(`${home.path}/${name}`, 'utf8')),
  };
}

t.test('CLI-6 · config edit saves a draft without errors, and says what is doubtful in it', async (t) => {
  const next =
    'agent: {runner: echo, timeout_seconds: 60}\nmcp_servers: {bad: {command: x, url: "http://127.0.0.1:1"}}\n';
  const { edit, config, drafts } = edited(t, [next]);
  const { code, stdout, stderr } = await edit();
  t.equal(code, 0, stderr);
  t.match(stdout, /^Saved .*config\.yaml/);
  t.match(stderr, '[server-two-transports]', 'an error of one server stops that one alone');
  t.equal(config(), next);
  t.same(drafts(), []);
});

t.test('CLI-6 · config edit never lets a draft with errors take the file’s place, and keeps it', async (t) => {
  const broken = 'agent: {runner: nothing}\n';
  const { edit, config, drafts } = edited(t, [broken]);
  const { code, stderr } = await edit();
  t.equal(code, 1);
  t.match(stderr, /^config\.yaml:1:\d+: /);
  t.match(stderr, /the draft has an error; .*config\.yaml is unchanged, and the draft is .*draft-\d+\.yaml\n$/);
  t.equal(config(), good);
  t.same(drafts(), [broken]);
});

t.test('CLI-6 · a draft that was kept stops no later edit of a process with the same number', async (t) => {
  const next = 'agent: {runner: echo, concurrency: 2}\n';
  const { home, edit, config, drafts } = edited(t, [next]);
  home.write(`config.draft-${process.pid}.yaml`, 'kept');
  const { code, stderr } = await edit();
  t.equal(code, 0, stderr);
  t.equal(config(), next);
  t.same(drafts(), ['kept']);
});

t.test('CLI-6 · CLI-5 · a folder in place of config.yaml is named, with the cure, by what changes it', async (t) => {
  const home = makeHome(t, { 'config.yaml/of-another': '' }).path;
  const why = `agent: EISDIR: ${home}/config.yaml is a folder, where a file belongs; move it away`;
  for (const words of [
    ['config', 'edit'],
    ['mcp', 'add', 'x', '--no-test', '--', 'y'],
    ['gateway', 'setup', '--enable'],
  ]) {
    const { code, stderr } = await askCli(words, home);
    t.equal(code, 1, words.join(' '));
    t.match(stderr, why, words.join(' '));
  }
});

t.test('CLI-6 · PRF-2 · config edit checks the draft of a profile that is not served too', async (t) => {
  const { home, env } = edited(t, ['agent: {runner: nothing}\n']);
  home.write('profiles/work/config.yaml', good);
  const { code, stderr } = await askCli(['config', 'edit', '--profile', 'work'], home.path, env);
  t.equal(code, 1);
  t.match(stderr, /^profiles\/work\/config\.yaml:1:\d+: .*\[wrong-value\]/);
  t.equal(readFileSync(`${home.path}/profiles/work/config.yaml`, 'utf8'), good);
});

t.test('CLI-6 · PRF-1 · config edit makes no profile before the draft is saved', async (t) => {
  const { home, env, drafts } = edited(t, ['', 'agent: {runner: nothing}\n', good]);
  const edit = () => askCli(['config', 'edit', '--profile', 'wrok'], home.path, env);
  t.match(await edit(), { code: 0, stdout: 'Nothing was changed.\n' });
  t.match(await edit(), { code: 1, stderr: /^profiles\/wrok\/config\.yaml:1:\d+: / });
  t.notOk(existsSync(`${home.path}/profiles`));
  t.same(drafts(), ['agent: {runner: nothing}\n'], 'a draft with errors is kept all the same');
  t.match(await edit(), { code: 0 });
  t.equal(readFileSync(`${home.path}/profiles/wrok/config.yaml`, 'utf8'), good);
});

t.test('CLI-6 · an editor that ends with an error and wrote nothing leaves nothing behind', async (t) => {
  const home = makeHome(t).path;
  const env = { VISUAL: 'false' };
  for (const [words, place] of [
    [['--profile', 'wrok'], home],
    [[], `${home}/new`],
  ] as const) {
    const { code, stderr } = await askCli(['config', 'edit', ...words], place, env);
    t.equal(code, 1);
    t.equal(stderr, 'agent: the editor "false" ended with 1; nothing was changed\n');
    t.strictSame(readdirSync(home), []);
  }
});

t.test('CLI-6 · a draft that was written before the editor ended with an error is kept and named', async (t) => {
  const next = 'agent: {runner: echo, concurrency: 2}\n';
  const { home, env, config, drafts } = edited(t, [next]);
  home.write('failing.sh', `${env.VISUAL} "$1"; exit 1`);
  const { code, stderr } = await askCli(['config', 'edit'], home.path, { VISUAL: `sh '${home.path}/failing.sh'` });
  t.equal(code, 1);
  t.match(stderr, /ended with 1; .*config\.yaml is unchanged, and the draft is .*draft-\d+\.yaml\n$/);
  t.equal(config(), good);
  t.same(drafts(), [next]);
});

t.test(
  'CLI-6 · config edit leaves the file as it is: unchanged, with a failed editor, or changed meanwhile',
  async (t) => {
    const same = edited(t, [good]);
    t.match(await same.edit(), { code: 0, stdout: 'Nothing was changed.\n' });
    t.same(same.drafts(), []);
    const failed = edited(t, []);
    const missing = await askCli(['config', 'edit'], failed.home.path, { VISUAL: '', EDITOR: 'no-such-editor-here' });
    t.equal(missing.code, 1);
    t.match(missing.stderr, 'ended with 127; set VISUAL or EDITOR to an editor that is installed');
    t.same(failed.drafts(), []);
    const raced = edited(t, ['agent: {runner: echo, concurrency: 2}\n']);
    raced.home.write('other', 'agent: {concurrency: 9}\n');
    const env = { VISUAL: `cp '${raced.home.path}/other' '${raced.home.path}/config.yaml'; ${raced.env.VISUAL}` };
    const late = await askCli(['config', 'edit'], raced.home.path, env);
    t.equal(late.code, 1);
    t.match(late.stderr, 'changed by something else while you edited');
    t.equal(raced.config(), 'agent: {concurrency: 9}\n');
    t.equal(raced.drafts().length, 1);
  },
);

t.test('CLI-6 · on a terminal config edit offers to continue on errors', { skip: !hasTerminal }, async (t) => {
  const next = 'agent: {runner: echo, concurrency: 3}\n';
  const { home, env, config, drafts } = edited(t, ['agent: {runner: [\n', next]);
  const terminal = startTerminal(t, ['config', 'edit'], { ...env, AGENT_HOME: home.path });
  await terminal.shows(/\[yaml-syntax\][\s\S]*Continue editing\?/);
  t.equal(config(), good);
  terminal.type('\r');
  await terminal.shows(/Saved/);
  t.equal(await terminal.exited, 0);
  t.equal(config(), next);
  t.same(drafts(), []);
});
