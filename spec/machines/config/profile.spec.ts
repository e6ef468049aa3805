import t from 'tap';
import { defaultProfile, type ProfileName } from '../../../machines/base/names.ts';
import { homeOf, homePaths, profilePaths } from '../../../machines/config/profile.ts';

t.test('HOME-1 · AGENT_HOME moves the home, profiles lie under it', (t) => {
  t.equal(homeOf({}, '/home/me'), '/home/me/.agent');
  t.equal(homeOf({ AGENT_HOME: '/srv/agent/' }, '/home/me'), '/srv/agent');
  t.equal(homePaths('/srv/a').socket, '/srv/a/gateway.sock');
  t.ok(homePaths(`/srv/${'deep/'.repeat(40)}`).socket.length < 108, 'a socket path that can be bound');
  t.equal(profilePaths('/srv/a', defaultProfile).scripts, '/srv/a/scripts');
  t.equal(profilePaths('/srv/a', 'work' as ProfileName).tokens, '/srv/a/profiles/work/mcp-tokens');
  t.end();
});
