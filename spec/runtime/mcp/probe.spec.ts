import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Credentials } from '../../../actors/oauth/credentials.store.ts';
import { type ProbePorts, probeServer } from '../../../runtime/mcp/probe.ts';
import { makeHome } from '../../support/home.ts';
import { faults } from '../../support/mcp/faults.ts';
import { started } from '../../support/mcp/http-peer.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';
import { stdioPeer } from '../../support/mcp/stdio-peer.ts';
import { startProtectedServer } from '../../support/oauth/protected-server.ts';
import { tokenStore } from '../../support/oauth/token-store.ts';
import { hasEnded, numbersIn } from '../../support/processes.ts';

/** Of a profile in which nobody has logged in, unless somebody has. */
function ports(t: Test, credentials: Credentials = tokenStore(t).credentials): ProbePorts {
  return { profile: 'work', home: makeHome(t).path, credentials, env: {}, version: '1.2.3', nowMs: () => 0 };
}

t.test(
  'CLI-5 · a server is connected once and shows what would be registered, and nothing of it is left',
  async (t) => {
    const pidFile = join(makeHome(t).path, 'pids');
    const peer = stdioPeer('legacy', { pidFile });
    const entry = { command: peer.command, args: peer.args, tools: { include: ['echo', 'add'], prompts: false } };
    const report = await probeServer(settingsOf(entry, 'my-peer'), ports(t));
    t.match(report, { ok: true, era: 'legacy', milliseconds: Number });
    if (report.ok) {
      t.same(
        report.tools?.map(({ name }) => name),
        ['echo', 'add', 'list_resources', 'read_resource'].map((name) => `mcp__my_peer__${name}`),
      );
      t.equal(report.tools?.[0]?.description, 'Says the text again');
      t.equal(report.filtered, 8);
    }
    const pids = numbersIn(pidFile);
    t.equal(pids.length, 1);
    t.ok(pids.every(hasEnded));
  },
);

t.test('CLI-5 · LIF-7 · an unreachable server is reported in one line with its cure', async (t) => {
  const peer = await started(t);
  peer.set({ ...faults.forbidden });
  t.match(await probeServer(settingsOf({ url: peer.url }), ports(t)), {
    ok: false,
    error: /^mcp server "peer": .*403.*check headers$/,
  });
  t.match(await probeServer(settingsOf({ command: 'no-such-command-here' }), ports(t)), {
    ok: false,
    error:
      /command cannot be started: no-such-command-here \(ENOENT\); install it, or write its full path, since PATH may differ from that of your shell$/,
  });
});

t.test('CLI-5 · OBS-1 · of a long standard error whole lines are kept: half a line may be half a secret', async (t) => {
  const words = 'head -c 8200 /dev/zero | tr "\\0" x >&2; printf "\\nlast words\\n" >&2; exit 1';
  const report = await probeServer(settingsOf({ command: '/bin/sh', args: ['-c', words] }), ports(t));
  t.match(report, { ok: false });
  t.same(report.ok ? [] : report.stderr, ['last words']);
});

t.test(
  'CLI-5 · OAU-8 · what is logged in to is tried with its tokens, anything else says that it needs a login',
  async (t) => {
    const peer = await startProtectedServer(t, {
      authorizationServers: ['https://a.example'],
      accepts: (token) => token === 'good',
    });
    const settings = settingsOf({ url: peer.url, auth: 'oauth' }, 'hub');

    t.match(await probeServer(settings, ports(t)), {
      ok: false,
      needs_login: true,
      error: /^mcp server "hub": needs a login; run `agent mcp login hub --profile work`$/,
    });
    for (const transport of ['http', 'sse'])
      t.match(await probeServer(settingsOf({ url: peer.url, transport }, 'hub'), ports(t)), {
        ok: false,
        needs_login: undefined,
        error: /; it logs in by OAuth: set auth: oauth in its entry, then run `agent mcp login hub --profile work`$/,
      });

    const { credentials } = tokenStore(t);
    const issuer = 'https://a.example';
    await credentials.save('hub', {
      tokens: { accessToken: 'good', issuer, clientId: 'c', url: peer.url },
      server: { issuer, authorizationServerUrl: issuer, metadata: {} },
    });
    t.match(await probeServer(settings, ports(t, credentials)), { ok: true, era: 'legacy' });
  },
);
