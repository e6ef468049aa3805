import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import t, { type Test } from 'tap';
import { writeRunFiles } from '../../../actors/agent/run-files.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { ProfileName } from '../../../machines/base/names.ts';
import { socketIn } from '../../../machines/config/profile.ts';
import { connectControl } from '../../../runtime/control/client.ts';
import { openRunSocket } from '../../../runtime/control/run-socket.ts';
import { makeHome } from '../../support/home.ts';

const bounds = { runId: 'r1', profile: 'work', toolsets: [] };

function open(t: Test, path: string) {
  return openRunSocket(path, bounds, {
    host: { source: { home: dirname(path), env: {} } },
    log: { log: (_, message) => t.fail(message), warnOnce: () => {} },
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
  });
}

t.test('SEC-4 · CLI-3 · the socket of a run is private, refuses what is not for runs, and ends with it', async (t) => {
  const home = makeHome(t);
  const path = socketIn(home.path, 'agent.sock');
  const before = process.umask(0);
  t.teardown(() => process.umask(before));
  const closing = await Promise.all([open(t, path), open(t, `${home.path}/other.sock`)]);
  t.equal(process.umask(0), 0, 'sockets that are made at once leave the umask as it was');
  t.equal(statSync(path).mode & 0o777, 0o600);
  const client = await connectControl(path);
  const ask = async (method: string, params: JsonObject = {}) => void (await client?.call(method, params));
  await t.rejects(ask('gateway.stop'), { code: 'run-refused' });
  await t.rejects(ask('runs.show', { id: 'hunter2' }), { message: /"\[redacted\]"/ });
  await t.rejects(ask('no.such'), { message: /no method "no\.such"/ });

  for (const close of closing) close();

  await client?.closed;
  t.notOk(existsSync(path));
  t.equal(await connectControl(path), undefined);
});

t.test(
  'SEC-4 · HOME-3 · the files and sockets of runs that begin at once are private, each in its folder',
  async (t) => {
    const home = makeHome(t);
    const before = process.umask(0);
    t.teardown(() => process.umask(before));
    const settings = {
      folder: `${home.path}/state/runs`,
      program: ['node', 'main.js'] as const,
      openSocket: (path: string) => open(t, path),
    };
    const run = { ...bounds, profile: 'work' as ProfileName, prompt: 'Do it' };
    // A mode that is set for the whole process shows in what another run makes at that time.
    const setsOfUmask: unknown[] = [];
    const { umask } = process;
    process.umask = ((mask?: number) => {
      if (mask !== undefined) setsOfUmask.push(mask);
      return mask === undefined ? umask() : umask(mask);
    }) as typeof process.umask;
    t.teardown(() => {
      process.umask = umask;
    });
    const counts = new Map<string, number>();
    // In lanes, so that the folder of one run is made while the socket of another is.
    const lane = async (): Promise<void> => {
      for (let n = 0; n < 50; n += 1) {
        const { prompt, mcpConfig, socket, remove } = await writeRunFiles(settings, run);
        const modes = [dirname(prompt), prompt, mcpConfig, socket].map((path) =>
          (statSync(path).mode & 0o777).toString(8),
        );
        counts.set(modes.join(), (counts.get(modes.join()) ?? 0) + 1);
        await remove();
      }
    };
    await Promise.all(Array.from({ length: 20 }, lane));
    t.same(Object.fromEntries(counts), { '700,600,600,600': 1000 });
    t.same(setsOfUmask, []);
  },
);

t.test(
  'SEC-4 · HOME-3 · in a deep home it has a private folder of its own, and none that others may write',
  async (t) => {
    const home = makeHome(t);
    const path = socketIn(`${home.path}/${'deep/'.repeat(30)}`, 'agent.sock', home.path);
    const close = await open(t, path);
    t.equal(statSync(dirname(path)).mode & 0o777, 0o700);
    close();
    t.notOk(existsSync(dirname(path)));
    mkdirSync(dirname(path));
    chmodSync(dirname(path), 0o777);
    await t.rejects(open(t, path), { code: 'socket-foreign' });
  },
);
