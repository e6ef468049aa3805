import { chownSync, readdirSync } from 'node:fs';
import t from 'tap';
import { runGateway, startGateway, unanswered } from '../../cli/commands/gateway.ts';
import { version } from '../../cli/version.ts';
import { stageCommand } from '../support/command-stage.ts';
import { askCli } from '../support/daemon.ts';
import { fakeGateway } from '../support/fake-gateway.ts';
import { makeHome } from '../support/home.ts';

const owner = 65_533;

t.test(
  'HOME-3 · CLI-1 · sudo does not start the gateway in the home of another user, and writes nothing there',
  { skip: process.getuid?.() !== 0 && 'it needs root' },
  async (t) => {
    const home = makeHome(t).path;
    chownSync(home, owner, owner);
    const before = readdirSync(home);
    for (const start of [runGateway, startGateway]) {
      const { context, seen } = stageCommand({});
      t.equal(await start({ ...context, home, env: { SUDO_UID: '1000' } }), 1);
      t.match(seen.complained, /belongs to another user \(id 65533\).*sudo -u '#65533'/);
      t.same(readdirSync(home), before);
    }
  },
);

t.test('CLI-1 · DUR-3 · a gateway that runs without a socket, as on a full disk, is not said to have ended', (t) => {
  t.equal(
    unanswered(7),
    'the gateway runs (pid 7) but has not answered for 30 s; it continues to try, and `kill 7` ends it',
  );
  t.end();
});

t.test('CLI-1 · PKG-2 · who starts a new version beside a running gateway learns that the old one runs', async (t) => {
  const home = makeHome(t).path;
  let running = '0.0.9';
  const parts = { webhook: {}, inspector: {}, config: { in_force: true }, servers: {}, actors: {}, journal: 'ready' };
  await fakeGateway(t, home, ({ id }, { say }) => {
    say({ id, result: { state: 'up.running', version: running, pid: 7, home, uptime_seconds: 1, ...parts } });
  });
  const statusShown = async () => (await askCli(['gateway', 'status'], home)).stdout.split('\nhome')[0];
  const start = async (): Promise<string> => {
    const { context, seen } = stageCommand({});
    t.equal(await startGateway({ ...context, home }), 0);
    return seen.printed;
  };
  const why = () => askCli(['inspect', 'why', 'd1'], home);
  t.match(await why(), {
    code: 1,
    stderr:
      /^agent: the gateway is of version 0\.0\.9, whose answer cannot be read \(.*\); `agent gateway restart` starts version \S+\n$/,
  });
  t.match(await start(), /already, as version 0\.0\.9; .*`agent gateway` or its service starts version \d/);
  t.match(
    await statusShown(),
    /^pid {8}7, version 0\.0\.9, up 1s\n {11}this command is of version \S+: `agent gateway restart`, or restart its service$/,
  );
  running = version();
  t.equal(await statusShown(), `pid        7, version ${running}, up 1s`);
  t.match(
    await why(),
    { code: 1, stderr: /^agent: Invalid time value\n$/ },
    'an error of this program is not said to be that',
  );
  t.equal(await start(), 'The gateway is running already.\n');
});
