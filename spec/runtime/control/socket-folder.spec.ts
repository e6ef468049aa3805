import { chmodSync, chownSync, existsSync, mkdirSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import t, { type Test } from 'tap';
import { homePaths } from '../../../machines/config/profile.ts';
import { connectControl } from '../../../runtime/control/client.ts';
import { createControlServer } from '../../../runtime/control/server.ts';
import { demandOwnFolder } from '../../../runtime/control/socket-folder.ts';
import { makeHome } from '../../support/home.ts';

/** A socket whose home is too long for it, under a temporary folder of the spec's. */
function deep(t: Test) {
  const { path } = makeHome(t);
  const { socket } = homePaths(`${path}/${'deep/'.repeat(30)}home`, path);
  return { path, socket, folder: dirname(socket) };
}

const refused = { code: 'socket-foreign', message: /: the home is too long .* have it removed, or set AGENT_HOME/ };

t.test('CLI-3 · a folder beside the home is used where it is this user alone who may write in it', async (t) => {
  const { socket, folder } = deep(t);
  demandOwnFolder(socket);
  mkdirSync(folder, { mode: 0o700 });
  demandOwnFolder(socket);
  chmodSync(folder, 0o777);
  t.throws(() => demandOwnFolder(socket), { ...refused, message: /may be written by other users/ });
  demandOwnFolder(`${folder}/other/gateway.sock`);
});

t.test('CLI-3 · a link, a file or another user’s folder is reported and not used', async (t) => {
  const { socket, folder, path } = deep(t);
  mkdirSync(`${path}/elsewhere`);
  symlinkSync(`${path}/elsewhere`, folder);
  t.throws(() => demandOwnFolder(socket), { ...refused, message: /is no folder/ });
  const other = deep(t);
  writeFileSync(other.folder, '');
  t.throws(() => demandOwnFolder(other.socket), { ...refused, message: /is no folder/ });
});

t.test(
  'CLI-3 · neither the gateway nor the CLI speaks where another user owns the folder',
  { skip: process.getuid?.() === 0 ? false : 'only root can make a folder another user' },
  async (t) => {
    const { socket, folder } = deep(t);
    mkdirSync(folder, { mode: 0o700 });
    chownSync(folder, 54_321, 54_321);
    await t.rejects(connectControl(socket), { ...refused, message: /belongs to another user \(id 54321\)/ });
    await t.rejects(
      createControlServer({
        path: socket,
        host: { source: { home: folder, env: {} } },
        log: { log: () => {}, warnOnce: () => {} },
        redact: (text) => text,
      }),
      refused,
    );
    rmdirSync(folder);
  },
);

t.test('CLI-3 · the folder beside the home goes with the gateway', async (t) => {
  const { socket, folder } = deep(t);
  const server = await createControlServer({
    path: socket,
    host: { source: { home: folder, env: {} } },
    log: { log: () => {}, warnOnce: () => {} },
    redact: (text) => text,
  });
  const client = await connectControl(socket);
  t.ok(client);
  client?.close();
  await server.close();
  t.notOk(existsSync(folder));
  await t.rejects(async () => void (await client?.call('gateway.status')), { code: 'gateway-gone' });
});
