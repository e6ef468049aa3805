/** A small HTTP server for authorization servers: bodies read, requests written down, a port of its own. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

export interface SeenByServer {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  /** The fields of a form; empty where the body is none. */
  readonly form: URLSearchParams;
  readonly text: string;
}

export interface ListeningServer {
  readonly origin: string;
  readonly seen: readonly SeenByServer[];
  /** The requests to a path so far. */
  at(path: string): readonly SeenByServer[];
  /** Refuses connections from now on. */
  stop(): Promise<void>;
  /** Listens on the same port again. */
  restart(): Promise<void>;
}

/** Starts it; it ends with the spec. The origin is known before the first request. */
export async function listen(
  t: Pick<Test, 'teardown'>,
  make: (origin: string) => (seen: SeenByServer, req: IncomingMessage, res: ServerResponse) => void | Promise<void>,
): Promise<ListeningServer> {
  const seen: SeenByServer[] = [];
  let handle: ReturnType<typeof make> = () => {};
  const server: Server = createServer((req, res) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString();
      const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost');
      const isForm = req.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
      const one = {
        method: req.method ?? '',
        path: pathname,
        query: searchParams,
        headers: req.headers,
        form: new URLSearchParams(isForm ? text : ''),
        text,
      };
      seen.push(one);
      await handle(one, req, res);
    })().catch((error: unknown) => {
      // A client that left breaks what is under way; anything else is an error of the spec.
      if (!res.destroyed) res.writeHead(599).end(String(error));
    });
  });
  const open = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  await open(0);
  t.teardown(stop);
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  handle = make(origin);
  return { origin, seen, at: (path) => seen.filter((each) => each.path === path), stop, restart: () => open(port) };
}
