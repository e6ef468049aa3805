/** The peers over stdio behave, and misbehave, as their arguments say. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import t, { type Test } from 'tap';
import { makeHome } from '../home.ts';
import { lentTime } from '../lent-time.ts';
import { hasEnded, numbersIn, until } from '../processes.ts';
import { invisibleWords, leakedToken } from './odd-tools.ts';
import { caught, connectedBy, textOf } from './plain-client.ts';
import { stdioPeer } from './stdio-peer.ts';

type Behaviour = Parameters<typeof stdioPeer>[0];

interface Wire {
  readonly transport: StdioClientTransport;
  readonly stderr: () => string;
}

function wire(behaviour?: Behaviour, options?: Parameters<typeof stdioPeer>[1]): Wire {
  const { command, args } = stdioPeer(behaviour, options);
  const transport = new StdioClientTransport({ command, args: [...args], stderr: 'pipe' });
  let text = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return { transport, stderr: () => text };
}

function started(t: Test, behaviour: Behaviour): ChildProcess {
  const { command, args } = stdioPeer(behaviour);
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

for (const behaviour of ['legacy', 'modern', 'rubbish', 'chatty'] as const) {
  t.test(`${behaviour} serves`, async (t) => {
    const { transport, stderr } = wire(behaviour);
    const client = await connectedBy(t, transport, { era: behaviour === 'modern' ? 'modern' : 'legacy' });

    const { tools } = await client.listTools();
    const sum = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });

    t.equal(tools.length, 10);
    t.same(sum.structuredContent, { sum: 3 });
    t.same(JSON.parse(await textOf(client, 'ask')), { action: 'accept', content: { name: 'Ada' } });
    t.equal(client.getProtocolEra(), behaviour === 'modern' ? 'modern' : 'legacy');
    if (behaviour === 'chatty') await until(() => stderr().length > 1_000_000);
  });
}

t.test('rubbish prints lines that are no JSON', async (t) => {
  const child = started(t, 'rubbish');
  const [first] = (await new Promise((resolve) =>
    child.stdout?.once('data', (data) => resolve(String(data))),
  )) as string;
  t.equal(first, 'W');
});

t.test('modern refuses the handshake', async (t) => {
  t.match(await caught(connectedBy(t, wire('modern').transport)), { code: -32022 });
});

const unconnectable = [
  { behaviour: 'silent', error: { code: 'REQUEST_TIMEOUT' }, says: '' },
  { behaviour: 'flood', error: { code: 'REQUEST_TIMEOUT' }, says: '' },
  { behaviour: 'exit', error: { code: 'CONNECTION_CLOSED' }, says: 'no licence found' },
] as const;
for (const { behaviour, error, says } of unconnectable) {
  t.test(`${behaviour} cannot be connected to`, async (t) => {
    const pidFile = join(makeHome(t).path, 'pids');
    const { transport, stderr } = wire(behaviour, { pidFile });
    const time = lentTime(t);
    const outcome = caught(connectedBy(t, transport));
    await until(() => numbersIn(pidFile).length > 0);
    if (says === '') time.pass(600_000);
    t.match(await outcome, error);
    await until(() => stderr().includes(says));
    // Its client waits to be allowed to, in a time that does not pass.
    for (const pid of numbersIn(pidFile)) if (!hasEnded(pid)) process.kill(pid, 'SIGKILL');
  });
}

t.test('exit ends with the code told; a word it does not know, with 2', async (t) => {
  const codes = (['exit=7', 'nonsense' as 'legacy'] as const).map(
    (word) => new Promise((resolve) => started(t, [word]).once('exit', resolve)),
  );
  t.same(await Promise.all(codes), [7, 2]);
});

t.test('slow-start answers no sooner than told', async (t) => {
  const before = performance.now();
  await connectedBy(t, wire(['slow-start=300']).transport);
  t.ok(performance.now() - before >= 300);
});

t.test('die-on-call dies of a call that has counted, in each process again', async (t) => {
  const home = makeHome(t);
  const counter = join(home.path, 'calls');
  const pidFile = join(home.path, 'pids');
  for (const _ of [1, 2]) {
    const client = await connectedBy(t, wire('die-on-call', { counter, pidFile }).transport);
    t.match(await caught(client.callTool({ name: 'write_note', arguments: { text: '' } })), {
      code: 'CONNECTION_CLOSED',
    });
  }
  t.equal(readFileSync(counter, 'utf8'), 'write_note\nwrite_note\n');
  t.equal(new Set(numbersIn(pidFile)).size, 2);
});

for (const behaviour of ['die-after-list', 'die-idle'] as const) {
  t.test(`${behaviour} answers, and then is gone`, async (t) => {
    const client = await connectedBy(t, wire([behaviour]).transport);
    const closed = new Promise<void>((resolve) => {
      client.onclose = resolve;
    });
    t.equal((await client.listTools()).tools.length, 10);
    await closed;
  });
}

t.test('flap gives up at every other start', async (t) => {
  const pidFile = join(makeHome(t).path, 'pids');
  const connects: boolean[] = [];
  for (const _ of [1, 2, 3, 4]) {
    const outcome = await caught(connectedBy(t, wire('flap', { pidFile }).transport));
    connects.push(Object.hasOwn(outcome as object, 'resolvedWith'));
  }
  t.same(connects, [false, true, false, true]);
});

for (const behaviour of ['grandchild', 'grandchild-holding'] as const) {
  t.test(`${behaviour} leaves a process behind when it alone is killed`, async (t) => {
    const child = started(t, behaviour);
    let isClosed = false;
    child.once('close', () => {
      isClosed = true;
    });
    const line = await new Promise<string>((resolve) => child.stderr?.once('data', (data) => resolve(String(data))));
    const pid = Number(/^grandchild (\d+)\n/.exec(line)?.[1]);
    t.teardown(() => process.kill(pid, 'SIGKILL'));

    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));

    t.equal(hasEnded(pid), false);
    if (behaviour === 'grandchild') return until(() => isClosed);
    // Where the grandchild holds the pipes, their end does not come; that of a peer that ends later does.
    const later = started(t, 'exit');
    await new Promise((resolve) => later.once('close', resolve));
    t.equal(isClosed, false);
  });
}

t.test('stubborn ends neither for a closed stdin nor for SIGTERM', async (t) => {
  const child = started(t, 'stubborn');
  let words = '';
  child.stderr?.on('data', (chunk) => {
    words += chunk;
  });
  child.stdin?.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await new Promise((resolve) => child.stdout?.once('data', resolve));

  child.kill('SIGTERM');
  await until(() => words.includes('in spite of SIGTERM'));
  child.stdin?.end();
  await until(() => words.includes('without input'));

  t.equal(hasEnded(child.pid ?? 0), false);
});

t.test('odd tools come with their catch', async (t) => {
  const words = ['collide', 'tags', 'netref', 'bad-header', 'secret-error', 'big=5000', 'environment'] as const;
  const { transport, stderr } = wire([...words, 'secret-stderr']);
  const client = await connectedBy(t, transport);

  const { tools } = await client.listTools();

  const odd = tools.slice(10);
  t.same(
    odd.map(({ name }) => name),
    [
      ...['a-b', 'a_b', 'tagged', 'netref', 'bad_header_space', 'bad_header_empty', 'bad_header_object'],
      ...['good_header', 'secret_error', 'big', 'environment'],
    ],
  );
  t.ok(odd[2]?.description?.endsWith(invisibleWords));
  t.match(odd[3]?.inputSchema.properties, { value: { $ref: 'http://127.0.0.1:9/schema.json' } });
  t.match(await textOf(client, 'secret_error'), leakedToken);
  t.equal((await textOf(client, 'big')).length, 5000);
  t.equal(JSON.parse(await textOf(client, 'environment')).cwd, process.cwd());
  await until(() => stderr().includes(leakedToken));
});
