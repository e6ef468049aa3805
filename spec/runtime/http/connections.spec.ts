import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import t, { type Test } from 'tap';
import { boundConnections, connectionLimit, descriptorLimit } from '../../../runtime/http/connections.ts';
import type { Exchange, OpenHttpServer } from '../../../runtime/http/http-server.ts';
import { openNodeServer } from '../../../runtime/http/node.ts';
import { openUwsServer } from '../../../runtime/http/uws.ts';
import { listenOn } from '../../support/http-listener.ts';
import { noUws } from '../../support/http-servers.ts';
import { until } from '../../support/processes.ts';
import { answersIn, openRaw, type RawConnection } from '../../support/raw-http.ts';

const health = 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n';
const held = 'GET /held HTTP/1.1\r\nhost: x\r\n\r\n';

async function connectTo(t: Test, port: number, host?: string): Promise<RawConnection> {
  const connection = await openRaw(port, '', host);
  t.teardown(() => connection.socket.destroy());
  return connection;
}

/** Asks for the health on a connection; resolves with whether it has had so many answers since it was opened. */
async function asks(connection: RawConnection, count: number): Promise<boolean> {
  connection.write(health);
  const text = await connection.received((text) => answersIn(text).length >= count);
  return answersIn(text).length >= count;
}

async function listening(t: Test, open: OpenHttpServer, maxConnections: number, host = '127.0.0.1') {
  const waiting: Exchange[] = [];
  const opened = await open({ host, port: 0, bodyTimeoutMs: 10_000, maxConnections }, (exchange) => {
    if (exchange.head.path === '/held') waiting.push(exchange);
    else exchange.reply({ status: 200, body: '{}' });
  });
  t.teardown(() => opened.close(0));
  return { port: opened.port, waiting };
}

t.test(
  'SEC-3 · a full listener closes the connection that has been idle longest, and none with a request',
  async (t) => {
    const { port, waiting } = await listening(t, openNodeServer, 4);
    const busy = await connectTo(t, port);
    busy.write(held);
    await until(() => waiting.length === 1);
    const [oldest, older, newest] = [await connectTo(t, port), await connectTo(t, port), await connectTo(t, port)];
    for (const one of [oldest, older, newest]) t.ok(await asks(one, 1));
    t.ok(await asks(oldest, 2), 'the first is used again');

    t.ok(await asks(await connectTo(t, port), 1), 'a newcomer is served');

    await older.closed;
    t.ok(await asks(oldest, 3));
    t.ok(await asks(newest, 2));
    waiting[0]?.reply({ status: 200, body: '{}' });
    t.same(answersIn(await busy.received((text) => text.includes('{}'))), ['200'], 'what was under way is answered');
  },
);

t.test('SEC-3 · where every connection has a request under way, the newcomer is closed', async (t) => {
  const { port, waiting } = await listening(t, openNodeServer, 2);
  for (let n = 1; n <= 2; n += 1) {
    (await connectTo(t, port)).write(held);
    await until(() => waiting.length === n);
  }

  await (await connectTo(t, port)).closed;

  t.equal(waiting.length, 2);
});

t.test('SEC-3 · uWebSockets.js closes the newcomer', { skip: noUws }, async (t) => {
  const { port } = await listening(t, openUwsServer, 3);
  const open = [await connectTo(t, port), await connectTo(t, port), await connectTo(t, port)];
  for (const one of open) t.ok(await asks(one, 1));

  for (let n = 0; n < 50; n += 1) await (await connectTo(t, port)).closed;

  for (const one of open) t.ok(await asks(one, 2));
  open[0]?.socket.destroy();
  await until(async () => asks(await connectTo(t, port), 1));
});

/** An address of this machine that counts as another's: whoever connects to it comes from it. */
const outer = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
const noOuter = outer === undefined && 'this machine has the loopback alone';

t.test(
  'SEC-3 · one address keeps half of the connections of uWebSockets.js busy at most',
  { skip: noUws || noOuter },
  async (t) => {
    const { port, waiting } = await listening(t, openUwsServer, 8, '0.0.0.0');
    const local = await connectTo(t, port);
    t.ok(await asks(local, 1));
    for (let n = 1; n <= 3; n += 1) {
      (await connectTo(t, port, outer)).write(held);
      await until(() => waiting.length === n);
    }

    for (let n = 0; n < 20; n += 1) {
      const more = await connectTo(t, port, outer);
      more.write(held);
      await more.closed;
    }

    t.equal(waiting.length, 3, 'the first that it had uncounted, and its share');
    t.ok(await asks(await connectTo(t, port), 1), 'others are served');
    t.ok(await asks(local, 2));
    for (const over of [
      () => waiting[1]?.reply({ status: 200, body: '{}' }),
      () => waiting[2]?.reply({ status: 200, body: '{}' }),
    ]) {
      const before = waiting.length;
      over();
      (await connectTo(t, port, outer)).write(held);
      await until(() => waiting.length === before + 1);
    }
  },
);

t.test(
  'SEC-3 · one address keeps half of the connections of uWebSockets.js open at most by asking again',
  { skip: noUws || noOuter },
  async (t) => {
    const { port } = await listening(t, openUwsServer, 8, '0.0.0.0');
    const local = await connectTo(t, port);
    t.ok(await asks(local, 1));
    const open: RawConnection[] = [];
    for (let n = 1; n <= 7; n += 1) open.push(await connectTo(t, port, outer));

    const kept: RawConnection[] = [];
    for (const one of open) {
      one.write(health);
      const text = await one.received((text) => text.includes('{}'));
      if (/^connection: close/im.test(text)) await one.closed;
      else kept.push(one);
    }

    t.equal(kept.length, 3, 'with the one of this machine, half');
    for (const one of kept) t.ok(await asks(one, 2));
    t.ok(await asks(local, 2));
  },
);

async function bounded(t: Test, limit: number, addresses: readonly string[]) {
  const server: Server = createServer({ keepAliveTimeout: 65_000 }, (_, response) => void response.end('{}'));
  const served: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    Object.defineProperty(socket, 'remoteAddress', { value: addresses[served.length] });
    served.push(socket);
  });
  const use = boundConnections(server, { limit, isBusy: () => false });
  const port = await listenOn(t, server);
  for (let n = 1; n <= addresses.length; n += 1) {
    await connectTo(t, port);
    await until(() => served.length === n);
  }
  return { served, use };
}

t.test('SEC-3 · one address holds half of the connections at most, and closes its own for more', async (t) => {
  const flood = ['192.0.2.7', '2001:db8::1', '192.0.2.7', '192.0.2.7', '192.0.2.7'];
  const { served } = await bounded(t, 6, flood);

  t.same(
    served.map(({ destroyed }) => destroyed),
    [true, false, false, false, false],
  );
  const proxy = await bounded(t, 6, new Array<string>(6).fill('127.0.0.1'));
  t.ok(
    proxy.served.every(({ destroyed }) => !destroyed),
    'a proxy on this machine has them all',
  );
});

t.test(
  'SEC-3 · connections are kept for a shorter time while more than half are open, those of a proxy here not',
  async (t) => {
    const { served, use } = await bounded(t, 6, ['192.0.2.7', '192.0.2.8', '127.0.0.1', '127.0.0.1']);
    const [sender, , proxy, another] = served;
    const kept = (socket: Socket | undefined): number | undefined => {
      socket?.setTimeout(65_000);
      if (socket !== undefined) use.answered(socket);
      return socket?.timeout;
    };
    t.same([kept(sender), kept(proxy)], [5_000, 65_000]);

    another?.destroy();

    await until(() => kept(sender) === 65_000);
  },
);

t.test('SEC-3 · a full listener closes the idle connections of a proxy on this machine last', async (t) => {
  const { served } = await bounded(t, 4, [
    '127.0.0.1',
    '192.0.2.7',
    '127.0.0.1',
    '192.0.2.8',
    '127.0.0.1',
    '127.0.0.1',
  ]);
  t.same(
    served.map(({ destroyed }) => destroyed),
    [false, true, false, true, false, false],
  );
});

t.test('SEC-3 · the bound follows from the descriptors of the process', (t) => {
  const limits = (soft: string) =>
    descriptorLimit(() => `Max processes  9 9\nMax open files            ${soft}  4096  files\n`);
  t.same([limits('256'), limits('unlimited')], [256, Number.MAX_SAFE_INTEGER]);
  t.equal(
    descriptorLimit(() => {
      throw new Error('no /proc');
    }),
    1_024,
  );
  const rows = [2, 256, 1_024, 4_096, Number.MAX_SAFE_INTEGER];
  t.same(
    rows.map((descriptors) => connectionLimit('webhooks', descriptors)),
    [1, 96, 672, 2_976, 20_000],
  );
  t.same(
    rows.map((descriptors) => connectionLimit('inspector', descriptors)),
    [1, 16, 112, 496, 20_000],
  );
  t.end();
});
