import { chownSync, readdirSync } from 'node:fs';
import t from 'tap';
import { runGateway, startGateway, unanswered } from '../../cli/commands/gateway.ts';
import { stageCommand } from '../support/command-stage.ts';
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
