/** A server of the spec's own with a plain handler. */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** Listens on a free port until the spec ends; with `tls` over https. Resolves with its origin, its port and itself. */
export async function listenHttp(
  t: Pick<Test, 'teardown'>,
  handler: RequestListener,
  { tls, address = '127.0.0.1' }: { readonly tls?: ServerOptions | undefined; readonly address?: string } = {},
): Promise<{ readonly url: string; readonly port: number; readonly server: Server }> {
  const server = tls === undefined ? createServer(handler) : createSecureServer(tls, handler);
  await once(server.listen(0, address), 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `${tls === undefined ? 'http' : 'https'}://${address}:${port}`, port, server };
}
