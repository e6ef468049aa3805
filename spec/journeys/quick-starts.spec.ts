/**
 * The commands of docs/quick-starts.md and of the backup in docs/install.md, as they are printed, in an empty home. Only the
 * outside world is a fake.
 */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { main } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { startPlatform } from '../support/platforms/fake-platform.ts';
import { slackApi } from '../support/platforms/slack.ts';
import { telegramApi } from '../support/platforms/telegram.ts';
import { until } from '../support/processes.ts';

const memory = fileURLToPath(new URL('../servers/memory.js', import.meta.url));
const page = readFileSync('docs/quick-starts.md', 'utf8');
const install = readFileSync('docs/install.md', 'utf8');

t.test('PKG-2 · Claude Code reviews a pull request, and the review becomes a comment', async (t) => {
  const user = makeUser(t);
  user.program(
    'claude',
    'printf "%s\\n" "$@" > "$HOME/words"; cat > "$HOME/prompt"; cp "$3" "$HOME/mcp.json"; pwd > "$HOME/folder"; echo "Looks good."',
  );
  user.program('gh', 'case $1 in auth) exit 0;; esac; echo "$@" > "$HOME/gh"; cat > "$HOME/comment"');
  const [setup = '', look = ''] = commandsOf('Reviews of pull requests');

  t.match(await user.run(setup), /No findings[\s\S]*reviews/);
  await user.run('agent webhook test reviews --sample pull_request.opened');
  await until(async () => /delivered/.test(await user.run('agent events')));

  t.match(
    user.read('prompt'),
    /^Review pull request \d+ of \S+\/\S+\. Read it with\n`gh pr diff \d+ --repo \S+\/\S+`\./,
  );
  t.match(
    user.read('words'),
    /^-p\n--mcp-config\n\/.*\n--strict-mcp-config\n--allowedTools\nmcp__agent,Bash\(gh pr diff:\*\)\n$/,
  );
  t.equal(user.read('folder').trim(), join(user.home.path, 'reviews'), 'which holds no secret (SEC-4)');
  t.match(JSON.parse(user.read('mcp.json')), { mcpServers: { agent: { command: String } } });
  t.match(user.read('gh'), /^pr comment \d+ --repo \S+\/\S+ --body-file -\n$/);
  t.equal(user.read('comment').trim(), 'Looks good.');
  t.match(await user.run(look), /reviews[\s\S]*delivered[\s\S]*github_comment/);
});

t.test('PKG-2 · an invoice that Stripe reports as paid becomes a message in Slack', async (t) => {
  const slack = await startPlatform(t, slackApi);
  const user = makeUser(t);
  const [setup = ''] = commandsOf('Stripe to Slack');
  const faked = setup
    .replace('xoxb-from-the-page-of-the-app', String(slackApi.options.token))
    .replace('    home_channel:', `    api_base: ${slack.base}\n    home_channel:`);
  t.not(faked, setup);

  t.match(await user.run(faked), /No findings[\s\S]*slack/);
  await until(() => slack.world.messages.length > 0);
  t.match(slack.world.messages, [{ place: 'C0123456789', text: /^Paid: €54\.00 \(invoice in_\w+\)$/ }]);
});

t.test('PKG-2 · a group of alerts becomes a message in Telegram', async (t) => {
  const telegram = await startPlatform(t, telegramApi);
  const user = makeUser(t);
  const [setup = ''] = commandsOf('Alerts to Telegram');
  const faked = setup
    .replace('123456:from-BotFather', String(telegramApi.options.token))
    .replace("'-1001234567890'", `'${telegramApi.chat}'\n    api_base: ${telegram.base}`)
    .replace('window_seconds: 10', 'window_seconds: 1');

  t.match(await user.run(faked), /No findings[\s\S]*coalesced/);
  await until(() => telegram.world.messages.length > 0);
  t.match(telegram.world.messages, [{ place: telegramApi.chat, text: /^firing: Test/ }]);
});

t.test('PKG-2 · the servers of another program and one more are behind one entry', async (t) => {
  const user = makeUser(t);
  user.program('npx', `exec ${process.execPath} ${memory}`);
  const notes = { command: process.execPath, args: [memory] };
  user.home.write('.claude.json', JSON.stringify({ mcpServers: { notes } }));
  const [setup = ''] = commandsOf('All MCP servers behind one');

  const printed = await user.run(setup);
  t.match(printed, /mcp__memory__read_graph/);
  await until(async () => /mcp__notes__read_graph/.test(await user.run('agent mcp tools')));
});

t.test('PKG-2 · each agent program is started by a list of words that the configuration takes', async (t) => {
  const user = makeUser(t);
  const rows = [...page.matchAll(/^\| \[(.*?)\]\(.*?\) \| `(\[.*\])` \|$/gm)];
  t.same(
    rows.map(([, name]) => name),
    ['Claude Code', 'Codex', 'goose', 'OpenCode', 'Gemini CLI', 'Copilot CLI'],
  );
  for (const [, name, words] of rows) {
    user.home.write('.agent/config.yaml', `agent:\n  runner: command\n  command: ${words}\n`);
    t.match(await user.run('agent config check'), /No findings/, `${name}`);
  }
});

t.test('PKG-2 · what was backed up is there after a restore, and what came later is not', async (t) => {
  const user = makeUser(t);
  const [backUp = '', restore = ''] = commandsOf('Back up and restore', install);
  await user.run('agent gateway && agent cron add kept "every 1h" --prompt Hello');

  await user.run(backUp);
  await user.run('agent cron add later "every 1h" --prompt Hello');
  await user.run(restore);
  const jobs = await user.run('agent cron list');
  t.match(jobs, /kept/);
  t.notMatch(jobs, /later/);
});

t.test('PKG-1 · SCA-1 · the compose file starts two gateways on one database, by names that exist', async (t) => {
  const compose = parse(readFileSync('docs/deploy/compose.yaml', 'utf8'), { merge: true }) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly volumes: object;
  };
  const { balancer, postgres, ...gateways } = compose.services;
  const text = readFileSync('docs/deploy/Containerfile', 'utf8');

  t.same(Object.keys(gateways), ['gateway-1', 'gateway-2']);
  t.ok(postgres?.healthcheck, 'which the database has');
  const port = /^EXPOSE (.*)$/m.exec(text)?.[1];
  const proxied = readFileSync('docs/deploy/Caddyfile', 'utf8');
  for (const [name, gateway] of Object.entries(gateways)) {
    t.equal(gateway.build?.dockerfile, 'docs/deploy/Containerfile');
    t.same(gateway.depends_on, { postgres: { condition: 'service_healthy' } });
    t.equal(gateway.deploy, undefined, 'a replica would share its home');
    t.match(gateway.environment, { DATABASE_URL: /^postgres:\/\/agent:.*@postgres\/agent$/ });
    t.match(gateway.volumes, [`${name.replace('gateway', 'home')}:${/^VOLUME (.*)$/m.exec(text)?.[1]}`]);
    t.match(proxied, `${name}:${port}`);
  }
  t.match(postgres?.environment, { POSTGRES_USER: 'agent', POSTGRES_DB: 'agent' });
  const mounted = Object.values(compose.services).flatMap(({ volumes }) => volumes.map((one) => one.split(':')));
  t.same(
    mounted.flatMap(([name = '']) => (name.startsWith('.') ? [] : [name])),
    Object.keys(compose.volumes),
  );
  t.same(balancer?.ports, [`127.0.0.1:${port}:${port}`]);

  const user = makeUser(t);
  const [, config = ''] = /<<'END'\n([\s\S]*?)^END$/m.exec(readFileSync('docs/deploy.md', 'utf8')) ?? [];
  user.home.write('.agent/config.yaml', config);
  user.home.write('.agent/.env', 'DATABASE_URL=postgres://agent:secret@postgres/agent\n');
  t.match(await user.run('agent config check'), /No findings/, 'with the configuration of docs/deploy.md');
});

interface Service {
  readonly [key: string]: unknown;
  readonly build?: { readonly dockerfile: string };
  readonly volumes: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: object;
}

interface User {
  readonly home: TestHome;
  program(name: string, script: string): void;
  /** Resolves with what the commands print; rejects where one fails. */
  run(commands: string): Promise<string>;
  read(name: string): string;
}

/** A user with an empty home, to whom `agent` is installed. Any free port serves: others run gateways on this machine. */
function makeUser(t: Test): User {
  const home = makeHome(t);
  const program = (name: string, script: string): void => home.write(`bin/${name}`, `#!/bin/sh\n${script}\n`, 0o700);
  program('agent', `exec ${process.execPath} ${main} "$@"`);
  const env = { HOME: home.path, PATH: `${join(home.path, 'bin')}:/usr/bin:/bin`, WEBHOOK_PORT: '0', LANG: 'C.UTF-8' };
  const run = async (commands: string): Promise<string> =>
    (await promisify(execFile)('sh', ['-euc', commands], { cwd: home.path, env })).stdout;
  t.teardown(() => run('agent gateway stop || true'));
  return { home, program, run, read: (name) => readFileSync(join(home.path, name), 'utf8') };
}

/** The blocks of commands in a section of a page. */
function commandsOf(title: string, from = page): readonly string[] {
  const [, section = ''] = from.split(`## ${title}\n`);
  const [own = ''] = section.split(/^## /m);
  return [...own.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands = '']) => commands);
}
