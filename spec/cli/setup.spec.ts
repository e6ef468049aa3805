import { readFileSync } from 'node:fs';
import t from 'tap';
import { runCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { postSigned } from '../support/sign.ts';

const written = `platforms: # c1
  webhook: # c2
    enabled: false
    extra: # c3
      host: 127.0.0.1 # mine
      port: 0
agent: {runner: echo} # c4
`;

t.test('CLI-1 · HOME-4 · setup changes what is given and nothing else', async (t) => {
  const rows: readonly (readonly [readonly string[], string])[] = [
    [['--enable'], written.replace('false', 'true')],
    [['--disable'], written],
    [['--port', '9000'], written.replace('port: 0', 'port: 9000')],
    [['--host=::1', '--enable'], written.replace('127.0.0.1', '::1').replace('false', 'true')],
    [['--secret', 'generate'], written],
  ];
  for (const [flags, expected] of rows) {
    const home = makeHome(t, { 'config.yaml': written });
    const result = await runCli(['gateway', 'setup', ...flags], home.path);
    t.equal(result.code, 0, result.stderr);
    t.equal(readFileSync(`${home.path}/config.yaml`, 'utf8'), expected, flags.join(' '));
  }
});

t.test('CLI-1 · ADP-1 · the secret goes where it takes effect', async (t) => {
  const start = 'platforms: {webhook: {enabled: true, host: 127.0.0.1, port: 0, routes: {r: {}}, ';
  const rows: readonly (readonly [string, string, string, RegExp])[] = [
    [`${start}}}\n`, `${start}}}\n`, '# mine\n\nA=1\nWEBHOOK_SECRET="new-secret-new"\n', /as WEBHOOK_SECRET/],
    [
      `${start}extra: {secret: old-old-old}}} # c\n`,
      `${start}extra: {secret: "\${WEBHOOK_SECRET}"}}} # c\n`,
      '# mine\n\nA=1\nWEBHOOK_SECRET="new-secret-new"\n',
      /platforms\.webhook\.extra\.secret held a secret that would have won/,
    ],
    [
      `${start}secret: old-old-old}}\n`,
      `${start}secret: "\${WEBHOOK_SECRET}"}}\n`,
      '# mine\n\nA=1\nWEBHOOK_SECRET="new-secret-new"\n',
      /platforms\.webhook\.secret held a secret/,
    ],
    [
      `${start}secret: "\${env:HOOKS}"}}\n`,
      `${start}secret: "\${env:HOOKS}"}}\n`,
      '# mine\n\nA=1\nHOOKS="new-secret-new"\n',
      /as HOOKS/,
    ],
  ];
  for (const [config, expected, env, told] of rows) {
    const home = makeHome(t, { 'config.yaml': config, '.env': '# mine\n\nA=1\n' });
    const result = await runCli(['gateway', 'setup', '--secret', 'new-secret-new'], home.path);
    t.equal(result.code, 0, result.stderr);
    t.match(result.stdout, told);
    t.notMatch(result.stdout, /new-secret-new|old-old-old/);
    t.same(
      [readFileSync(`${home.path}/config.yaml`, 'utf8'), readFileSync(`${home.path}/.env`, 'utf8')],
      [expected, env],
    );
    const { url, kill, exited } = await startDaemon(t, home.path);
    t.equal((await postSigned(`${url}/webhooks/r`, {}, { secret: 'new-secret-new' })).status, 202);
    t.equal((await postSigned(`${url}/webhooks/r`, {}, { secret: 'old-old-old' })).status, 401);
    kill('SIGTERM');
    await exited;
  }
});

t.test('CLI-2 · CLI-1 · flags that contradict each other, are empty or of another form are usage errors', async (t) => {
  const home = makeHome(t, { 'config.yaml': written });
  const rows: readonly (readonly [readonly string[], RegExp])[] = [
    [['gateway', 'setup', '--enable', '--disable'], /exclude each other/],
    [['gateway', 'setup', '--secret', ''], /--secret must not be empty/],
    [['gateway', 'setup', '--host='], /--host must not be empty/],
    [['gateway', 'setup', '--port', 'abc'], /--port "abc" must be a whole number from 0 to 65535/],
    [['gateway', 'setup', '--port', '99999'], /--port "99999"/],
    [['webhook', 'deliveries', '--limit', 'abc'], /--limit "abc" must be a whole number from 1/],
    [['webhook', 'deliveries', '--limit', '0'], /--limit "0"/],
    [['webhook', 'deliveries', '--limit', '-5'], /--limit "-5"/],
    [['runs', 'list', '--limit', '2.7'], /--limit "2\.7"/],
    [['webhook', 'deliveries', '--status', 'bogus'], /"bogus" is none of accepted, coalesced, .*delivered/],
    [['runs', 'list', '--status', 'ignored'], /"ignored" is none of queued, running/],
    [['webhook', 'subscribe', 'x', '--profile', 'a', '--route-profile', 'b'], /name two profiles/],
  ];
  for (const [words, text] of rows) {
    const result = await runCli(words, home.path);
    t.equal(result.code, 2, words.join(' '));
    t.match(result.stderr, text, words.join(' '));
  }
  t.equal(readFileSync(`${home.path}/config.yaml`, 'utf8'), written, 'nothing was written');
  const broken = makeHome(t, { 'config.yaml': 'platforms: 5\n' });
  t.equal((await runCli(['gateway', 'setup', '--enable'], broken.path)).code, 1);
  t.equal(readFileSync(`${broken.path}/config.yaml`, 'utf8'), 'platforms: 5\n');
});
