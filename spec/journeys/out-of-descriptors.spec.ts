/** A daemon that has no descriptors left: what it cannot begin waits or is refused, and what it accepted is done. */

import { createHmac } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { homePaths } from '../../machines/config/profile.ts';
import { child, eventually, type Gateway, startGateway } from '../support/mcp/gateway.ts';
import { until } from '../support/processes.ts';
import { openRaw, type RawConnection } from '../support/raw-http.ts';
import { postSigned } from '../support/sign.ts';
import { adapterOf } from '../support/webhook-adapter.ts';

const secret = 'descriptors-secret-descriptors';
const descriptors = 256;
const linux = process.platform === 'linux' ? {} : { skip: 'needs /proc' };

const config = {
  agent: { runner: 'command', command: ['cat'] },
  gateway: { front: 'node' },
  inspector: { port: 0 },
  platforms: {
    webhook: adapterOf(
      {
        run: { prompt: 'run {n}' },
        scripted: { prompt: 'run {n}', script: 'pass.sh' },
        listed: { prompt: 'run {n}', filters: [{ field: 'n', in_file: 'known.txt' }] },
      },
      { secret },
    ),
  },
};

async function start(t: Test, timePasses: boolean) {
  const server = child(t);
  const gateway = await startGateway(t, { stdio: server.entry }, { config, descriptors, timePasses });
  gateway.home.write('scripts/pass.sh', 'cat\n', 0o700);
  gateway.home.write('known.txt', 'listed-1\n');
  await gateway.reaches('stdio', 'connected');
  return { gateway, server };
}

function signed(path: string, n: string): string {
  const body = JSON.stringify({ n });
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  return `POST /webhooks/${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-github-event: push\r\nx-github-delivery: ${n}\r\nx-hub-signature-256: sha256=${signature}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** Resolves with the answer to one request; the connection has had so many answers before. */
async function ask(connection: RawConnection, request: string, before: number): Promise<string> {
  const parts = (text: string): string[] => text.split('HTTP/1.1 ').slice(1);
  connection.write(request);
  const text = await connection.received((text) => parts(text).length > before && /\r\n\r\n.+$/s.test(text));
  return parts(text)[before] ?? '';
}

/** Takes every descriptor that the daemon has left by connections to its control socket; returns what gives them back. */
async function exhaust(t: Test, { home, daemon }: Gateway): Promise<() => void> {
  const sockets: Socket[] = [];
  const release = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  t.teardown(release);
  const open = (): number => readdirSync(`/proc/${daemon.child.pid}/fd`).length;
  await until(async () => {
    const socket = connect(homePaths(home.path).socket);
    socket.on('error', () => {});
    sockets.push(socket);
    await new Promise((resolve) => setTimeout(resolve, 1));
    return open() >= descriptors;
  });
  return release;
}

t.test(
  'LIM-5 · DIS-3 · without descriptors, scripts and lists answer 503 and runs wait for better times',
  linux,
  async (t) => {
    const { gateway, server } = await start(t, true);
    const { daemon } = gateway;
    const connection = await openRaw(Number(new URL(daemon.url).port));
    t.match(await ask(connection, 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n', 0), /^200/);
    const release = await exhaust(t, gateway);

    const refused = await ask(connection, signed('scripted', 'script-1'), 1);
    t.match(refused, /^503[\s\S]*retry-after: \d/i);
    t.match(await ask(connection, signed('listed', 'listed-1'), 2), /^503[\s\S]*retry-after: \d/i);
    t.match(await ask(connection, signed('run', 'run-1'), 3), /^202/);
    await daemon.line(({ message }) => message.includes('runs cannot be started'));
    process.kill(server.pids().at(-1) ?? 0, 'SIGKILL');
    await eventually(async () => (await gateway.server('stdio'))?.state !== 'connected');
    for (let n = 0; n < 5; n += 1) await daemon.pass(1_000);
    t.equal(daemon.child.exitCode, null, 'it lives');

    release();

    await daemon.passUntil(daemon.line(({ message }) => message.startsWith('response: run run-1')));
    t.equal(daemon.log.filter(({ message }) => message.startsWith('response: run run-1')).length, 1);
    t.equal(
      daemon.log.filter(({ message }) => message.includes('runs cannot be started')).length,
      1,
      'it is logged once',
    );
    t.match(await ask(connection, signed('scripted', 'script-1'), 4), /^202/, 'the sender sends it again');
    t.match(await ask(connection, signed('listed', 'listed-1'), 5), /^202/, 'and this one');
    await daemon.passUntil(eventually(() => server.pids().length > 1));
    await daemon.passUntil(gateway.reaches('stdio', 'connected'));
  },
);

t.test('SEC-3 · idle connections leave room for everything else', linux, async (t) => {
  const { gateway, server } = await start(t, false);
  const { daemon } = gateway;
  const { url } = daemon;
  const port = Number(new URL(url).port);
  const { message } = await daemon.line(({ message }) => message.startsWith('inspector at'));
  const inspector = new URL(/http:[^;]+/.exec(message)?.[0] ?? '');
  const idle: RawConnection[] = [];
  for (let n = 0; n < 2 * descriptors; n += 1) {
    const connection = await openRaw(n % 2 === 0 ? port : Number(inspector.port));
    idle.push(connection);
    connection.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
  }
  t.teardown(() => {
    for (const { socket } of idle) socket.destroy();
  });

  const other = await openRaw(port);
  t.match(await ask(other, 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n', 0), /^200/);
  t.equal((await fetch(new URL('/ready', inspector))).status, 200);
  t.equal((await postSigned(`${url}/webhooks/scripted`, { n: 's' }, { secret, id: 's' })).status, 202);
  t.equal((await postSigned(`${url}/webhooks/run`, { n: 'r' }, { secret, id: 'r' })).status, 202);
  await daemon.line(({ message }) => message.startsWith('response: run r'));
  await daemon.line(({ message }) => message.startsWith('response: run s'));
  process.kill(server.pids().at(-1) ?? 0, 'SIGKILL');
  await until(() => server.pids().length > 1);
  await gateway.reaches('stdio', 'connected');
  t.match(await ask(other, 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n', 1), /^200/, 'the newest was not closed');
  t.equal(daemon.child.exitCode, null);
});
