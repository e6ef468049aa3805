import t from 'tap';
import { defaultProfile, type ProfileName } from '../../../machines/base/names.ts';
import {
  homeOf,
  homePaths,
  liesAside,
  profilePaths,
  runSocketOf,
  socketIn,
  unwritableHome,
} from '../../../machines/config/profile.ts';

t.test('HOME-1 · AGENT_HOME moves the home, profiles lie under it', (t) => {
  t.equal(homeOf({}, '/home/me'), '/home/me/.agent');
  t.equal(homeOf({ AGENT_HOME: '/srv/agent/' }, '/home/me'), '/srv/agent');
  t.equal(homeOf({ AGENT_HOME: '~/x' }, '/home/me'), '/home/me/x');
  t.equal(homeOf({ AGENT_HOME: '~' }, '/home/me'), '/home/me');
  t.equal(homeOf({ AGENT_HOME: '' }, '/home/me'), undefined);
  t.equal(homePaths('/srv/a').socket, '/srv/a/gateway.sock');
  t.ok(homePaths(`/srv/${'deep/'.repeat(40)}`).socket.length < 108, 'a socket path that can be bound');
  t.equal(profilePaths('/srv/a', defaultProfile).scripts, '/srv/a/scripts');
  t.equal(profilePaths('/srv/a', 'work' as ProfileName).tokens, '/srv/a/profiles/work/mcp-tokens');
  t.end();
});

t.test('SEC-4 · CLI-3 · a socket path can be bound, in bytes too, and a run is known by its socket alone', (t) => {
  t.equal(socketIn('/srv/a/state/runs/run-1', 'agent.sock'), '/srv/a/state/runs/run-1/agent.sock');
  t.equal(socketIn(`/${'a'.repeat(88)}`, 'agent.sock').length, 100);
  for (const folder of [`/${'a'.repeat(89)}`, `/${'ü'.repeat(50)}`]) {
    const aside = socketIn(folder, 'agent.sock', '/tmp');
    t.match(aside, /^\/tmp\/agent-[0-9a-f]{24}\/agent\.sock$/);
    t.ok(liesAside(aside));
    t.not(aside, socketIn(`${folder}b`, 'agent.sock'));
  }
  t.equal(runSocketOf({}), undefined);
  t.equal(runSocketOf({ AGENT_SOCKET: '/run/agent.sock' }), '/run/agent.sock');
  t.equal(runSocketOf({ AGENT_SOCKET: '/run/agent.sock', AGENT_HOME: '/srv/a' }), '/run/agent.sock');
  t.equal(runSocketOf({ AGENT_SOCKET: '', AGENT_HOME: '/srv/a' }), '', 'one that is empty leads to no other gateway');
  t.equal(runSocketOf({ AGENT_HOME: '/srv/a' }), undefined);
  t.end();
});

t.test('HOME-2 · everything of a home and of a profile lies where the law says', (t) => {
  const under = (home: string) => ({
    home,
    config: `${home}/config.yaml`,
    env: `${home}/.env`,
    subscriptions: `${home}/webhook_subscriptions.json`,
    scripts: `${home}/scripts`,
    skills: `${home}/skills`,
    cron: `${home}/cron`,
    jobs: `${home}/cron/jobs.json`,
    tokens: `${home}/mcp-tokens`,
    cache: `${home}/cache`,
  });
  t.same(homePaths('/srv/a'), {
    ...under('/srv/a'),
    profiles: '/srv/a/profiles',
    socket: '/srv/a/gateway.sock',
    lock: '/srv/a/gateway.lock',
    logs: '/srv/a/logs',
    state: '/srv/a/state',
  });
  t.same(profilePaths('/srv/a', defaultProfile), under('/srv/a'));
  t.same(profilePaths('/srv/a', 'work' as ProfileName), under('/srv/a/profiles/work'));
  t.end();
});

t.test('HOME-1 · what is said of a home that cannot be written names it, the cause and the cure', (t) => {
  t.same(unwritableHome('/srv/a', 'EROFS: read-only file system'), {
    code: 'home-unwritable',
    message:
      'home /srv/a: cannot be written: EROFS: read-only file system; make it a folder that you may write, with room on its disk, or set AGENT_HOME to another',
    cause: 'EROFS: read-only file system',
  });
  t.end();
});
