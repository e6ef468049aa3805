/**
 * The control socket of one run, which gives its program access to what the run may use and nothing else. It is in the
 * run's own folder and is removed with the run.
 * @see SEC-4 in docs/specification.md
 */

import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { ensurePrivateFolder } from '../../actors/files.ts';
import { commandsOfRun, type RunBounds } from './run-view.ts';
import { type ControlSettings, freePath, listenAt, serveConnection } from './server.ts';
import { demandOwnFolder } from './socket-folder.ts';

/**
 * Listens. Returns a function that closes the socket and never throws. Rejects if the path cannot be bound, or its folder
 * belongs to another user.
 */
export async function openRunSocket(
  path: string,
  bounds: RunBounds,
  { host, log, redact }: Omit<ControlSettings, 'path' | 'hold'>,
): Promise<() => void> {
  // A run may use only its own gateway.
  const { nodes: _, ...own } = host;
  const hostOfRun = { ...own, commandOf: commandsOfRun(bounds) };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serveConnection(socket, hostOfRun, { log, redact });
  });
  // An accept that fails for lack of descriptors is an error event too.
  server.on('error', () => {});
  demandOwnFolder(path);
  await ensurePrivateFolder(dirname(path));
  await listenAt(server, path);
  return () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    freePath(path);
  };
}
