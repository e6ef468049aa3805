/**
 * The client of the control socket, for the command line: one connection, numbered requests, and notifications as they
 * arrive.
 * @see CLI-3 in docs/specification.md
 */

import { constants } from 'node:buffer';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import { Refusal } from './contract/refusal.ts';
import type { Ask, Notices } from './contract.ts';
import { createLineSplitter } from './lines.ts';
import { formatRequest, maxLineLength, type RpcError, readMessage, rpcCodes, tooLongWords } from './protocol.ts';
import { demandOwnFolder } from './socket-folder.ts';

/** A gateway that answers nothing in two of these periods, not even that it lacks a method, hangs. */
const maxSilentMs = 10_000;
const silent = 'the gateway does not answer; `agent doctor` names its process';
/** How often a gateway that has as many callers waiting as the system allows is tried. */
const fullPollMs = 50;

/** The connection closed before the answer arrived. */
export class ConnectionLost extends Refusal {
  /** Whether the gateway may have read the request. */
  readonly wasSent: boolean;
  /** Whether the gateway has not closed the connection, but hangs. */
  readonly isHung: boolean;

  constructor(message: string, { wasSent, isHung = false }: { readonly wasSent: boolean; readonly isHung?: boolean }) {
    super('gateway-gone', message);
    this.wasSent = wasSent;
    this.isHung = isHung;
  }
}

export interface ControlClient {
  readonly ask: Ask;
  /** The same for a method that is known only at run time. */
  call(method: string, params?: JsonObject): Promise<Json>;
  on<Name extends keyof Notices>(name: Name, listener: (params: Notices[Name]) => void): void;
  /** Calls back with each notification, until the returned function is called. */
  onNotification(listener: (method: string, params: JsonObject) => void): () => void;
  /** Whether requests can be sent. */
  isOpen(): boolean;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  close(): void;
}

interface ConnectOptions {
  readonly signal?: AbortSignal | undefined;
  readonly node?: string | undefined;
  /** How long the gateway may take for its first sign of life. */
  readonly greetMs?: number | undefined;
}

/**
 * Connects; resolves with undefined if no daemon listens. With a node, requests go to that gateway of the same database.
 * A signal closes the connection and rejects pending requests. Rejects if the socket's folder belongs to another user, or
 * this user may not open the socket.
 */
export async function connectControl(
  path: string,
  { signal, node, greetMs = 2 * maxSilentMs }: ConnectOptions = {},
): Promise<ControlClient | undefined> {
  demandOwnFolder(path);
  const socket = await open(path, signal, greetMs);
  return socket === undefined ? undefined : clientOf(socket, node === undefined ? {} : { node }, greetMs);
}

/** One request on a connection of its own; undefined if it is refused, or there is no answer in time. */
export async function askOnce(
  path: string,
  method: string,
  params: JsonObject,
  maxMs: number,
): Promise<Json | undefined> {
  let client: ControlClient | undefined;
  try {
    client = await connectControl(path, { signal: AbortSignal.timeout(maxMs) });
    return await client?.call(method, params);
  } catch {
    return undefined;
  } finally {
    client?.close();
  }
}

async function open(path: string, signal: AbortSignal | undefined, greetMs: number): Promise<Socket | undefined> {
  for (let waited = 0; ; waited += fullPollMs) {
    const opened = await openOnce(path, signal);
    if (opened !== 'full') return opened;
    if (waited >= greetMs) throw new ConnectionLost(silent, { wasSent: false, isHung: true });
    await wait(fullPollMs, undefined, { signal }).catch(() => {});
    if (signal?.aborted === true) return undefined;
  }
}

/** `full` where callers wait that a busy or hanging gateway has not accepted yet: it runs, but has no room for one more. */
function openOnce(path: string, signal: AbortSignal | undefined): Promise<Socket | 'full' | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, ...(signal === undefined ? {} : { signal }) });
    socket.once('connect', () => resolve(socket));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'EAGAIN') return resolve('full');
      // Without permission, neither the gateway's state nor the home's content can be read.
      if (code !== 'EACCES') return resolve(undefined);
      const cure = 'run the command as the user that runs the gateway, or set AGENT_HOME to a home of your own';
      reject(new Refusal('socket-foreign', `${path}: this user may not open the control socket; ${cure}`));
    });
  });
}

interface Waiting {
  readonly resolve: (result: Json) => void;
  readonly reject: (error: Error) => void;
}

function clientOf(socket: Socket, always: JsonObject, greetMs: number): ControlClient {
  const waiting = new Map<number, Waiting>();
  const listeners = new Set<(method: string, params: JsonObject) => void>();
  let next = 1;
  const settle = (id: string | number | null, act: (one: Waiting) => void): void => {
    const one = typeof id === 'number' ? waiting.get(id) : undefined;
    if (one === undefined) return;
    waiting.delete(id as number);
    act(one);
  };
  const refuse = (id: string | number | null, why: Refusal): void => {
    // The id of an unreadable line is unknown, so it is assigned only if a single request waits.
    const [only, ...others] = waiting.keys();
    settle(id ?? (others.length === 0 ? (only ?? null) : null), ({ reject }) => reject(why));
  };
  const lines = createLineSplitter(
    // The daemon's answers have no limit except that of JavaScript.
    constants.MAX_STRING_LENGTH,
    (line) => {
      const message = readMessage(line);
      if (message.kind === 'result') settle(message.id, ({ resolve }) => resolve(message.result));
      else if (message.kind === 'error') refuse(message.id, refusalOf(message.error));
      else if (message.kind === 'notification') for (const one of listeners) one(message.method, message.params);
    },
    () => socket.destroy(),
  );
  // A call that waits for a person has no time limit, so a gateway that is silent is asked for what it always answers.
  let isAsked = false;
  let isHung = false;
  const look = (): void => {
    if (waiting.size === 0) return;
    isHung = isAsked;
    if (isHung) socket.destroy();
    else socket.write(formatRequest({ id: 0, method: 'alive', params: {} }));
    isAsked = true;
  };
  // Two looks, so that a command that was stopped itself does not take its own rest for the silence of the gateway.
  let watch = setInterval(look, greetMs / 2);
  let hasGreeted = false;
  socket.on('data', (chunk) => {
    isAsked = false;
    if (!hasGreeted) {
      hasGreeted = true;
      clearInterval(watch);
      watch = setInterval(look, maxSilentMs);
    }
    lines.add(chunk);
  });
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      clearInterval(watch);
      const why = isHung
        ? silent
        : 'the gateway closed the connection before it answered; its log says why, see `agent gateway logs`';
      for (const { reject } of waiting.values()) reject(new ConnectionLost(why, { wasSent: true, isHung }));
      waiting.clear();
      resolve();
    });
  });
  const isOpen = (): boolean => !socket.destroyed && !socket.writableEnded;
  const call = (method: string, params: JsonObject = {}): Promise<Json> =>
    new Promise((resolve, reject) => {
      if (!isOpen()) {
        reject(new ConnectionLost('the connection to the gateway is closed', { wasSent: false }));
        return;
      }
      const id = next;
      next += 1;
      const line = formatRequest({ id, method, params: { ...params, ...always } });
      // The gateway would end the connection, and the calls that follow with it.
      if (Buffer.byteLength(line) > maxLineLength) {
        reject(Refusal.carrying('refused', tooLongWords));
        return;
      }
      waiting.set(id, { resolve, reject });
      socket.write(line);
    });
  return {
    call,
    // Results are trusted to have the contract's types.
    ask: call as Ask,
    on: (name, listener) => {
      listeners.add((method, params) => method === name && listener(params as never));
    },
    onNotification(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    isOpen,
    closed,
    close() {
      clearInterval(watch);
      if (socket.closed) return;
      socket.end();
      // A gateway that hangs never ends its side.
      const limit = setTimeout(() => socket.destroy(), maxSilentMs);
      socket.once('close', () => clearTimeout(limit));
    },
  };
}

function refusalOf({ code, message, data }: RpcError): Refusal {
  const cure =
    code === rpcCodes.method
      ? '; the gateway is of another version than this command: `agent gateway stop`, then start it as before, by `agent gateway` or its service'
      : '';
  return Refusal.carrying(data?.code ?? 'refused', message + cure);
}
