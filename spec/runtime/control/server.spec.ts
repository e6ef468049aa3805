import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Fault } from '../../../machines/base/fault.ts';
import { connectControl } from '../../../runtime/control/client.ts';
import type { Command, CommandHost } from '../../../runtime/control/command.ts';
import { Refusal } from '../../../runtime/control/contract/refusal.ts';
import { createControlServer } from '../../../runtime/control/server.ts';
import type { DaemonView } from '../../../runtime/control/view.ts';
import { makeHome } from '../../support/home.ts';
import { lentTime } from '../../support/lent-time.ts';
import { until } from '../../support/processes.ts';

const only = process.platform === 'linux' ? {} : { skip: 'other systems refuse such a caller' };

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
  return { ...served, report: (record: string) => listener(record) };
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

t.test('CLI-3 · why a socket cannot be made is said with the cure', async (t) => {
  const home = makeHome(t);
  const folder = join(home.path, 'gateway.sock');
  mkdirSync(folder);
  const made = createControlServer({
    path: folder,
    host: { source: { home: home.path, env: {} } },
    log: { log: () => {}, warnOnce: () => {} },
    redact: (text) => text,
  });
  await t.rejects(made, { code: 'socket-refused', message: /a folder is in its place; move it away$/ });
});

t.test('CLI-3 · a socket that is removed is made again, and its connections stay', async (t) => {
  const home = makeHome(t);
  const path = join(home.path, 'gateway.sock');
  const lines: string[] = [];
  let look = (): void => {};
  const server = await createControlServer({
    path,
    host: { source: { home: home.path, env: {} }, daemon: { status: () => ({ pid: 1 }) } as never },
    every: (callback) => {
      look = callback;
      return () => {};
    },
    log: { log: (_, message) => void lines.push(message), warnOnce: () => {} },
    redact: (text) => text,
  });
  const before = await connectControl(path);
  look();
  t.same(lines, [], 'nothing is done while it is there');
  rmSync(path);
  look();
  await until(() => existsSync(path));
  const after = await connectControl(path);
  for (const client of [before, after]) t.same(await client?.call('gateway.status'), { pid: 1 });
  for (const client of [before, after]) client?.close();
  t.match(lines, [/gateway\.sock was removed; it is made again/]);
  await server.close();
  t.equal(existsSync(path), false);
});

/** A server whose home is held as the spec says; the time stands still. */
async function serveHeld(t: Test, hold: () => Promise<Fault | undefined>) {
  const time = lentTime(t);
  const home = makeHome(t);
  const path = join(home.path, 'gateway.sock');
  writeFileSync(path, "another gateway's");
  const lines: string[] = [];
  const server = await createControlServer({
    path,
    host: { source: { home: home.path, env: {} }, daemon: { status: () => ({ pid: 1 }) } as never },
    hold,
    log: { log: (level, message) => void lines.push(`${level} ${message}`), warnOnce: () => {} },
    redact: (text) => text,
  });
  t.teardown(() => server.close());
  return { time, path, lines, server };
}

t.test('DUR-3 · CLI-3 · on a full disk the socket is tried every five seconds, and the log says so once', async (t) => {
  let tries = 0;
  const { time, path, lines, server } = await serveHeld(t, async () => {
    tries += 1;
    if (tries === 1) return { code: 'home-unwritable', message: 'no space is left' };
    if (tries === 2) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    if (tries === 3) throw new Error('what was not foreseen');
    return undefined;
  });
  const refused = `error control: ${path}: the socket cannot be made: no space is left`;
  for (let known = 1; known < 4; known += 1) {
    t.same([tries, lines, readFileSync(path, 'utf8')], [known, [refused], "another gateway's"]);
    time.pass(4_999);
    await turn();
    t.equal(tries, known, 'not yet');
    time.pass(1);
    await turn();
  }
  await until(() => lines.length > 1);
  t.same(lines.slice(1), [`info control: listens at ${path}`]);
  const client = await connectControl(path);
  t.same(await client?.call('gateway.status'), { pid: 1 });
  client?.close();
  time.pass(60_000);
  await turn();
  t.equal(tries, 4, 'it is there');
  time.giveBack();
  await server.close();
  t.notOk(existsSync(path));
});

t.test('DUR-3 · CON-2 · a gateway that stops makes no socket any more, not even one that is under way', async (t) => {
  let tries = 0;
  let free = (): void => {};
  const { time, path, server } = await serveHeld(t, async () => {
    tries += 1;
    if (tries === 1) return { code: 'home-unwritable', message: 'no space is left' };
    await new Promise<void>((resolve) => {
      free = resolve;
    });
    return undefined;
  });
  time.pass(5_000);
  t.equal(tries, 2);
  server.stopListening();
  free();
  await server.close();
  time.pass(60_000);
  await turn();
  t.equal(tries, 2);
  t.equal(readFileSync(path, 'utf8'), "another gateway's", 'what it does not own it does not touch');
});

t.test('CLI-3 · answers go to those who asked, each by its number, in whatever order they come', async (t) => {
  const answers: ((value: object) => void)[] = [];
  const { client } = await serve(t, {
    replay: () => new Promise((resolve) => answers.push(resolve as (value: object) => void)),
    status: () => ({ pid: 1 }) as never,
  });
  const slow = client.call('webhook.replay', { id: 'a' });
  t.same(await client.call('gateway.status'), { pid: 1 }, 'one that waits holds nobody up');
  const other = client.call('webhook.replay', { id: 'b' });
  await until(() => answers.length === 2);
  answers[1]?.({ status: 2 });
  answers[0]?.({ status: 1 });
  t.same([await slow, await other], [{ status: 1 }, { status: 2 }]);
});

t.test('CLI-3 · a gateway that takes its time is waited for while it answers that it lives', async (t) => {
  const time = lentTime(t);
  const answers: ((outcome: never) => void)[] = [];
  const { path, client } = await serve(t, {
    replay: () => new Promise((resolve) => answers.push(resolve)),
    status: () => ({ pid: 1 }) as never,
  });
  const patient = await connectControl(path);
  t.teardown(() => patient?.close());
  const replayed = patient?.call('webhook.replay', { id: 'a' });
  await until(() => answers.length === 1);
  for (let looks = 0; looks < 6; looks += 1) {
    time.pass(10_000);
    // In these turns of the loop that it shares with the gateway, it hears from that.
    for (let turns = 0; turns < 5; turns += 1) await client.call('gateway.status');
  }
  answers[0]?.({ status: 1, body: '', key: 'k' } as never);
  t.match(await replayed, { status: 1 });
});

t.test('CLI-3 · a gateway that hangs is reported', async (t) => {
  const home = makeHome(t);
  const mute = createServer(() => {}).listen(join(home.path, 'mute.sock'));
  t.teardown(() => mute.close());
  await once(mute, 'listening');
  const lost = await connectControl(join(home.path, 'mute.sock'), { greetMs: 40 });
  await t.rejects(async () => lost?.call('gateway.status'), {
    message: /does not answer; `agent doctor` names its process/,
    isHung: true,
  });
  await lost?.closed;
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  lost?.close();
  t.equal(timers(), before, 'a command whose gateway has ended ends with it');
});

t.test('CLI-3 · a gateway that is held up for a moment, and answers late, has not hung', async (t) => {
  const time = lentTime(t);
  const path = join(makeHome(t).path, 'slow.sock');
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket.on('data', (bytes) => {
      for (const line of String(bytes).trim().split('\n')) {
        asked.push((JSON.parse(line) as { readonly method: string }).method);
        // It reads both at once, when it is held up no longer.
        if (asked.length === 2) socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, result: 'late' })}\n`);
      }
    });
  }).listen(path);
  t.teardown(() => server.close());
  await once(server, 'listening');
  const client = await connectControl(path, { greetMs: 1_000 });
  const answer = client?.call('gateway.status');
  await until(() => asked.length === 1);
  time.pass(500);
  t.equal(await answer, 'late');
  t.strictSame(asked, ['gateway.status', 'alive']);
  client?.close();
});

t.test('CLI-3 · a gateway without room for one more caller is not taken for one that has ended', only, async (t) => {
  const path = join(makeHome(t).path, 'full.sock');
  const server = createServer(() => {}).listen({ path, backlog: 1 });
  t.teardown(() => server.close());
  await once(server, 'listening');
  // All at once, before this process can accept any.
  const outcomes = async (greetMs: number): Promise<readonly (string | undefined)[]> =>
    Promise.all(
      Array.from({ length: 8 }, () =>
        connectControl(path, { greetMs }).then(
          (client) => {
            client?.close();
            return client === undefined ? undefined : 'connected';
          },
          ({ message }: Error) => message,
        ),
      ),
    );
  t.same(new Set(await outcomes(5_000)), new Set(['connected']));
  t.same(
    new Set(await outcomes(0)),
    new Set(['connected', 'the gateway does not answer; `agent doctor` names its process']),
  );
});

t.test('CLI-3 · OBS-1 · a refusal keeps its code, and no error its secrets', async (t) => {
  const { client, home } = await serve(t, {
    tree: () => {
      const full = { code: 'ENOSPC', syscall: 'write', path: `${home.path}/config.yaml` };
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), full);
    },
    reload: () => Promise.reject(new Refusal('reload-refused', 'it has findings')),
    status: () => {
      throw new Error('broke over hunter2');
    },
  });
  await t.rejects(client.call('gateway.reload'), { code: 'reload-refused', message: 'it has findings' });
  await t.rejects(client.call('gateway.status'), { message: 'broke over [redacted]' });
  await t.rejects(client.call('inspect.tree'), { code: 'home-unwritable', message: /^home .*room on its disk/ });
  await t.rejects(client.call('no.such'), {
    message:
      /no method "no\.such"; the gateway is of another version .*`agent gateway stop`, then .*`agent gateway` or its service$/,
  });
  await t.rejects(client.call('webhook.delivery'), { code: 'params-missing' });
});

t.test('CLI-3 · a request that is too long is refused with the limit', async (t) => {
  const { client, path } = await serve(t, { status: () => ({ pid: 1 }) as never });
  const message = 'the request has more than 8 MiB; send a shorter text';
  await t.rejects(client.call('webhook.replay', { id: 'a', payload: 'x'.repeat(9 * 1_048_576) }), { message });
  t.match(await client.call('gateway.status'), { pid: 1 }, 'the command sends none, so its connection stays');

  const socket = connect(path).on('error', () => {});
  let said = '';
  socket.on('data', (bytes) => {
    said += String(bytes);
  });
  socket.write('x'.repeat(9 * 1_048_576));
  await new Promise((resolve) => socket.once('close', resolve));
  t.ok(said.includes(message), 'another client is refused, and its connection ends');
});

t.test('CLI-3 · SEC-4 · a connection is not read while its unanswered requests fill four of the longest', async (t) => {
  const waiting: (() => void)[] = [];
  const hold = new Promise<void>((resolve) => waiting.push(resolve));
  let begun = 0;
  const { path, client } = await serve(t, {
    reload: () => {
      begun += 1;
      return hold;
    },
    status: () => ({ pid: 1 }) as never,
  });
  const socket = connect(path);
  t.teardown(() => socket.destroy());
  const request = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'gateway.reload', params: { x: 'x'.repeat(7_000_000) } })}\n`;
  let answers = 0;
  socket.on('data', (bytes) => {
    answers += bytes.toString().split('\n').length - 1;
  });
  for (let n = 0; n < 7; n += 1) socket.write(request);
  await until(() => begun === 5);
  for (let n = 0; n < 50; n += 1) await client.call('gateway.status');
  t.equal(begun, 5, 'others are answered meanwhile');

  for (const release of waiting) release();

  await until(() => answers === 7);
  t.equal(begun, 7);
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

t.test('CLI-3 · a command that asks late whether its client is there learns that it has left', async (t) => {
  const { path } = makeHome(t);
  const socket = join(path, 'gateway.sock');
  const heard: string[] = [];
  const run: Command = async (_host, _params, peer) => {
    await new Promise<void>((resolve) => peer.onEnd(resolve));
    peer.onEnd(() => heard.push('late'));
    heard.push('asked');
  };
  const server = await createControlServer({
    path: socket,
    host: { source: { home: path, env: {} }, commandOf: () => run },
    log: { log: () => {}, warnOnce: () => {} },
    redact: (text) => text,
  });
  t.teardown(() => server.close());
  const client = await connectControl(socket);
  void client?.call('mcp.test').catch(() => {});
  client?.close();
  await until(() => heard.includes('asked'));
  t.same(heard, ['late', 'asked']);
});

t.test('CLI-3 · INS-2 · the last words before the socket closes are said', async (t) => {
  const { client, server, report } = await serveFollower(t);
  const heard: unknown[] = [];
  client.onNotification((_, params) => void heard.push(params));
  await client.call('inspect.follow');
  report(JSON.stringify({ n: 'last' }));

  await server.close();

  await client.closed;
  t.same(heard, [{ n: 'last' }]);
});

t.test('CLI-3 · a reader that does not read is cut off, with one line', async (t) => {
  const { path, lines, report } = await serveFollower(t);
  const socket = connect(path);
  await new Promise((resolve) => socket.once('connect', resolve));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.once('data', () => socket.pause());
  socket.write('{"jsonrpc":"2.0","id":1,"method":"inspect.follow"}\n');
  const record = JSON.stringify({ text: 'x'.repeat(100_000) });
  await until(() => {
    report(record);
    return lines.length > 0;
  });
  t.same(lines, ['control: a reader is too slow and was cut off']);
  socket.resume();
  await closed;
});

/** A connection that asks and reads when the spec lets it. */
async function rawReader(path: string) {
  const socket = connect(path).on('error', () => {});
  await new Promise((resolve) => socket.once('connect', resolve));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  return {
    socket,
    closed,
    ask: (id: number) => socket.write(`{"jsonrpc":"2.0","id":${id},"method":"gateway.status"}\n`),
  };
}

t.test('LIF-13 · CLI-3 · an answer of any size arrives whole, however late it is read', async (t) => {
  const time = lentTime(t);
  const text = '\u0001'.repeat(4_000_000);
  let asked = false;
  const { path, lines } = await serve(t, {
    status: () => {
      asked = true;
      return { text } as never;
    },
  });
  const { socket, ask } = await rawReader(path);
  ask(1);
  await until(() => asked);
  time.pass(20_000);
  let size = 0;
  let last = '';
  socket.on('data', (chunk) => {
    // Each piece that is taken grants further time.
    time.pass(1_000);
    size += chunk.length;
    last = chunk.toString('latin1').slice(-1);
  });
  await until(() => last === '\n');
  t.equal(size, 4_000_000 * 6 + JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text: '' } }).length + 1);
  t.same(lines, [], 'it was not cut off');
  socket.destroy();
});

t.test('LIF-13 · CLI-3 · a reader that takes nothing is cut off, and its answers are not held as text', async (t) => {
  const time = lentTime(t);
  let asked = 0;
  let serialized = 0;
  const { path, lines, client } = await serve(t, {
    status: () => {
      asked += 1;
      return {
        toJSON: () => {
          serialized += 1;
          return 'x'.repeat(5_000_000);
        },
      } as never;
    },
  });
  const { socket, closed, ask } = await rawReader(path);
  for (let id = 1; id <= 500; id += 1) ask(id);
  await until(() => asked > 0 && serialized > 0);
  for (let id = 1; id <= 20_000; id += 1) ask(id);
  for (let n = 0; n < 100; n += 1) await client.call('none').catch(() => {});
  t.ok(asked <= 32, `${asked} are begun of 20,500, since their answers would wait too`);
  time.pass(30_000);
  await until(() => lines.length > 0);
  t.same(lines, ['control: a reader took nothing for 30 s and was cut off']);
  t.equal(serialized, 1, 'the next answer is serialized when the one before it is taken');
  socket.resume();
  await closed;
});

t.test('LIF-13 · CLI-3 · a stream that its reader cannot follow never costs an answer', async (t) => {
  const size = 5_000_000;
  let report: (record: string) => void = () => {};
  let asked = false;
  const { path, lines } = await serve(t, {
    status: () => {
      asked = true;
      return { text: 'x'.repeat(size) } as never;
    },
    tree: () => ({ id: 'supervisor' }) as never,
    follow: (_query, given) => {
      report = given;
      return () => {};
    },
  });
  const { socket, closed, ask } = await rawReader(path);
  socket.write('{"jsonrpc":"2.0","id":0,"method":"inspect.follow"}\n');
  ask(1);
  await until(() => asked);
  for (let n = 0; n < 100; n += 1) report(JSON.stringify({ text: 'y'.repeat(100_000) }));
  let heard = '';
  socket.on('data', (chunk) => {
    heard += chunk.toString('latin1');
  });
  await closed;
  t.ok(heard.includes('x'.repeat(size)), 'the answer arrived');
  t.same(lines, ['control: a reader is too slow and was cut off']);
});

t.test('CLI-3 · CON-2 · one that listens no more answers who is there until it hangs up', async (t) => {
  const { client, server, path } = await serve(t, { status: () => ({ pid: 1 }) as never });
  await client.call('gateway.status');

  server.stopListening();

  t.equal(await connectControl(path), undefined, 'nobody else comes in');
  t.same(await client.call('gateway.status'), { pid: 1 });
  await server.close();
  await client.closed;
});

t.test('CLI-3 · CON-2 · a reader that stands still keeps no daemon from ending', async (t) => {
  const { path, server, report } = await serveFollower(t);
  const socket = connect(path);
  await new Promise((resolve) => socket.once('connect', resolve));
  const follows = new Promise((resolve) => socket.once('data', resolve));
  socket.write('{"jsonrpc":"2.0","id":1,"method":"inspect.follow"}\n');
  await follows;
  socket.pause();
  for (let n = 0; n < 20; n += 1) report(JSON.stringify({ text: 'x'.repeat(100_000) }));

  await server.close();

  socket.destroy();
});

t.test('CLI-3 · a waiting call fails when the daemon goes', async (t) => {
  const { client, server } = await serve(t, { reload: () => new Promise(() => {}) });
  const waiting = client.call('gateway.reload');
  const refused = t.rejects(waiting, { code: 'gateway-gone' });
  await server.close();
  await refused;
  await client.closed;
});
