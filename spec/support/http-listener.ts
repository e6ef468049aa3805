/** Servers of the spec's own on loopback. */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import { type AddressInfo, type Server as AnyServer, createServer as createTcpServer, type Socket } from 'node:net';
import type { Test } from 'tap';

/** Lets a server listen on a free port until the spec ends; its connections end with it. Resolves with the port. */
export async function listenOn(t: Pick<Test, 'teardown'>, server: AnyServer, address = '127.0.0.1'): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => open.add(socket));
  await once(server.listen(0, address), 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Listens with a plain handler; with `tls` over https. Resolves with its origin, its port and itself. */
export async function listenHttp(
  t: Pick<Test, 'teardown'>,
  handler: RequestListener,
  { tls, address = '127.0.0.1' }: { readonly tls?: ServerOptions | undefined; readonly address?: string } = {},
): Promise<{ readonly url: string; readonly port: number; readonly server: Server }> {
  const server = tls === undefined ? createServer(handler) : createSecureServer(tls, handler);
  const port = await listenOn(t, server, address);
  return { url: `${tls === undefined ? 'http' : 'https'}://${address}:${port}`, port, server };
}

/** Resolves with a port on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createTcpServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}
