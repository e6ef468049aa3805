import t from 'tap';
import { createActor, fromCallback, toPromise } from 'xstate';
import { wireServers } from '../../../runtime/mcp/servers-wiring.ts';
import { deferred, turn } from '../../support/turns.ts';

const idle = fromCallback(() => {});

t.test('OAU-8 · LIF-9 · the files are closed after the last login has stored its tokens', async (t) => {
  const done: string[] = [];
  const stored = deferred<void>();
  const chart = wireServers({
    pools: {
      ...{ connections: idle, calls: idle, approvals: idle, serverRequests: idle, chats: idle },
      ...{ browserLogins: idle, deviceLogins: idle },
    },
    ward: () => t.fail('no connection is wanted') as never,
    reconcile: { retireAll: async () => void done.push('sessions') } as never,
    live: { stop: () => void done.push('calls') },
    logins: { stop: () => stored.promise.then(() => void done.push('logins')) },
    closeFiles: async () => void done.push('files'),
    log: { log: () => {}, warnOnce: () => {} },
  });
  const actor = createActor(chart).start();
  actor.send({ type: 'servers.stop' });
  await turn();
  t.same(done, ['calls', 'sessions']);
  stored.resolve();
  await toPromise(actor);
  t.same(done, ['calls', 'sessions', 'logins', 'files']);
});
