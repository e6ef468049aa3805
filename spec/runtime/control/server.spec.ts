import { statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { connectControl } from '../../../runtime/control/client.ts';
import type { CommandHost } from '../../../runtime/control/commands.ts';
import { Refusal } from '../../../runtime/control/refusal.ts';
import { createControlServer } from '../../../runtime/control/server.ts';
import type { DaemonView } from '../../../runtime/control/view.ts';
import { makeHome } from '../../support/home.ts';
import { until } from '../../support/processes.ts';

async function serve(t: Test, daemon: Partial<DaemonView>) {
  const home = makeHome(t);
  const path = join(home.path, 'deep', 'gateway.sock');
  const lines: string[] = [];
  const host: CommandHost = { source: { home: home.path, env: {} }, daemon: daemon as DaemonView };
  const server = await createControlServer({
    path,
    host,
    log: { log: (_, message) => void lines.push(message), warnOnce: () => {} },
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
  });
  t.teardown(() => server.close());
  const client = await connectControl(path);
  if (client === undefined) throw new Error('nobody listens');
  t.teardown(() => client.close());
  return { home, path, server, client, lines };
}

/** A server whose one follower is told what the spec says. */
async function serveFollower(t: Test) {
  let listener: (record: string) => void = () => {};
  const served = await serve(t, {
    tree: () => ({ id: 'supervisor' }) as never,
    follow: (_query, given) => {
      listener = given;
      return () => {};
    },
  });
  return { ...served, tell: (record: string) => listener(record) };
}

t.test('CLI-3 · the socket and its folder are private, whatever lay there', async (t) => {
  const home = makeHome(t);
  const path = join(home.path, 'gateway.sock');
  writeFileSync(path, 'left by a dead daemon', { mode: 0o666 });
  const before = process.umask(0);
  const server = await createControlServer({
    path,
    host: { source: { home: home.path, env: {} } },
    log: { log: () => {}, warnOnce: () => {} },
    redact: (text) => text,
  });
  t.equal(process.umask(before), 0, 'the umask is as it was');
  const { mode } = statSync(path);
  t.same([statSync(path).isSocket(), mode & 0o777, statSync(home.path).mode & 0o777], [true, 0o600, 0o700]);
  await server.close();
  t.equal(await connectControl(path), undefined, 'nothing is left of it');
});

t.test('CLI-3 · answers go to those who asked, each by its number, in whatever order they come', async (t) => {
  const answers: ((value: object) => void)[] = [];
  const { client } = await serve(t, {
    replay: () => new Promise((resolve) => answers.push(resolve as (value: object) => void)),
    status: () => ({ pid: 1 }),
  });
  const slow = client.call('webhook.replay', { id: 'a' });
  t.same(await client.call('gateway.status'), { pid: 1 }, 'one that waits holds nobody up');
  const other = client.call('webhook.replay', { id: 'b' });
  await until(() => answers.length === 2);
  answers[1]?.({ status: 2 });
  answers[0]?.({ status: 1 });
  t.same([await slow, await other], [{ status: 1 }, { status: 2 }]);
});

t.test('CLI-3 · OBS-1 · a refusal keeps its code, and no error its secrets', async (t) => {
  const { client } = await serve(t, {
    reload: () => Promise.reject(new Refusal('reload-refused', 'it has findings')),
    status: () => {
      throw new Error('broke over hunter2');
    },
  });
  await t.rejects(client.call('gateway.reload'), { code: 'reload-refused', message: 'it has findings' });
  await t.rejects(client.call('gateway.status'), { message: 'broke over [redacted]' });
  await t.rejects(client.call('no.such'), { message: /no method "no\.such"/ });
  await t.rejects(client.call('webhook.delivery'), { code: 'params-missing' });
});

t.test('CLI-3 · INS-1 · a subscription streams until its reader leaves', async (t) => {
  const listeners = new Set<(record: string) => void>();
  const { client } = await serve(t, {
    tree: () => ({ id: 'supervisor' }) as never,
    follow: (_query, listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  });
  const heard: unknown[] = [];
  client.onNotification((method, params) => void heard.push([method, params]));
  const snapshot = await client.call('inspect.follow');
  t.ok(snapshot !== null, 'a snapshot first');
  for (const n of [1, 2]) for (const listener of listeners) listener(JSON.stringify({ n }));
  await until(() => heard.length === 2);
  t.same(heard, [
    ['inspect.record', { n: 1 }],
    ['inspect.record', { n: 2 }],
  ]);
  client.close();
  await until(() => listeners.size === 0);
  t.equal(listeners.size, 0);
});

t.test('CLI-3 · INS-2 · the last words before the socket closes are said', async (t) => {
  const { client, server, tell } = await serveFollower(t);
  const heard: unknown[] = [];
  client.onNotification((_, params) => void heard.push(params));
  await client.call('inspect.follow');
  tell(JSON.stringify({ n: 'last' }));

  await server.close();

  await client.closed;
  t.same(heard, [{ n: 'last' }]);
});

t.test('CLI-3 · a reader that does not read is cut off, with one line', async (t) => {
  const { path, lines, tell } = await serveFollower(t);
  const socket = connect(path);
  await new Promise((resolve) => socket.once('connect', resolve));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.once('data', () => socket.pause());
  socket.write('{"jsonrpc":"2.0","id":1,"method":"inspect.follow"}\n');
  const record = JSON.stringify({ text: 'x'.repeat(100_000) });
  await until(() => {
    tell(record);
    return lines.length > 0;
  });
  t.same(lines, ['control: a reader is too slow and was cut off']);
  socket.resume();
  await closed;
});

t.test('CLI-3 · CON-2 · one that listens no more answers who is there until it hangs up', async (t) => {
  const { client, server, path } = await serve(t, { status: () => ({ pid: 1 }) });
  await client.call('gateway.status');

  server.stopListening();

  t.equal(await connectControl(path), undefined, 'nobody else comes in');
  t.same(await client.call('gateway.status'), { pid: 1 });
  await server.close();
  await client.closed;
});

t.test('CLI-3 · CON-2 · a reader that stands still keeps no daemon from ending', async (t) => {
  const { path, server, tell } = await serveFollower(t);
  const socket = connect(path);
  await new Promise((resolve) => socket.once('connect', resolve));
  const follows = new Promise((resolve) => socket.once('data', resolve));
  socket.write('{"jsonrpc":"2.0","id":1,"method":"inspect.follow"}\n');
  await follows;
  socket.pause();
  for (let n = 0; n < 20; n += 1) tell(JSON.stringify({ text: 'x'.repeat(100_000) }));

  await server.close();

  socket.destroy();
});

t.test('CLI-3 · who waits when the daemon goes is told so', async (t) => {
  const { client, server } = await serve(t, { reload: () => new Promise(() => {}) });
  const waiting = client.call('gateway.reload');
  const refused = t.rejects(waiting, { code: 'gateway-gone' });
  await server.close();
  await refused;
  await client.closed;
});
