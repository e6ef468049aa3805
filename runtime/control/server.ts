/**
 * The control socket: answers JSON-RPC requests from the command table and streams subscriptions. Other users are kept
 * out by the socket's mode and its folder's; Node tells no peer's user id, so the file system is the judge.
 * @see CLI-3 in docs/specification.md
 */

import { chmodSync, rmdirSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { ensurePrivateFolder, privateFile } from '../../actors/files.ts';
import type { Logger } from '../../actors/ports.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { liesAside } from '../../machines/config/profile.ts';
import { answerRequest } from './answer.ts';
import type { CommandHost } from './commands.ts';
import { createLineSplitter } from './lines.ts';
import { longestLine, notificationParts, readMessage, rpcCodes, spellError } from './protocol.ts';
import { demandOwnFolder } from './socket-folder.ts';

export interface ControlSettings {
  readonly path: string;
  readonly host: CommandHost;
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

/** A reader that lets more than this pile up is cut off: it asks anew and gets a fresh snapshot. */
const mostBuffered = 4 * 1_048_576;
/** A person sees no difference to at once, and a thousand words cost one write. */
const notifyWithinMs = 20;
const mostTogether = 65_536;
/** A reader that stands still keeps no daemon from ending. */
const lastWordsMs = 1_000;

/** Listens; a socket file that a dead daemon left is taken over, for the lock proves that it is dead. */
export async function createControlServer({ path, host, log, redact }: ControlSettings): Promise<ControlServer> {
  demandOwnFolder(path);
  await ensurePrivateFolder(dirname(path));
  rmSync(path, { force: true });
  /** Each with what writes out the words that wait for it. */
  const sockets = new Map<Socket, () => void>();
  const server = createServer((socket) => {
    socket.on('close', () => sockets.delete(socket));
    sockets.set(socket, serve(socket, host, { log, redact }));
  });
  const before = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
  } finally {
    process.umask(before);
  }
  chmodSync(path, privateFile);
  let closed: Promise<void> | undefined;
  const stopListening = (): Promise<void> => {
    closed ??= new Promise((resolve) => {
      server.close(() => resolve());
      rmSync(path, { force: true });
      if (liesAside(path)) removeEmpty(dirname(path));
    });
    return closed;
  };
  return {
    stopListening: () => void stopListening(),
    async close() {
      const ended = stopListening();
      for (const [socket, flush] of sockets) {
        flush();
        socket.destroySoon();
      }
      const impatient = setTimeout(() => {
        for (const socket of sockets.keys()) socket.destroy();
      }, lastWordsMs);
      await ended;
      clearTimeout(impatient);
    },
  };
}

/** What was made for the socket alone goes with it. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Somebody has put something there.
  }
}

/** Returns what writes out the words that wait. */
function serve(
  socket: Socket,
  host: CommandHost,
  { log, redact }: Pick<ControlSettings, 'log' | 'redact'>,
): () => void {
  const ends = new Set<() => void>();
  let waiting: string[] = [];
  let waitingLength = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const text = waiting.join('');
    waiting = [];
    waitingLength = 0;
    if (text === '' || socket.destroyed) return;
    socket.write(text);
    if (socket.writableLength > mostBuffered) {
      log.log('warn', 'control: a reader is too slow and was cut off');
      socket.destroy();
    }
  };
  const send = (text: string): void => {
    waiting.push(text);
    flush();
  };
  /** A stream says many words in one turn; they leave together, in one write and before the next answer. */
  const notify = ([beginning, params, end]: readonly [string, string, string]): void => {
    if (socket.destroyed) return;
    waiting.push(beginning, params, end);
    waitingLength += beginning.length + params.length + end.length;
    if (waitingLength > mostTogether) flush();
    else timer ??= setTimeout(flush, notifyWithinMs).unref();
  };
  const peer = {
    redact,
    notify: (name: string, sent: JsonObject | string) => notify(notificationParts(name, sent)),
    onEnd(end: () => void) {
      ends.add(end);
      return () => void ends.delete(end);
    },
  };
  const lines = createLineSplitter(
    longestLine,
    (line) => {
      const message = readMessage(line);
      if (message.kind === 'malformed') send(spellError(message.id, message.error));
      else if (message.kind === 'request') void answerRequest(message.request, host, peer).then(send);
    },
    () => {
      send(spellError(null, { code: rpcCodes.request, message: 'the line is too long' }));
      socket.destroySoon();
    },
  );
  socket.on('data', (chunk) => lines.add(chunk));
  socket.on('error', () => {});
  socket.on('close', () => {
    clearTimeout(timer);
    for (const end of ends) end();
  });
  return flush;
}
