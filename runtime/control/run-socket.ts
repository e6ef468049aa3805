/**
 * The control socket of one run, which shows its program what the run may use and nothing else. It lies in the run's own
 * folder and goes with the run.
 * @see SEC-4 in docs/specification.md
 */

import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { ensurePrivateFolder } from '../../actors/files.ts';
import { commandsOfRun, type RunBounds } from './run-view.ts';
import { type ControlSettings, freePath, listenAt, serveConnection } from './server.ts';
import { demandOwnFolder } from './socket-folder.ts';

/** Listens. Rejects where the path cannot be bound, or its folder is another user's. Returns what ends it, which never throws. */
export async function openRunSocket(
  path: string,
  bounds: RunBounds,
  { host, log, redact }: Omit<ControlSettings, 'path' | 'hold'>,
): Promise<() => void> {
  // A run asks its own gateway alone.
  const { nodes: _, ...own } = host;
  const hostOfRun = { ...own, commandOf: commandsOfRun(bounds) };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serveConnection(socket, hostOfRun, { log, redact });
  });
  // A connection that cannot be accepted for want of descriptors is an error event too.
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
