import t, { type Test } from 'tap';
import { loadHome } from '../../../actors/config/load-config.ts';
import { defaultProfile, type ProfileName } from '../../../machines/base/names.ts';
import { homePaths } from '../../../machines/config/profile.ts';
import type { Route } from '../../../machines/config/route.ts';
import { createProfileServices } from '../../../runtime/agent/profile-tools.ts';
import { createRunners } from '../../../runtime/agent/runners.ts';
import { makeHome } from '../../support/home.ts';
import { plainRequest } from '../../support/records.ts';

const work = 'work' as ProfileName;
const signal = new AbortController().signal;

function profilesOf(t: Test, files: Readonly<Record<string, string>>) {
  const home = makeHome(t, files);
  const runners = createRunners({
    paths: homePaths(home.path),
    openSocket: async () => () => {},
    servers: () => {
      throw new Error('a command needs no servers');
    },
    redact: (text) => text,
    nowMs: () => 0,
    random: () => 0,
    log: { log: () => {}, warnOnce: () => {} },
  });
  const loaded = loadHome({ home: home.path, env: { PATH: process.env.PATH } });
  const all = createProfileServices(() => loaded, runners);
  const atHome = all(defaultProfile);
  const atWork = all(work);
  if (atHome === undefined) throw new Error('no profile');
  return { atHome, atWork };
}

const command = (text: string): string =>
  `agent: {runner: command, command: [sh, -c, '${text}'], timeout_seconds: 7}\n`;
const servers = (name: string): string => `mcp_servers: {server-of-${name}: {command: x, enabled: false}}\n`;

t.test('PRF-2 · each profile lends its own runner, secrets, skills, lists, scripts and servers', async (t) => {
  const files = (name: string, at = '') => ({
    [`${at}config.yaml`]: `gateway: {multiplex_profiles: true}\n${command('echo $KEY')}${servers('home')}`,
    [`${at}.env`]: `KEY=key-of-${name}\n`,
    [`${at}skills/one/SKILL.md`]: `---\nname: one\n---\nskill of ${name}`,
    [`${at}list.txt`]: `list of ${name}\n`,
    [`${at}scripts/s.sh`]: `echo '{"of":"${name}"}'`,
  });
  const { atHome, atWork } = profilesOf(t, {
    ...files('home'),
    ...files('work', 'profiles/work/'),
    'profiles/work/config.yaml': `${command('echo $KEY')}${servers('work')}`,
  });
  for (const [name, one] of [
    ['home', atHome],
    ['work', atWork],
  ] as const) {
    t.match(await one?.runner.run(plainRequest, signal), {
      kind: 'responded',
      response: new RegExp(`^key-of-${name}`),
    });
    t.equal(one?.runner.timeoutMs, 7_000);
    t.match(one?.runner.skill('one'), new RegExp(`skill of ${name}`));
    t.equal(one?.runner.skill('none'), undefined);
    t.equal(one?.lists.list('list.txt')?.has(`list of ${name}`), true);
    const route = { script: 's.sh', scriptTimeoutMs: 5_000 } as Route;
    t.match(await one?.runScript({ route, payload: {} }, signal), {
      kind: 'exited',
      stdout: new RegExp(`"of":"${name}"`),
    });
    t.same(one?.runner.servers, [`server-of-${name}`]);
  }
});
