/**
 * The control socket: answers JSON-RPC requests from the command table and streams subscriptions. Other users are kept
 * out by the socket's mode and its folder's; Node tells no peer's user id, so the file system is the judge.
 * @see CLI-3 in docs/specification.md
 */

import { chmodSync, rmdirSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { ensurePrivateFolder, isDiskRefusal, privateFile, writableCure } from '../../actors/files.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf, type Fault } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { liesAside } from '../../machines/config/profile.ts';
import { answerRequest } from './answer.ts';
import { type Asker, atTerminal } from './audit.ts';
import type { CommandHost } from './command.ts';
import { createLineSplitter } from './lines.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { longestLine, notificationParts, readMessage, rpcCodes, spellError } from './protocol.ts';
import { demandOwnFolder } from './socket-folder.ts';

export interface ControlSettings {
  readonly path: string;
  readonly host: CommandHost;
  /** Resolves with what keeps the home from being this gateway's: until then the path is another's. Absent: it is. */
  readonly hold?: () => Promise<Fault | undefined>;
  readonly log: Logger;
  /** The judge of what is secret, for the words of an error. */
  readonly redact: (text: string) => string;
}

export interface ControlServer {
  /** Takes no further callers and frees the path; who is connected stays so. */
  stopListening(): void;
  /** Hangs up. Who asked for the stop takes that for its end, so the home must be free by then. */
  close(): Promise<void>;
}

const listenAgainMs = 5_000;
/** A reader that stands still keeps no daemon from ending, and a slow one not for longer than this. */
const lastWordsMs = 1_000;
const longestGoodbyeMs = 10_000;

/**
 * Listens; a socket file that a dead daemon left is removed, for the lock proves that it is dead. On a full or read-only disk
 * it resolves all the same and tries again every few seconds. The path is touched only while the home is held.
 */
export async function createControlServer({ path, host, hold, log, redact }: ControlSettings): Promise<ControlServer> {
  const sockets = new Map<Socket, Outbox>();
  const server = createServer((socket) => {
    socket.on('close', () => sockets.delete(socket));
    sockets.set(socket, serveConnection(socket, host, { log, redact, asker: atTerminal }));
  });
  // A connection that cannot be accepted for want of descriptors is an error event too.
  server.on('error', () => {});
  let again: NodeJS.Timeout | undefined;
  let closed: Promise<void> | undefined;
  const later = (why: string): void => {
    if (again !== undefined || closed !== undefined) return;
    log.log('error', `control: ${path}: the socket cannot be made: ${why}`);
    again = setInterval(() => void listen().catch(() => {}), listenAgainMs);
  };
  const listen = async (): Promise<void> => {
    try {
      const refused = await hold?.();
      if (refused !== undefined) return later(refused.message);
      demandOwnFolder(path);
      await ensurePrivateFolder(dirname(path));
      if (closed !== undefined || server.listening) return;
      await listenAt(server, path);
      if (again !== undefined) log.log('info', `control: listens at ${path}`);
      clearInterval(again);
    } catch (thrown) {
      if (!isDiskRefusal(thrown)) throw thrown;
      later(`${causeOf(thrown)}; ${writableCure}`);
    }
  };
  await listen();
  const stopListening = (): Promise<void> => {
    clearInterval(again);
    closed ??= new Promise((resolve) => {
      const isOurs = server.listening;
      server.close(() => resolve());
      if (!isOurs) return;
      freePath(path);
    });
    return closed;
  };
  return {
    stopListening: () => void stopListening(),
    async close() {
      const ended = stopListening();
      for (const outbox of sockets.values()) outbox.finish(lastWordsMs);
      const impatient = setTimeout(() => {
        for (const socket of sockets.keys()) socket.destroy();
      }, longestGoodbyeMs);
      await ended;
      clearTimeout(impatient);
    },
  };
}

/**
 * Makes a socket in the place of what lies at its path. Its folder is private already, which keeps other users from the
 * socket until it has its mode. A umask would do that too, for all that the process makes meanwhile on its other threads.
 */
export async function listenAt(server: Server, path: string): Promise<void> {
  rmSync(path, { force: true });
  const listening = new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.listen(path);
  // The path is bound before `listen` returns, and no connection is accepted before this function waits.
  if (server.listening) chmodSync(path, privateFile);
  await listening;
}

/** Removes a socket, and the folder outside of its home that was made for it alone. */
export function freePath(path: string): void {
  rmSync(path, { force: true });
  if (!liesAside(path)) return;
  try {
    rmdirSync(dirname(path));
  } catch {
    // It is gone already, or holds something else.
  }
}

/** Answers the requests of one connection until it closes. */
export function serveConnection(
  socket: Socket,
  host: CommandHost,
  { log, redact, asker }: Pick<ControlSettings, 'log' | 'redact'> & { readonly asker?: Asker },
): Outbox {
  const ends = new Set<() => void>();
  const outbox = createOutbox(socket, (reason) => {
    log.log('warn', `control: ${reason} and was cut off`);
    socket.destroy();
  });
  const peer = {
    redact,
    asker,
    notify: (name: string, sent: JsonObject | string) => outbox.notify(notificationParts(name, sent)),
    onEnd(end: () => void) {
      ends.add(end);
      return () => void ends.delete(end);
    },
  };
  const lines = createLineSplitter(
    longestLine,
    (line) => {
      const message = readMessage(line);
      if (message.kind === 'malformed') outbox.expect()(() => spellError(message.id, message.error));
      else if (message.kind === 'request') void answerRequest(message.request, host, peer).then(outbox.expect());
    },
    () => {
      outbox.expect()(() => spellError(null, { code: rpcCodes.request, message: 'the line is too long' }));
      outbox.finish(lastWordsMs);
    },
  );
  socket.on('data', (chunk) => lines.add(chunk));
  socket.on('error', () => {});
  socket.on('close', () => {
    outbox.closed();
    for (const end of ends) end();
  });
  return outbox;
}
