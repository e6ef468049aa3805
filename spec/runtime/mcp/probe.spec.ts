import { join } from 'node:path';
import t from 'tap';
import { probeServer } from '../../../runtime/mcp/probe.ts';
import { makeHome } from '../../support/home.ts';
import { faults } from '../../support/mcp/faults.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';
import { started } from '../../support/mcp/plain-client.ts';
import { stdioPeer } from '../../support/mcp/stdio-peer.ts';
import { hasEnded, numbersIn } from '../../support/processes.ts';

t.test(
  'CLI-5 · a server is connected once and tells what would be registered, and nothing of it is left',
  async (t) => {
    const pidFile = join(makeHome(t).path, 'pids');
    const peer = stdioPeer('legacy', { pidFile });
    const entry = { command: peer.command, args: peer.args, tools: { include: ['echo', 'add'], prompts: false } };
    const report = await probeServer(settingsOf(entry, 'my-peer'), {}, '1.2.3');
    t.match(report, { ok: true, era: 'legacy', milliseconds: Number });
    if (report.ok) {
      t.same(
        report.tools.map(({ name }) => name),
        ['echo', 'add', 'list_resources', 'read_resource'].map((name) => `mcp__my_peer__${name}`),
      );
      t.equal(report.tools[0]?.description, 'Says the text again');
      t.equal(report.filtered, 8);
    }
    const pids = numbersIn(pidFile);
    t.equal(pids.length, 1);
    t.ok(pids.every(hasEnded));
  },
);

t.test('CLI-5 · LIF-7 · a server that cannot be reached is told in one line with its cure', async (t) => {
  const peer = await started(t);
  peer.set({ ...faults.forbidden });
  t.match(await probeServer(settingsOf({ url: peer.url }), {}, '1'), {
    ok: false,
    error: /^mcp server "peer": .*403.*check headers, or run agent mcp login peer$/,
  });
  t.match(await probeServer(settingsOf({ command: 'no-such-command-here' }), {}, '1'), {
    ok: false,
    error: /command cannot be started: no-such-command-here \(ENOENT\); check command and PATH$/,
  });
});
