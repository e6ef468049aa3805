/**
 * The other end of the control socket, for the command line: one connection, requests by number, notifications as they
 * come.
 * @see CLI-3 in docs/specification.md
 */

import { connect, type Socket } from 'node:net';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import { createLineSplitter } from './lines.ts';
import { longestLine, type RpcError, readMessage, spellRequest } from './protocol.ts';
import { Refusal } from './refusal.ts';
import { demandOwnFolder } from './socket-folder.ts';

export interface ControlClient {
  /** Resolves with the result; rejects with a Refusal where the daemon refuses. */
  call(method: string, params?: JsonObject): Promise<Json>;
  onNotification(listener: (method: string, params: JsonObject) => void): void;
  /** Resolves when the daemon closed the connection. */
  readonly closed: Promise<void>;
  close(): void;
}

/**
 * Connects; undefined where no daemon listens. A signal ends the connection, and with it what waits for an answer. Rejects
 * where the socket's folder is another user's.
 */
export async function connectControl(path: string, signal?: AbortSignal): Promise<ControlClient | undefined> {
  demandOwnFolder(path);
  const socket = await open(path, signal);
  return socket === undefined ? undefined : clientOf(socket);
}

function open(path: string, signal: AbortSignal | undefined): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ path, ...(signal === undefined ? {} : { signal }) });
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(undefined));
  });
}

interface Waiting {
  readonly resolve: (result: Json) => void;
  readonly reject: (error: Error) => void;
}

function clientOf(socket: Socket): ControlClient {
  const waiting = new Map<number, Waiting>();
  let listener: (method: string, params: JsonObject) => void = () => {};
  let next = 1;
  const settle = (id: string | number | null, act: (one: Waiting) => void): void => {
    const one = typeof id === 'number' ? waiting.get(id) : undefined;
    if (one === undefined) return;
    waiting.delete(id as number);
    act(one);
  };
  const lines = createLineSplitter(
    longestLine,
    (line) => {
      const message = readMessage(line);
      if (message.kind === 'result') settle(message.id, ({ resolve }) => resolve(message.result));
      else if (message.kind === 'error') settle(message.id, ({ reject }) => reject(refusalOf(message.error)));
      else if (message.kind === 'notification') listener(message.method, message.params);
    },
    () => socket.destroy(),
  );
  socket.on('data', (chunk) => lines.add(chunk));
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      for (const { reject } of waiting.values()) {
        reject(new Refusal('gateway-gone', 'the gateway closed the connection before it answered'));
      }
      waiting.clear();
      resolve();
    });
  });
  return {
    call: (method, params = {}) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed || socket.writableEnded) {
          reject(new Refusal('gateway-gone', 'the connection to the gateway is closed'));
          return;
        }
        const id = next;
        next += 1;
        waiting.set(id, { resolve, reject });
        socket.write(spellRequest({ id, method, params }));
      }),
    onNotification(to) {
      listener = to;
    },
    closed,
    close: () => socket.end(),
  };
}

function refusalOf({ message, data }: RpcError): Refusal {
  return Refusal.carrying(data?.code ?? 'refused', message);
}
