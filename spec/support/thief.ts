/** A listener of this machine that writes down what browsers send it, and tries that on the inspector. */

import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import type { Asking } from './inspector.ts';

export interface Heard {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Thief {
  readonly port: number;
  /** Requests in full, oldest first. */
  readonly heard: readonly Heard[];
  close(): Promise<void>;
}

/** Listens on 127.0.0.1 and answers each request with what the spec makes of it. */
export async function startThief(t: Test, port: number, answer: (heard: Heard) => string): Promise<Thief> {
  const heard: Heard[] = [];
  const server = createServer(async (incoming, response) => {
    const { url: path = '', headers } = incoming;
    let body = '';
    for await (const chunk of incoming as AsyncIterable<Buffer>) body += String(chunk);
    const one = { path, headers, body };
    heard.push(one);
    response.setHeader('content-type', 'text/html').end(answer(one));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  t.teardown(close);
  return { port: (server.address() as AddressInfo).port, heard, close };
}

/** The statuses of the stream and of a command, asked with headers that were heard. */
export async function tryHeard(
  origin: string,
  { host: _, 'set-cookie': __, ...heard }: IncomingHttpHeaders,
): Promise<readonly number[]> {
  const headers = { ...(heard as Record<string, string>), origin, 'sec-fetch-site': 'same-origin' };
  const typed = { ...headers, 'content-type': 'application/json' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'gateway.status', params: {} });
  return [
    await statusOf(`${origin}/stream`, { headers }),
    await statusOf(`${origin}/rpc`, { method: 'POST', headers: typed, body }),
  ];
}

/** A stream that opened would not end. */
function statusOf(url: string, { method = 'GET', headers = {}, body }: Asking): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, (response) => {
      resolve(response.statusCode ?? 0);
      asked.destroy();
    });
    asked.once('error', reject).end(body);
  });
}
