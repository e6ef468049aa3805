import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { pausesOf } from '../../cli/follow.ts';
import type { ControlClient } from '../../runtime/control/client.ts';
import { createControlServer } from '../../runtime/control/server.ts';
import type { DaemonView } from '../../runtime/control/view.ts';
import { askCli, main } from '../support/daemon.ts';
import { fakeGateway } from '../support/fake-gateway.ts';
import { makeHome } from '../support/home.ts';

/** A home whose socket is served by the spec, and who follows there. */
async function followed(t: Test, words: readonly string[]) {
  const { path } = makeHome(t);
  let arrived = (): void => {};
  const asked = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const begin = (): (() => void) => {
    arrived();
    return () => {};
  };
  const daemon = {
    tree: () => ({}),
    follow: begin,
    mcp: { onAsked: () => () => {}, onAnswered: begin, approvals: () => [] },
  } as unknown as DaemonView;
  const server = await createControlServer({
    path: `${path}/gateway.sock`,
    host: { source: { home: path, env: {} }, daemon },
    log: { log: () => {}, warnOnce: () => {} },
    redact: (text) => text,
  });
  t.teardown(() => server.close());
  const child = spawn(process.execPath, [main, ...words], { env: { ...process.env, AGENT_HOME: path } });
  t.teardown(() => child.kill('SIGKILL'));
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += String(chunk);
  });
  const closed = once(child, 'close');
  await asked;
  return { server, child, ended: async () => ({ code: (await closed)[0] as number, errors }) };
}

t.test(
  'CLI-6 · a command that follows leaves nothing behind at each turn, and its pause ends with the gateway',
  async (t) => {
    let end = (): void => {};
    let reads = 0;
    const closed = new Promise<void>((resolve) => {
      end = resolve;
    });
    const client = {
      get closed() {
        reads += 1;
        return closed;
      },
    };
    const pause = pausesOf(client as unknown as ControlClient);
    for (let turn = 0; turn < 3; turn += 1) await pause(1);
    t.equal(reads, 1, 'a reaction in it lasts as long as the gateway');
    const last = pause(2_147_483_647);
    end();
    await last;
  },
);

for (const words of [
  ['inspect', 'follow', '--json'],
  ['approvals', '--follow', '--json'],
]) {
  t.test(`CLI-2 · agent ${words.join(' ')} ends with 3 and a word where its gateway does`, async (t) => {
    const { server, ended } = await followed(t, words);
    await server.close();
    t.match(await ended(), { code: 3, errors: /is not running; start it with `agent gateway`/ });
  });

  t.test(`CLI-6 · agent ${words.join(' ')} says Cancelled and ends with 130 where the user ends it`, async (t) => {
    const { child, ended } = await followed(t, words);
    child.kill('SIGINT');
    t.same(await ended(), { code: 130, errors: 'Cancelled.\n' });
  });
}

t.test('INS-2 · CLI-6 · who reads the stream too slowly is connected again, and says what is missing', async (t) => {
  const { path } = makeHome(t);
  const server = await fakeGateway(t, path, ({ id }, { number, say, socket }) => {
    // The second connection is the last one.
    if (number === 2) server.close();
    say({ id, result: { snapshot: null } });
    const record = { at: '2026-01-01T00:00:00.000Z', actor: `actors/${number}`, machine: 'm' };
    say({ method: 'inspect.record', params: record });
    socket.end();
  });
  const { code, stdout, stderr } = await askCli(['inspect', 'follow', '--json'], path);
  t.equal(code, 3);
  t.match(stdout, /"actors\/1"[^\n]*\n[^\n]*"actors\/2"[^\n]*\n$/);
  t.match(stderr, /^agent: the records were read too slowly, and some are missing here\nagent: .*is not running/);
});
