import t from 'tap';
import { createActor, fromCallback, toPromise } from 'xstate';
import { wireServers } from '../../../runtime/mcp/servers-wiring.ts';
import { deferred, turn } from '../../support/turns.ts';

/** The chart over fakes, each of which notes that it was asked. */
function chartOver(note: (what: string) => void, stored = Promise.resolve()) {
  const pool = (name: string) => fromCallback(() => note(name));
  return wireServers({
    pools: {
      connections: pool('connections'),
      calls: pool('calls'),
      approvals: pool('approvals'),
      serverRequests: pool('serverRequests'),
      chats: pool('chats'),
      browserLogins: pool('browserLogins'),
      deviceLogins: pool('deviceLogins'),
    },
    reconcile: { run: () => note('read'), retireAll: async () => note('sessions') } as never,
    live: { stop: () => note('stopped calls') },
    logins: { stop: () => stored.then(() => note('logins')) },
    closeFiles: async () => note('files'),
    log: { log: () => {}, warnOnce: () => {} },
  }).provide({ actions: { reportReconciled: () => {} } });
}

t.test('LIF-1 · CLI-3 · who asks as soon as the control socket is open finds the servers', (t) => {
  const done: string[] = [];
  createActor(chartOver((what) => done.push(what))).start();
  t.equal(done.length, 8);
  t.equal(done.at(-1), 'read', 'in the turn of the start, and once the pools have started');
  t.end();
});

t.test('OAU-8 · LIF-9 · the files are closed after the last login has stored its tokens', async (t) => {
  const done: string[] = [];
  const stored = deferred<void>();
  const chart = chartOver((what) => done.push(what), stored.promise);
  const actor = createActor(chart).start();
  done.length = 0;
  actor.send({ type: 'servers.stop' });
  await turn();
  t.same(done, ['stopped calls', 'sessions']);
  stored.resolve();
  await toPromise(actor);
  t.same(done, ['stopped calls', 'sessions', 'logins', 'files']);
});
