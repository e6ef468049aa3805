import t from 'tap';
import { catalogue, globalFlags } from '../../cli/catalogue.ts';
import { listFlag } from '../../cli/context.ts';
import { parseWords } from '../../cli/parse.ts';

t.test('CLI-2 · what is wrong with the words is named with what was probably meant', (t) => {
  const rows: readonly (readonly [string, RegExp, RegExp])[] = [
    ['webhok lst', /unknown command "webhok lst"; did you mean "webhook list"\?/, /agent help/],
    ['subscribe x', /did you mean "webhook subscribe"\?/, /agent help/],
    ['logs', /did you mean "gateway logs" or "mcp logs"\?/, /agent help/],
    ['events tail', /unknown command "events tail"; "agent events" knows list, show, replay$/, /agent help/],
    ['events retry latest', /did you mean "events replay"\?$/, /agent help/],
    ['mcp get notes', /did you mean "mcp show"\?$/, /agent help/],
    ['cron rm digest', /did you mean "cron remove"\?$/, /agent help/],
    ['webhook add ci', /did you mean "webhook subscribe"\?$/, /agent help/],
    ['delivery list', /did you mean "deliveries list"\?$/, /agent help/],
    ['run list', /did you mean "runs list"\?$/, /agent help/],
    ['init', /did you mean "gateway setup"\?$/, /agent help/],
    ['routes', /did you mean "webhook list"\?$/, /agent help/],
    ['list mcp', /unknown command "list mcp"; did you mean "mcp list"\?$/, /agent help/],
    ['list webhooks', /did you mean "webhook list"\?$/, /agent help/],
    ['logs mcp', /did you mean "mcp logs"\?$/, /agent help/],
    ['mcp', /"agent mcp" needs a command: list, show/, /agent help mcp/],
    ['mcp frobnicate', /unknown command "mcp frobnicate"; "agent mcp" knows list, show/, /agent help mcp/],
    ['xyzzy', /unknown command "xyzzy"$/, /agent help/],
    ['webhook list -j', /unknown flag -j; did you mean --json\?/, /Usage: agent webhook list \[--json\]/],
    ['webhook list --jsn', /unknown flag --jsn; did you mean --json\?/, /agent help webhook list/],
    ['webhook show', /missing <name>/, /Usage: agent webhook show <name> \[--profile <name>\] \[--json\]/],
    ['webhook show a b', /unexpected "b"/, /Usage/],
    ['cron add x 0 9 1 1 1', /unexpected "9"; several words for one value need quotes$/, /Usage/],
    ['--jsno', /unknown flag --jsno/, /agent help/],
    ['mcp add -e KEY=1 x -- npx server', /unknown flag -e; did you mean --env or --entry\?/, /\[--env <name=value>…\]/],
    [
      'mcp add x -H K:1 --url https://x.example',
      /unknown flag -H; did you mean --header or --home or --help\?/,
      /Usage/,
    ],
    ['mcp add x -e KEY=1 -- npx server', /unknown flag -e/, /\[--env <name=value>…\]/],
    ['webhook test x --payload', /--payload needs a <json>/, /Usage/],
    ['webhook list --json=1', /--json takes no value/, /Usage/],
    ['events --before zzz', /--before "zzz" must be the key of a row/, /Usage/],
    ['deliveries list --target slak', /--target "slak" is no target; did you mean "slack"\?/, /Usage/],
    ['mcp login x --flow carrier', /--flow "carrier" is none of browser, device/, /Usage/],
  ];
  for (const [words, message, cure] of rows) {
    const parsed = parseWords(words.split(' '));
    t.match(parsed, { kind: 'misused', message, cure }, words);
  }
  t.end();
});

t.test('CLI-2 · help and version are asked for in any place, and arguments do not confuse them', (t) => {
  const help = (...path: string[]) => ({ kind: 'help', path });
  const rows: readonly (readonly [string, object])[] = [
    ['--help', help()],
    ['-h', help()],
    ['webhook --help', help('webhook')],
    ['webhook show ci --help', help('webhook', 'show')],
    ['webhook show -h', help('webhook', 'show')],
    ['--home x gateway stop --help', help('gateway', 'stop')],
    ['nothing --help', { kind: 'misused' }],
    ['webhook list --version', { kind: 'version' }],
    ['-V', { kind: 'version' }],
    ['version', { kind: 'version' }],
  ];
  for (const [words, expected] of rows) t.match(parseWords(words.split(' ')), expected, words);
  t.same(parseWords([]), help());
  t.end();
});

t.test('CLI-2 · flags are understood before, between and after the words of a command', (t) => {
  const rows: readonly (readonly [words: string, path: string, args: readonly string[], flags: object])[] = [
    ['mcp --json list', 'mcp list', [], { json: true }],
    ['webhook --profile work show ci', 'webhook show', ['ci'], { profile: 'work' }],
    ['gateway --json status', 'gateway status', [], { json: true }],
    ['--home x runs --status=failed', 'runs', [], { home: 'x', status: 'failed' }],
    ['mcp --force add x npx -y list', 'mcp add', ['x', 'npx', '-y', 'list'], { force: true }],
    ['events --route list', 'events', [], { route: 'list' }],
  ];
  for (const [words, path, args, flags] of rows) {
    const parsed = parseWords(words.split(' '));
    t.match(parsed, { kind: 'command', command: { path: path.split(' ') }, args, flags }, words);
  }
  t.match(parseWords(['mcp', '--limit', '5', 'list']), { kind: 'misused', message: 'unknown flag --limit' });
  const given = new Map<string, boolean>();
  for (const { name, value } of [...globalFlags, ...catalogue.flatMap(({ flags }) => flags)]) {
    t.equal(given.get(name) ?? value !== undefined, value !== undefined, `--${name}, at every command`);
    given.set(name, value !== undefined);
  }
  t.end();
});

t.test('CLI-2 · the form of a profile’s name is checked by the parser, whatever the command', (t) => {
  for (const words of [
    ['mcp', 'add', 'x', '--profile'],
    ['mcp', 'remove', 'x', '--profile'],
    ['link', 'open', 'agent://x', '--profile'],
    ['webhook', 'subscribe', 'x', '--route-profile'],
  ]) {
    t.match(parseWords([...words, 'work-2']), { kind: 'command' });
    for (const name of ['../x', 'a/b', '', 'A B', '..']) {
      const message = `${words.at(-1)} "${name}" is no profile name [profile-name]`;
      t.match(parseWords([...words, name]), { kind: 'misused', message }, message);
    }
  }
  t.end();
});

t.test('CLI-2 · an argument that is empty, as an unset variable of a script leaves it, is a usage error', (t) => {
  for (const [words, name] of [
    [['events', 'show', ''], 'id'],
    [['mcp', 'tools', '', '--json'], 'server'],
    [['mcp', 'reload', ''], 'server'],
  ] as const) {
    t.match(parseWords(words), { kind: 'misused', message: `<${name}> must not be empty`, cure: /^Usage: / });
  }
  for (const [words, name] of [
    [['mcp', 'serve', '--toolsets', ''], 'toolsets'],
    [['webhook', 'subscribe', 'x', '--events='], 'events'],
  ] as const) {
    t.match(parseWords(words), { kind: 'misused', message: `--${name} must not be empty` });
  }
  t.match(parseWords(['mcp', 'add', 'x', '--', 'program', '']), { kind: 'command', args: ['x', 'program', ''] });
  t.match(parseWords(['complete', '--', '']), { kind: 'command', args: [''] });
  t.end();
});

t.test('CLI-2 · a value of several lines of a flag that may be repeated is one value', (t) => {
  const parsed = parseWords(['mcp', 'add', 'x', '--env', 'KEY=-----BEGIN\nMIIB=\n', '--env', 'B=2', '--', 'y']);
  const flags = parsed.kind === 'command' ? parsed.flags : {};
  t.same(listFlag({ flags } as never, 'env'), ['KEY=-----BEGIN\nMIIB=\n', 'B=2']);
  t.end();
});

t.test('CLI-2 · a command that takes further words takes those with one hyphen too', (t) => {
  t.match(parseWords(['mcp', 'add', 'x', 'npx', '-y', 'server']), { args: ['x', 'npx', '-y', 'server'] });
  t.match(parseWords(['mcp', 'add', 'x', '--', 'npx', '--yes', '-h']), { args: ['x', 'npx', '--yes', '-h'] });
  t.end();
});
