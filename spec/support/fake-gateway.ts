/** A control socket that plays the daemon's part for a command, so that it can be given every answer. */

import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import type { Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { homePaths } from '../../machines/config/profile.ts';

interface FakeConnection {
  /** From 1 on. */
  readonly number: number;
  readonly socket: Socket;
  readonly server: Server;
  say(message: object): void;
}

interface FakeRequest {
  readonly id: number;
  readonly method: string;
  readonly params: JsonObject;
}

/** Listens until the spec ends; each line of a client is a request that `answer` may answer. */
export async function fakeGateway(
  t: Pick<Test, 'teardown'>,
  home: string,
  answer: (request: FakeRequest, connection: FakeConnection) => void,
): Promise<Server> {
  const path = homePaths(home).socket;
  mkdirSync(dirname(path), { recursive: true });
  const open = new Set<Socket>();
  let number = 0;
  const server = createServer((socket) => {
    number += 1;
    open.add(socket);
    const connection: FakeConnection = {
      number,
      socket,
      server,
      say: (message) => void socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    };
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    let rest = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) answer(JSON.parse(line) as FakeRequest, connection);
    });
  });
  await once(server.listen(path), 'listening');
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return server;
}
