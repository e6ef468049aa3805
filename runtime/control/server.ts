/**
 * The control socket: answers JSON-RPC requests from the command table and streams subscriptions. File modes of the
 * socket and its folder keep other users out, since Node does not report a peer's user id.
 * @see CLI-3 in docs/specification.md
 */

import { chmodSync, existsSync, rmdirSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { ensurePrivateFolder, isDiskRefusal, privateFile, writableCure } from '../../actors/files.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf, type Fault } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { liesAside } from '../../machines/config/profile.ts';
import { type Asker, atTerminal } from '../observe/audit.ts';
import type { Every } from '../system/ticks.ts';
import { answerRequest } from './answer.ts';
import type { CommandHost } from './command.ts';
import { Refusal } from './contract/refusal.ts';
import { createLineSplitter } from './lines.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import {
  formatError,
  maxLineLength,
  notificationParts,
  type RpcRequest,
  readMessage,
  rpcCodes,
  tooLongWords,
} from './protocol.ts';
import { demandOwnFolder } from './socket-folder.ts';

export interface ControlSettings {
  readonly path: string;
  readonly host: CommandHost;
  /**
   * Resolves with the fault that keeps this gateway from owning the home; the path is another gateway's then. Absent: it
   * owns the home.
   */
  readonly hold?: () => Promise<Fault | undefined>;
  /** Absent: a socket that somebody removes is not made again. */
  readonly every?: Every;
  readonly log: Logger;
  /** Redacts secrets in the text of an error. */
  readonly redact: (text: string) => string;
}

interface ControlServer {
  /** Accepts no further connections and frees the path; open connections stay. */
  stopListening(): void;
  /** Closes the connections. A client that requested the stop takes this as its end, so the home must be free by then. */
  close(): Promise<void>;
}

const listenAgainMs = 5_000;
/** How long a stalled reader may delay the daemon's end, and how long a slow one may. */
const lastWordsMs = 1_000;
const maxGoodbyeMs = 10_000;
/** Characters of unanswered requests; beyond that no connection that they came from is read. */
const maxUnanswered = 4 * maxLineLength;
/** Requests of one connection that are begun in one turn of the event loop. */
const maxAtOnce = 32;

/** The unanswered requests of a connection, or of several that share the memory for them. */
interface Unanswered {
  isFull(): boolean;
  /** Returns a function that takes the request out again. */
  add(length: number): () => void;
  /** Calls back whenever `isFull` has changed, until the returned function is called. */
  join(pace: () => void): () => void;
}

export function createUnanswered(): Unanswered {
  let held = 0;
  const connections = new Set<() => void>();
  const change = (by: number): void => {
    const wasFull = held > maxUnanswered;
    held += by;
    if (held > maxUnanswered !== wasFull) for (const pace of connections) pace();
  };
  return {
    isFull: () => held > maxUnanswered,
    add(length) {
      change(length);
      return () => change(-length);
    },
    join(pace) {
      connections.add(pace);
      return () => void connections.delete(pace);
    },
  };
}

/**
 * Listens. Removes the socket file of a dead daemon: the lock proves that it is dead. On a full or read-only disk it
 * resolves all the same and retries every few seconds. A socket that is removed, as by a program that cleans temporary
 * folders, is made again. The path is touched only while the home is held.
 */
export async function createControlServer(settings: ControlSettings): Promise<ControlServer> {
  const { path, host, hold, every, log, redact } = settings;
  const sockets = new Map<Socket, Outbox>();
  const makeServer = (): Server =>
    createServer((socket) => {
      socket.on('close', () => sockets.delete(socket));
      sockets.set(socket, serveConnection(socket, host, { log, redact, asker: atTerminal }));
      // An accept that fails for lack of descriptors is an error event too.
    }).on('error', () => {});
  let server = makeServer();
  const ended: Promise<unknown>[] = [];
  const shut = (): void => void ended.push(new Promise((resolve) => server.close(resolve)));
  let again: NodeJS.Timeout | undefined;
  let closed: Promise<unknown> | undefined;
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
      again = undefined;
    } catch (thrown) {
      if (!isDiskRefusal(thrown)) throw refusedSocket(path, thrown);
      later(`${causeOf(thrown)}; ${writableCure}`);
    }
  };
  await listen();
  const stopLooking = every?.(() => {
    if (!server.listening || existsSync(path)) return;
    log.log('warn', `control: ${path} was removed; it is made again`);
    shut();
    server = makeServer();
    void listen().catch((thrown: unknown) => later(causeOf(thrown)));
  }, listenAgainMs);
  const stopListening = (): Promise<unknown> => {
    clearInterval(again);
    stopLooking?.();
    if (closed !== undefined) return closed;
    const isOurs = server.listening;
    shut();
    if (isOurs) freePath(path);
    closed = Promise.all(ended);
    return closed;
  };
  return {
    stopListening: () => void stopListening(),
    async close() {
      const last = stopListening();
      for (const outbox of sockets.values()) outbox.finish(lastWordsMs);
      const impatient = setTimeout(() => {
        for (const socket of sockets.keys()) socket.destroy();
      }, maxGoodbyeMs);
      await last;
      clearTimeout(impatient);
    },
  };
}

/**
 * Creates a socket in place of any file at its path. Its folder is already private, which keeps other users out until the
 * socket has its mode. A umask would affect everything that the process creates meanwhile on other threads.
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
  // The path is bound when `listen` returns, and no connection is accepted before this function awaits.
  if (server.listening) chmodSync(path, privateFile);
  await listening;
}

/** A file system without sockets answers with one of many codes, such as EIO or ENOTSUP. */
function refusedSocket(path: string, thrown: unknown): unknown {
  const { code, syscall } = thrown as NodeJS.ErrnoException;
  const isFolder = code === 'ERR_FS_EISDIR';
  if (!isFolder && syscall !== 'listen') return thrown;
  const why = isFolder
    ? 'a folder is in its place; move it away'
    : `${causeOf(thrown)}; if the disk takes no sockets, as FAT and some folders that a container shares with its host, set AGENT_HOME to a home on another one`;
  return new Refusal('socket-refused', `${path}: the control socket cannot be made: ${why}`);
}

/** Removes a socket, and its own folder if the socket is outside the home. Never throws: it is a part of every stop. */
export function freePath(path: string): void {
  try {
    rmSync(path, { force: true });
    if (liesAside(path)) rmdirSync(dirname(path));
  } catch {
    // The disk has become read-only, and a start replaces the socket; or the folder is already removed, or not empty.
  }
}

/** Answers the requests of one connection until it closes. */
export function serveConnection(
  socket: Socket,
  host: CommandHost,
  {
    log,
    redact,
    asker,
    unanswered = createUnanswered(),
  }: Pick<ControlSettings, 'log' | 'redact'> & { readonly asker?: Asker; readonly unanswered?: Unanswered },
): Outbox {
  const ends = new Set<() => void>();
  const cutOff = (reason: string): void => {
    log.log('warn', `control: ${reason} and was cut off`);
    socket.destroy();
  };
  /** Lines that were read and whose requests are not begun: the answers to all of them could take much memory. */
  const waiting: string[] = [];
  let turn: NodeJS.Immediate | undefined;
  const isBusy = (): boolean => outbox.isBlocked() || unanswered.isFull();
  const pace = (): void => {
    if (isBusy() || waiting.length > 0) socket.pause();
    else socket.resume();
    if (!isBusy() && waiting.length > 0) turn ??= setImmediate(begin);
  };
  const begin = (): void => {
    turn = undefined;
    if (socket.destroyed) return;
    if (!isBusy()) for (const line of waiting.splice(0, maxAtOnce)) take(line);
    pace();
  };
  const outbox = createOutbox(socket, cutOff, pace);
  const leave = unanswered.join(pace);
  const peer = {
    redact,
    asker,
    notify: (name: string, sent: JsonObject | string) => outbox.notify(notificationParts(name, sent)),
    onEnd(end: () => void) {
      // A command may do other work first, during which its client leaves.
      if (socket.destroyed) end();
      else ends.add(end);
      return () => void ends.delete(end);
    },
  };
  const answer = (request: RpcRequest, length: number): void => {
    const expected = outbox.expect();
    const answered = unanswered.add(length);
    void answerRequest(request, host, peer).then((serialize) => {
      answered();
      expected(serialize);
    });
  };
  const take = (line: string): void => {
    const message = readMessage(line);
    if (message.kind === 'malformed') outbox.expect()(() => formatError(message.id, message.error));
    else if (message.kind === 'request') answer(message.request, line.length);
  };
  const lines = createLineSplitter(
    maxLineLength,
    (line) => void waiting.push(line),
    () => {
      outbox.expect()(() => formatError(null, { code: rpcCodes.request, message: tooLongWords }));
      outbox.finish(lastWordsMs);
    },
  );
  socket.on('data', (chunk) => {
    lines.add(chunk);
    if (turn === undefined) begin();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    leave();
    outbox.closed();
    for (const end of ends) end();
  });
  return outbox;
}
