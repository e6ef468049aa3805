import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { parseEnvFile } from '../../../machines/config/env-file.ts';
import type { Command } from '../../../runtime/control/command.ts';
import { setupCommands } from '../../../runtime/control/setup-commands.ts';

const table = new Map<string, Command>(Object.entries(setupCommands));
const peer = { notify: () => {}, onEnd: () => () => {} };

t.test('INS-4 · INT-1 · the token of a target replaces no variable that something else reads', async (t) => {
  const home = t.testdir({
    'config.yaml': 'mcp_servers: {slack: {command: x, env: {SLACK_TOKEN: "${SLACK_TOKEN}"}}}\n',
    '.env': 'SLACK_TOKEN=of-the-server\n',
  });
  const choose = (token: string) =>
    table.get('setup.target')?.({ source: { home, env: {} } }, { target: 'slack', token }, peer);
  const token = () => parse(readFileSync(join(home, 'config.yaml'), 'utf8')).platforms.slack.token;
  const variables = () => [...parseEnvFile(readFileSync(join(home, '.env'), 'utf8'))];

  t.match(await choose('of-the-target'), { variable: 'SLACK_TOKEN_2' });
  t.equal(token(), '${SLACK_TOKEN_2}');
  t.same(variables(), [
    ['SLACK_TOKEN', 'of-the-server'],
    ['SLACK_TOKEN_2', 'of-the-target'],
  ]);

  t.match(await choose('another-one'), { variable: 'SLACK_TOKEN_2' });
  t.same(variables()[1], ['SLACK_TOKEN_2', 'another-one']);
});

t.test(
  'INS-4 · HOME-4 · a target that nothing else has a variable for gets its usual one, again and again',
  async (t) => {
    const home = t.testdir({ 'config.yaml': '# mine\n' });
    for (const token of ['one', 'two']) {
      const chosen = await table.get('setup.target')?.(
        { source: { home, env: {} } },
        { target: 'discord', token },
        peer,
      );
      t.match(chosen, { variable: 'DISCORD_TOKEN' });
    }
    t.equal(readFileSync(join(home, '.env'), 'utf8'), 'DISCORD_TOKEN=two\n');
    t.match(readFileSync(join(home, 'config.yaml'), 'utf8'), /^# mine\nplatforms:\n {2}discord:\n/);
  },
);

t.test('INS-4 · PRF-2 · the first steps of a profile are its own, except the listener, which all share', async (t) => {
  const home = t.testdir({
    'config.yaml': 'gateway: {multiplex_profiles: true}\n',
    profiles: { work: { 'config.yaml': 'agent: {runner: command, command: [x]}\n' } },
  });
  const host = { source: { home, env: {} } };
  const ask = (method: string) => table.get(method)?.(host, { profile: 'work' }, peer);
  t.match(await ask('setup.read'), { profile: 'work', webhooks_enabled: false, done: { agent: true } });

  await ask('setup.webhooks');

  t.match(await ask('setup.read'), { webhooks_enabled: true });
  t.match(parse(readFileSync(join(home, 'config.yaml'), 'utf8')), { platforms: { webhook: { enabled: true } } });
});
