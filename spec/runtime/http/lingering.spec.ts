import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { descriptorLimit } from '../../../runtime/http/connections.ts';
import { createLingering, type LingerLimits, lingerLimits } from '../../../runtime/http/lingering.ts';
import { openNodeServer } from '../../../runtime/http/node.ts';
import { listenOn } from '../../support/http-listener.ts';
import { lentTime } from '../../support/lent-time.ts';

const limits: LingerLimits = { waitMs: 2_000, bytes: 1_000_000, connections: 10 };

/** A client that keeps its half of the connection open, beside the server's socket for it. */
async function halfOpen(t: Test, server: Server): Promise<{ readonly client: Socket; readonly served: Socket }> {
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  client.on('error', () => {}).resume();
  t.teardown(() => client.destroy());
  const [served] = await accepted;
  return { client, served };
}

async function listen(t: Test): Promise<Server> {
  const server = createServer({ allowHalfOpen: true });
  await listenOn(t, server);
  return server;
}

t.test('RTE-4 · a connection lingers until its client closes, or for two seconds', async (t) => {
  const time = lentTime(t);
  const server = await listen(t);
  const linger = createLingering(limits);
  const [polite, silent] = [await halfOpen(t, server), await halfOpen(t, server)];
  for (const { client, served } of [polite, silent]) {
    const ended = once(client, 'end');
    served.write('answer');
    linger(served);
    linger(served);
    await ended;
  }

  polite.client.end();
  await once(polite.served, 'close');
  time.pass(limits.waitMs - 1);
  t.equal(silent.served.destroyed, false);
  time.pass(1);
  t.equal(silent.served.destroyed, true);
});

t.test('SEC-3 · no more bytes are discarded than the limit', async (t) => {
  lentTime(t);
  const server = await listen(t);
  const { client, served } = await halfOpen(t, server);
  createLingering(limits)(served);
  client.write(Buffer.alloc(limits.bytes));
  client.write(Buffer.alloc(1));
  await once(served, 'close');
  t.equal(served.bytesRead, limits.bytes + 1);
});

t.test('SEC-3 · of more connections than the limit, the one that has lingered longest is closed', async (t) => {
  lentTime(t);
  const server = await listen(t);
  const linger = createLingering(limits);
  const all: Socket[] = [];
  for (let count = 0; count < limits.connections + 2; count += 1) {
    const { served } = await halfOpen(t, server);
    all.push(served);
    linger(served);
  }
  t.same(
    all.map(({ destroyed }) => destroyed),
    all.map((_, at) => at < 2),
  );
});

t.test('RTE-4 · the limits of node:http are 2 s, 8 MiB and 1,000 connections', (t) => {
  t.same(lingerLimits, { waitMs: 2_000, bytes: 8_388_608, connections: 1_000 });
  t.end();
});

const few = descriptorLimit() < 8_192 && 'too few descriptors for both sides of 2,000 connections';

t.test(
  'SEC-3 · 2,000 refused senders that do not close hold a thousand connections, for two seconds',
  { skip: few },
  async (t) => {
    const time = lentTime(t);
    const httpServer = await openNodeServer(
      { host: '127.0.0.1', port: 0, bodyTimeoutMs: 5_000, maxConnections: 4_000 },
      (exchange) => exchange.reply({ status: 401, body: '{}' }),
    );
    t.teardown(() => httpServer.close(0));
    let open: Socket[] = [];
    for (let count = 0; count < 2_000; count += 1) {
      const client = connect({ port: httpServer.port, host: '127.0.0.1', allowHalfOpen: true });
      open.push(client.on('error', () => {}));
      client.write('POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nhalf');
      const [answer] = (await once(client, 'data')) as [Buffer];
      if (!answer.toString().startsWith('HTTP/1.1 401')) t.fail(answer.toString());
      client.resume();
    }
    /** The first write to a closed connection brings the reset, which the next one reports. */
    const probe = async (): Promise<void> => {
      await Promise.all(open.map((client) => new Promise((resolve) => client.write('x', resolve))));
      open = open.filter(({ destroyed }) => !destroyed);
    };
    for (let round = 0; open.length > 1_000 && round < 500; round += 1) await probe();
    await probe();
    t.equal(open.length, 1_000);
    time.pass(2_000);
    for (let round = 0; open.length > 0 && round < 500; round += 1) await probe();
    t.equal(open.length, 0);
  },
);
