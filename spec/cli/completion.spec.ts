import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import t from 'tap';
import { completionScripts } from '../../cli/commands/completion.ts';
import { main, runCli, startDaemon } from '../support/daemon.ts';
import { fakeGateway } from '../support/fake-gateway.ts';
import { makeHome, type TestHome } from '../support/home.ts';

const config = `platforms: {webhook: {enabled: true, extra: {host: 127.0.0.1, port: 0, secret: completed-secret-1, routes: {github: {prompt: p, description: code host}}}}}
mcp_servers: {off: {command: "true", enabled: false}}
`;

t.test('CLI-2 · completion takes names from the running gateway, and is silent where none answers', async (t) => {
  const home = makeHome(t, { 'config.yaml': config, 'profiles/work/.env': '' });
  const complete = async (...words: string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await runCli(['complete', '--', ...words], home.path);
    t.same([code, stderr], [0, ''], words.join(' '));
    return stdout
      .split('\n')
      .map((line) => line.split('\t')[0] ?? '')
      .filter(Boolean);
  };
  t.same(await complete('mcp', 'test', ''), [], 'no gateway, no names');
  t.same(await complete('webhook', 'list', '--profile='), [], 'a flag that the command has not');

  await startDaemon(t, home.path);
  t.equal((await runCli(['webhook', 'subscribe', 'mine'], home.path)).code, 0);
  const rows: readonly (readonly [readonly string[], readonly string[]])[] = [
    [['mcp', 'test', ''], ['off']],
    [['mcp', 'test', 'x'], []],
    [
      ['webhook', 'show', ''],
      ['github', 'mine'],
    ],
    [['webhook', 'remove', ''], ['mine']],
    [
      ['webhook', 'test', ''],
      ['github', 'mine'],
    ],
    [['webhook', 'test', 'mine', '--sample', 'github:pull'], ['github:pull_request.opened']],
    [['webhook', 'test', 'mine', '--sample', 'pull_request.'], ['pull_request.opened']],
    [['webhook', 'subscribe', 'x', '--source', 'str'], ['stripe']],
    [['cron', 'add', 'x', '@daily', '--deliver', 'sla'], ['slack']],
    [
      ['webhook', 'show', '--profile', ''],
      ['default', 'work'],
    ],
    [['webhook', 'show', '--profile=w'], ['--profile=work']],
    [['runs', 'list', '--route', 'g'], ['github']],
    [['inspect', 'show', 'super'], ['supervisor']],
    [['--home', home.path, 'mcp', 'logs', ''], ['off']],
    [['--home', '/nowhere', 'mcp', 'logs', ''], []],
    [['approvals', 'show', ''], []],
  ];
  for (const [words, expected] of rows) t.same(await complete(...words), expected, words.join(' '));
});

t.test('SEC-7 · a question is completed without the words of its server', async (t) => {
  const home = makeHome(t);
  const result = [{ id: 'a1', server: 'notes', kind: 'form', message: 'approved by the gateway' }];
  await fakeGateway(t, home.path, ({ id }, { say }) => say({ id, result }));

  const { stdout } = await runCli(['complete', '--', 'approvals', 'approve', ''], home.path);
  t.equal(stdout, 'a1\tnotes form\n');
});

t.test('CLI-2 · PRF-1 · each shell completes servers of the given profile, else of the default one', async (t) => {
  const home = withProgram(
    makeHome(t, {
      'config.yaml': `gateway: {multiplex_profiles: true}\n${config}`,
      'profiles/work/config.yaml': 'mcp_servers: {notes: {command: "true", enabled: false}}\n',
    }),
  );
  await startDaemon(t, home.path);
  for (const [given, expected] of [
    [[], 'off'],
    [['--profile', 'work'], 'notes'],
    [['--profile', '"work"'], 'notes'],
  ] as const) {
    const words = ['agent', 'mcp', 'test', ...given, ''];
    const line = words.join(' ');
    t.strictSame(inBash(line, words, home), [expected], `bash: ${line}`);
    if (missing('zsh', 'fish') !== false) continue;
    const ofZsh = inShell('zsh', ['-f', '-c', zshShowing(words)], home);
    t.strictSame(ofZsh, [`${expected}:disabled`], `zsh: ${line}`);
    const fish = `${completionScripts.get('fish') ?? ''}\ncomplete -C ${quoted(line)}`;
    t.strictSame(inShell('fish', ['--no-config', '-c', fish], home), [`${expected}\tdisabled`], `fish: ${line}`);
  }
});

t.test('CLI-2 · a gateway that does not answer holds no key up', async (t) => {
  const home = makeHome(t);
  await fakeGateway(t, home.path, () => {});

  t.same(await runCli(['complete', '--', 'mcp', 'test', ''], home.path), { code: 0, stdout: '', stderr: '' });
});

t.test('CLI-2 · SEC-7 · an id that the command would read as a flag is not offered', async (t) => {
  const home = makeHome(t);
  const ids = ['--payload=/etc/hosts', ':folders', 'd-1'];
  const result = ids.map((delivery_id) => ({ delivery_id, route: 'r', event: 'e', status: 's' }));
  await fakeGateway(t, home.path, ({ id }, { say }) => say({ id, result }));

  t.match(await runCli(['complete', '--', 'events', 'show', ''], home.path), { code: 0, stdout: /^d-1\tr e s\n$/ });
});

t.test('CLI-2 · SEC-7 · an id with signs of the shell is one word in the line of bash, and runs nothing', (t) => {
  const ids = ['x;touch${IFS}run', '$(touch${IFS}run)', '`touch${IFS}run`', 'a b', "it's", 'plain-1'];
  const home = makeHome(t, { 'bin/agent': `#!/bin/sh\nprintf '%s\\t\\n' ${ids.map(quoted).join(' ')}\n` });
  const bin = `${home.path}/bin`;
  chmodSync(`${bin}/agent`, 0o700);
  const line = 'agent events show ';
  const script = [
    completionScripts.get('bash') ?? '',
    `COMP_LINE=${quoted(line)} COMP_POINT=${line.length} COMP_CWORD=3`,
    "COMP_WORDS=(agent events show '')",
    '_agent',
    'show() { printf "%s\\n" "$@"; }',
    // As the line is read once it is entered.
    'for one in "${COMPREPLY[@]}"; do eval "show $one"; done',
  ].join('\n');
  t.same(inShell('bash', ['--norc', '-c', script], { path: home.path, bin }), ids);
  t.notOk(existsSync(`${home.path}/run`));
  t.end();
});

t.test('CLI-2 · bash completes words that it breaks at "=", and folders by itself', async (t) => {
  const home = withProgram(makeHome(t, { 'config.yaml': config, 'profiles/work/.env': '' }));
  const rows: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['agent mcp lo', ['agent', 'mcp', 'lo'], ['logs', 'login', 'logout']],
    ['agent webhook show --profile=w', ['agent', 'webhook', 'show', '--profile', '=', 'w'], ['work']],
    ['agent webhook show --profile=', ['agent', 'webhook', 'show', '--profile', '='], ['default', 'work']],
    ['agent mcp login x --flow ', ['agent', 'mcp', 'login', 'x', '--flow', ''], ['browser', 'device']],
    [`agent --home ${home.path}/pro`, ['agent', '--home', `${home.path}/pro`], [`${home.path}/profiles`]],
  ];
  for (const [line, words, expected] of rows) t.same(inBash(line, words, home), expected, line);
  const held = ['complete -p agent'];
  t.match(inShell('bash', ['--norc', '-c', [completionScripts.get('bash'), ...held].join('\n')], home), [
    /-F _agent agent/,
  ]);
});

t.test('CLI-2 · a name of any characters comes quoted onto the line of bash', async (t) => {
  const jobs = [{ id: 'a b;$(x)', schedule: '0 9 * * *', prompt: 'p' }];
  const home = withProgram(makeHome(t, { 'config.yaml': config, 'cron/jobs.json': JSON.stringify(jobs) }));
  await startDaemon(t, home.path);
  t.same(inBash('agent cron show ', ['agent', 'cron', 'show', ''], home), ['a\\ b\\;\\$\\(x\\)']);
});

t.test('CLI-2 · zsh and fish complete with what each word does', { skip: missing('zsh', 'fish') }, async (t) => {
  const home = withProgram(makeHome(t, { 'profiles/work/.env': '' }));
  t.match(inShell('zsh', ['-f', '-c', zshShowing(['agent', 'mcp', 'lo'])], home), [
    /^logs:Show what a server wrote/,
    /^login:Log in to a server/,
    /^logout:Delete the stored login/,
  ]);
  const fish = `${completionScripts.get('fish') ?? ''}\ncomplete -C 'agent webhook show --profile=w'\ncomplete -C 'agent mcp log'`;
  t.match(inShell('fish', ['--no-config', '-c', fish], home), [
    '--profile=work',
    ...[/^login\tLog in/, /^logout\tDelete/, /^logs\tShow/],
  ]);
});

/** The program under its own name, as the shells call it. */
function withProgram(home: TestHome): TestHome & { readonly bin: string } {
  home.write('bin/agent', `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(main)} "$@"\n`);
  chmodSync(`${home.path}/bin/agent`, 0o700);
  return { ...home, bin: `${home.path}/bin` };
}

/** A script that prints what zsh offers for the last of these words, each as it was typed. */
function zshShowing(words: readonly string[]): string {
  return [
    'compdef() { :; }',
    '_describe() { print -l -- "${(@)shown}"; }',
    completionScripts.get('zsh') ?? '',
    `words=(${words.map(quoted).join(' ')}) CURRENT=${words.length}; _agent`,
  ].join('\n');
}

/** The candidates at the end of a line, which bash has cut into these words. */
function inBash(
  line: string,
  words: readonly string[],
  home: { readonly path: string; readonly bin: string },
): string[] {
  const script = [
    'mapfile() { return 127; } # as in bash 3.2, that of macOS',
    completionScripts.get('bash') ?? '',
    `COMP_LINE=${quoted(line)} COMP_POINT=${line.length} COMP_CWORD=${words.length - 1}`,
    `COMP_WORDS=(${words.map(quoted).join(' ')})`,
    '_agent',
    'printf "%s\\n" "${COMPREPLY[@]}"',
  ].join('\n');
  return inShell('bash', ['--norc', '-c', script], home);
}

function inShell(
  shell: string,
  words: readonly string[],
  home: { readonly path: string; readonly bin: string },
): string[] {
  const env = { ...process.env, PATH: `${home.bin}:${process.env.PATH}`, AGENT_HOME: home.path, HOME: home.path };
  return execFileSync(shell, words, { env, encoding: 'utf8', cwd: home.path }).split('\n').filter(Boolean);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function missing(...shells: readonly string[]): string | false {
  const gone = shells.filter((shell) => spawnSync(shell, ['--version']).error !== undefined);
  return gone.length === 0 ? false : `not installed: ${gone.join(', ')}`;
}
