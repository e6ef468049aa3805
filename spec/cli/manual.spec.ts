import { readFileSync } from 'node:fs';
import t from 'tap';
import { catalogue } from '../../cli/catalogue.ts';
import { helpOn } from '../../cli/help.ts';
import { markdownManual } from '../../cli/manual-markdown.ts';
import { parseWords } from '../../cli/parse.ts';
import { groupOf } from '../../cli/unknown-command.ts';
import { runCli } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';

const shown = catalogue.filter(({ hidden }) => hidden !== true);

t.test('CLI-2 · every command has examples that are understood', (t) => {
  const names = shown.map(({ path }) => path.join(' '));
  for (const { path, examples = [], see = [] } of shown) {
    const name = path.join(' ');
    t.ok(examples.length > 0, name);
    for (const [words] of examples) {
      t.notMatch(words, /"[^']*\$\{[^']*"/, 'what a shell would fill in is not handed on as it is');
      const parsed = parseWords(wordsOf(words));
      t.match(parsed, { kind: 'command' }, `agent ${words}`);
      if (parsed.kind === 'command') t.equal(parsed.command.path.join(' '), name, `agent ${words}`);
    }
    for (const one of see)
      t.ok(one.startsWith('docs/') || names.includes(one) || groupOf([one]).length > 0, `${name}: ${one}`);
  }
  t.end();
});

t.test('CLI-2 · help has synopsis, flags, examples and exit codes, and fits its width', (t) => {
  for (const columns of [60, 80, 200]) {
    for (const { path, flags } of [{ path: [], flags: [] }, ...shown]) {
      const text = helpOn(path, { columns, coloured: false });
      // Examples can be copied, so they are never broken.
      const long = text.split('\n').filter((line) => line.length > Math.min(columns, 100) && !/^ {2}agent /.test(line));
      t.same(long, [], `${path.join(' ')} at ${columns}`);
      for (const { name } of flags) t.match(text, `--${name}`, path.join(' '));
      const [only, ...others] = groupOf(path);
      const isOne = only !== undefined && others.length === 0;
      if (isOne) t.equal(text.includes('--node <name>'), only.staysHere !== true, `${path.join(' ')} refuses it`);
      if (isOne) t.match(text, /^Usage: agent [\s\S]*Flags:[\s\S]*Examples:[\s\S]*Exit codes:[\s\S]*AGENT_HOME/);
    }
  }
  const coloured = helpOn(['webhook', 'show'], { columns: 80, coloured: true });
  t.match(coloured, '\u001b[1mFlags:');
  t.notMatch(helpOn(['webhook', 'show'], { columns: 80, coloured: false }), '\u001b');
  t.end();
});

t.test('CLI-2 · CLI-6 · each command that opens an editor names the variables that choose it', (t) => {
  for (const name of ['config edit', 'events replay']) {
    const command = shown.find(({ path }) => path.join(' ') === name);
    t.match(command, { env: ['VISUAL', 'EDITOR'] }, name);
  }
  t.end();
});

t.test('CLI-2 · the commands of a group follow each other, in help and in docs/cli.md', (t) => {
  const groups = catalogue.map(({ path: [group] }) => group);
  const starts = groups.filter((group, at) => group !== groups[at - 1]);
  t.same(starts, [...new Set(starts)]);
  t.end();
});

t.test('CLI-2 · docs/cli.md is what the catalogue says', (t) => {
  t.equal(readFileSync('docs/cli.md', 'utf8'), markdownManual(shown), 'npm run manual');
  t.end();
});

t.test('CLI-2 · agent help prints it in the form that is asked for', async (t) => {
  const home = makeHome(t).path;
  const rows: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['help'], 0, /Usage: agent <command>[\s\S]*Exit codes:/],
    [['help', 'mcp'], 0, /Usage: agent mcp <command>/],
    [['help', 'gateway'], 0, /Usage: agent gateway \[command\]/],
    [['help', 'mcp', 'add'], 0, /Usage: agent mcp add <name> \[command…\]/],
    [['help', '--markdown', 'mcp', 'add'], 0, /### agent mcp add/],
    [['help', 'mcp', 'ad'], 2, /did you mean "mcp add"/],
  ];
  for (const [words, code, text] of rows) {
    const result = await runCli(words, home);
    t.equal(result.code, code, words.join(' '));
    t.match(result.stdout + result.stderr, text, words.join(' '));
  }
});

/** A line as a shell parts it; nothing is expanded. */
function wordsOf(line: string): string[] {
  const [command = ''] = line.split(' > ');
  return [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  );
}
