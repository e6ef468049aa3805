import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { parse } from 'yaml';
import { parseEnvFile } from '../../machines/config/env-file.ts';
import { askCli, startBlocked, startDaemon } from '../support/daemon.ts';
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

t.test('HOME-3 · a home whose parent cannot be made is an error about the home, with its remedy', async (t) => {
  // As that of a user with HOME=/nonexistent.
  const parent = `${makeHome(t).path}/none`;
  symlinkSync(`${parent}-either`, parent);
  for (const words of [['gateway', 'setup', '--enable'], ['gateway'], ['mcp', 'add', 'a', '--no-test', '--', 'x']]) {
    const { code, stderr } = await askCli(words, `${parent}/.agent`);
    t.equal(code, 1);
    t.match(
      stderr,
      /^agent: home .*\/none\/.agent: cannot be written: .*or set AGENT_HOME to another \[home-unwritable\]/,
    );
  }
});

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
    const result = await askCli(['gateway', 'setup', ...flags], home.path);
    t.equal(result.code, 0, result.stderr);
    t.equal(readFileSync(`${home.path}/config.yaml`, 'utf8'), expected, flags.join(' '));
  }
});

t.test('CLI-1 · ADP-1 · the secret goes where it takes effect', async (t) => {
  const start = 'platforms: {webhook: {enabled: true, host: 127.0.0.1, port: 0, routes: {r: {}}, ';
  const rows: readonly (readonly [string, string, string, RegExp])[] = [
    [`${start}}}\n`, `${start}}}\n`, '# mine\n\nA=1\nWEBHOOK_SECRET=a-new-secret-of-it\n', /as WEBHOOK_SECRET/],
    [
      `${start}extra: {secret: the-old-one-of-it}}} # c\n`,
      `${start}extra: {secret: "\${WEBHOOK_SECRET}"}}} # c\n`,
      '# mine\n\nA=1\nWEBHOOK_SECRET=a-new-secret-of-it\n',
      /platforms\.webhook\.extra\.secret held a secret that would have won/,
    ],
    [
      `${start}secret: the-old-one-of-it}}\n`,
      `${start}secret: "\${WEBHOOK_SECRET}"}}\n`,
      '# mine\n\nA=1\nWEBHOOK_SECRET=a-new-secret-of-it\n',
      /platforms\.webhook\.secret held a secret/,
    ],
    [
      `${start}secret: "\${env:HOOKS}"}}\n`,
      `${start}secret: "\${env:HOOKS}"}}\n`,
      '# mine\n\nA=1\nHOOKS=a-new-secret-of-it\n',
      /as HOOKS/,
    ],
  ];
  for (const [config, expected, env, told] of rows) {
    const home = makeHome(t, { 'config.yaml': config, '.env': '# mine\n\nA=1\n' });
    const result = await askCli(['gateway', 'setup', '--secret', 'a-new-secret-of-it'], home.path);
    t.equal(result.code, 0, result.stderr);
    t.match(result.stdout, told);
    t.notMatch(result.stdout, /a-new-secret-of-it|the-old-one-of-it/);
    t.same(
      [readFileSync(`${home.path}/config.yaml`, 'utf8'), readFileSync(`${home.path}/.env`, 'utf8')],
      [expected, env],
    );
    const { url, kill, exited } = await startDaemon(t, home.path);
    t.equal((await postSigned(`${url}/webhooks/r`, {}, { secret: 'a-new-secret-of-it' })).status, 202);
    t.equal((await postSigned(`${url}/webhooks/r`, {}, { secret: 'the-old-one-of-it' })).status, 401);
    kill('SIGTERM');
    await exited;
  }
});

t.test('CLI-2 · CLI-1 · flags that contradict each other, are empty or of another form are usage errors', async (t) => {
  const home = makeHome(t, { 'config.yaml': written });
  const rows: readonly (readonly [readonly string[], RegExp])[] = [
    [['gateway', 'setup', '--enable', '--disable'], /exclude each other/],
    [['gateway', 'setup', '--secret', ''], /--secret must not be empty/],
    [['gateway', 'setup', '--secret', 'changeme'], /the secret is a word that everybody tries first; give `generate`/],
    [
      ['gateway', 'setup', '--secret', 'k9#mQ2-too-few'],
      /the secret has 14 characters, fewer than 16; .*--weak-secret/,
    ],
    [['gateway', 'setup', '--secret', 'INSECURE_NO_AUTH'], /the secret means that no signature is checked/],
    [
      ['gateway', 'setup', '--route', 'deploys-of-the-shop', '--secret', 'deploys-of-the-shop'],
      /the name of its route/,
    ],
    [['gateway', 'setup', '--route', 'Bad Name'], /--route "Bad Name" must be lower-case letters/],
    [['gateway', 'setup', '--toolsets', 'web'], /--toolsets needs --route/],
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
    const result = await askCli(words, home.path);
    t.equal(result.code, 2, words.join(' '));
    t.match(result.stderr, text, words.join(' '));
  }
  t.equal(readFileSync(`${home.path}/config.yaml`, 'utf8'), written, 'nothing was written');
  const unusable: readonly (readonly [string, RegExp])[] = [
    [
      '--runner model',
      /--model-provider, --model-url and --model-name: .*\[agent-model-missing\]; nothing was written/,
    ],
    ['--model-provider anthropic --model-url not-a-url --model-name m', /--model-url: .*\[agent-endpoint\]/],
    ['--model-url https://m.example', /--model-url and --model-name: .*lacks "provider"/],
    ['--runner command', /--agent-command: .*\[agent-command-missing\]/],
    ['--host 192.0.2.1', /--host "192\.0\.2\.1": no interface of this machine/],
    ['--route r --toolsets agnet-webhook', /--toolsets: .*did you mean "agent-webhook"\? \[toolset-unknown\]/],
  ];
  for (const [flags, why] of unusable) {
    const result = await askCli(['gateway', 'setup', '--secret', 'generate', ...flags.split(' ')], home.path);
    t.equal(result.code, 1, flags);
    t.match(result.stderr, why, flags);
  }
  t.equal(readFileSync(`${home.path}/config.yaml`, 'utf8'), written, 'nothing was written');
  t.notOk(existsSync(`${home.path}/.env`), 'no secret either');
  const broken = makeHome(t, { 'config.yaml': 'platforms: 5\n' });
  t.equal((await askCli(['gateway', 'setup', '--enable'], broken.path)).code, 1);
  const latin = makeHome(t, {});
  writeFileSync(`${latin.path}/config.yaml`, Buffer.from('{} # f\u00fcr\n', 'latin1'));
  const refused = await askCli(['gateway', 'setup', '--enable', '--route', 'r'], latin.path);
  t.match(refused, { code: 1, stderr: /not UTF-8, so a change would damage it/ });
  t.notOk(existsSync(`${latin.path}/.env`), 'nor is a secret of the route');
  t.equal(readFileSync(`${broken.path}/config.yaml`, 'utf8'), 'platforms: 5\n');
});

t.test(
  'CLI-1 · SEC-6 · each route gets a secret of its own, and no tool of a server that was not chosen',
  async (t) => {
    const home = makeHome(t, {
      'config.yaml':
        'platforms: # c1\n  webhook: {enabled: true, host: 127.0.0.1, port: 0}\nmcp_servers: {files: {command: x}}\n',
      '.env': 'WEBHOOK_SECRET_A_B=of-something-else\n',
    });
    chmodSync(`${home.path}/.env`, 0o644);
    const setup = async (...flags: readonly string[]) => {
      const result = await askCli(['gateway', 'setup', ...flags], home.path);
      t.equal(result.code, 0, result.stderr);
      return result.stdout;
    };
    const routes = () => parse(readFileSync(`${home.path}/config.yaml`, 'utf8')).platforms.webhook.extra.routes;
    const variables = () => parseEnvFile(readFileSync(`${home.path}/.env`, 'utf8'));

    t.match(await setup('--route', 'github'), /as WEBHOOK_SECRET_GITHUB\.\nIts sender posts to \/webhooks\/github/);
    await setup('--route', 'a-b', '--toolsets', 'agent-webhook, mcp-files');
    t.match(await setup('--route', 'a_b', '--secret', 'typed-by-the-person'), /WEBHOOK_SECRET_A_B_3/);

    t.same(routes(), {
      github: { secret: '${WEBHOOK_SECRET_GITHUB}', toolsets: ['agent-webhook'] },
      'a-b': { secret: '${WEBHOOK_SECRET_A_B_2}', toolsets: ['agent-webhook', 'mcp-files'] },
      a_b: { secret: '${WEBHOOK_SECRET_A_B_3}', toolsets: ['agent-webhook'] },
    });
    const made = variables();
    t.match(made.get('WEBHOOK_SECRET_GITHUB'), /^[0-9a-f]{64}$/);
    t.match(made.get('WEBHOOK_SECRET_A_B_2'), /^[0-9a-f]{64}$/);
    t.not(made.get('WEBHOOK_SECRET_A_B_2'), made.get('WEBHOOK_SECRET_GITHUB'));
    t.equal(made.get('WEBHOOK_SECRET_A_B_3'), 'typed-by-the-person');
    t.equal(made.get('WEBHOOK_SECRET_A_B'), 'of-something-else');
    t.notOk(made.has('WEBHOOK_SECRET'), 'there is no secret that all share');
    t.equal(statSync(`${home.path}/.env`).mode & 0o777, 0o600);

    await setup('--route', 'a-b', '--toolsets', 'web');
    t.same(routes()['a-b'], { secret: '${WEBHOOK_SECRET_A_B_2}', toolsets: ['web'] });
    t.same(variables(), made, 'the secret of a route stays');

    const { url, kill, exited } = await startDaemon(t, home.path);
    const status = async (secret = '') => (await postSigned(`${url}/webhooks/github`, {}, { secret })).status;
    t.equal(await status(made.get('WEBHOOK_SECRET_GITHUB')), 202);
    t.equal(await status(made.get('WEBHOOK_SECRET_A_B_2')), 401, 'the secret of another route opens nothing');
    kill('SIGTERM');
    await exited;
  },
);

t.test('CLI-1 · SRC-1 · a route whose provider makes the secret, or has another key for it, gets none', async (t) => {
  const graph = { source: 'microsoft-graph', verify_token: 'the-client-state-of-ours' };
  const routes = { graph, pay: { source: 'stripe' }, one: { prompt: 'x' } };
  const webhook = { enabled: true, host: '127.0.0.1', routes };
  const home = makeHome(t, { 'config.yaml': `platforms: {webhook: ${JSON.stringify(webhook)}}\n` });
  const { code, stderr } = await askCli(['gateway', 'setup', '--port', '0'], home.path);
  t.equal(code, 0, stderr);
  const written = parse(readFileSync(`${home.path}/config.yaml`, 'utf8')).platforms.webhook.routes;
  t.same(written, { ...routes, one: { prompt: 'x', secret: '${WEBHOOK_SECRET_ONE}' } });
});

t.test('CLI-1 · SEC-6 · an empty variable is no secret', async (t) => {
  const home = makeHome(t, {
    'config.yaml':
      'platforms: {webhook: {enabled: true, host: 127.0.0.1, routes: {one: {prompt: x}, own: {secret: "${OWN}"}}}}\n',
    '.env': 'WEBHOOK_SECRET=\nOWN=\n',
  });
  t.equal((await askCli(['gateway', 'setup', '--port', '0'], home.path)).code, 0);
  const variables = parseEnvFile(readFileSync(`${home.path}/.env`, 'utf8'));
  t.match([variables.get('WEBHOOK_SECRET_ONE'), variables.get('OWN')], [/^[0-9a-f]{64}$/, /^[0-9a-f]{64}$/]);
  t.match(await askCli(['config', 'check'], home.path), { code: 0, stdout: 'No findings.\n' });
});

t.test(
  'CLI-1 · SEC-6 · routes without any secret get one each, and a weak one is used only where that is said',
  async (t) => {
    const routes =
      'routes: {one: {prompt: x}, own: {secret: "${MINE}", prompt: x}, two: {prompt: x}, three: {secret: "${UNSET}"}}';
    const home = makeHome(t, {
      'config.yaml': `platforms: {webhook: {enabled: true, host: 0.0.0.0, ${routes}}}\n`,
      '.env': 'MINE=a-secret-of-its-own\n',
    });
    const config = () => parse(readFileSync(`${home.path}/config.yaml`, 'utf8')).platforms.webhook;
    t.equal((await askCli(['gateway', 'setup', '--port', '0'], home.path)).code, 0);
    const secrets = Object.values(config().routes as Record<string, { secret: string }>).map(({ secret }) => secret);
    t.same(secrets, ['${WEBHOOK_SECRET_ONE}', '${MINE}', '${WEBHOOK_SECRET_TWO}', '${UNSET}']);
    t.match(
      readFileSync(`${home.path}/.env`, 'utf8'),
      /^UNSET=[0-9a-f]{64}$/m,
      'a variable that was not set has a value',
    );

    const weak = await askCli(
      ['gateway', 'setup', '--route', 'one', '--secret', 'glft-12345', '--weak-secret'],
      home.path,
    );
    t.equal(weak.code, 0, weak.stderr);
    t.notMatch(weak.stdout, 'glft-12345');
    t.equal(config().extra.allow_weak_secrets, true);
    const checked = await askCli(['config', 'check'], home.path);
    t.equal(checked.code, 1);
    t.match(checked.stdout, /warning: route "one" has a secret that has 10 characters[\s\S]*\n1 finding\n/);
  },
);

t.test('CLI-1 · LIF-12 · what setup wrote is in force in a running gateway when it returns', async (t) => {
  const home = makeHome(t, { 'config.yaml': `${written}inspector: {port: 0}\n` });
  await startBlocked(t, home.path);
  const setup = await askCli(['gateway', 'setup', '--enable', '--route', 'gh'], home.path);
  t.equal(setup.code, 0, setup.stderr);
  t.match(setup.stdout, /\nThe configuration was read again\.\n$/);
  t.match((await askCli(['webhook', 'test', 'gh'], home.path)).stdout, /^HTTP 202/);
});

t.test('CLI-1 · SUB-2 · setup does not make a route that a subscription of its name would lose to', async (t) => {
  const home = makeHome(t, { 'config.yaml': written });
  await askCli(['webhook', 'subscribe', 'alerts'], home.path);
  const { code, stderr } = await askCli(['gateway', 'setup', '--route', 'alerts', '--secret', 'generate'], home.path);
  t.equal(code, 1);
  t.match(
    stderr,
    /--route alerts: a subscription has this name.*`agent webhook edit alerts`.*; nothing was written\n$/,
  );
  t.equal(readFileSync(`${home.path}/config.yaml`, 'utf8'), written);
});
