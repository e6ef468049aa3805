/**
 * A load of signed events over keep-alive connections, each with its own delivery id and body. Signatures are made
 * beforehand, so that the sender's work stays small beside the receiver's.
 */

import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { secret } from './handler.ts';

export interface LoadRequest {
  readonly port: number;
  readonly path: string;
  readonly connections: number;
  readonly requests: number;
  /** Told apart from the ids of other rounds. */
  readonly round: string;
  /** How many groups the events join in turn; left out: one. */
  readonly groups?: number;
  /** Whether the secret is also sent as a token: some receivers check no signature. */
  readonly asBearer?: boolean;
}

export interface PacedRequest extends LoadRequest {
  /** Requests a second, whether or not the receiver keeps up. */
  readonly perSecond: number;
}

export interface LoadResult {
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers that were not 2xx. */
  readonly refused: number;
}

/** Neighbours in time join groups that lie apart. */
const stride = 7_919;
/** About the size of GitHub's push event. */
const padding = 'x'.repeat(1_300);

export async function sendLoad(load: LoadRequest): Promise<LoadResult> {
  const latencies: number[] = [];
  let sent = 0;
  let refused = 0;
  const { groups = 1 } = load;
  const requests = signedRequests(load, (number) => (groups === 1 ? 'one' : `group-${(number * stride) % groups}`));
  const began = performance.now();
  await Promise.all(
    Array.from({ length: load.connections }, async () => {
      const { ask, close } = await connection(load.port);
      await new Promise<void>((resolve) => {
        const next = (): void => {
          if (sent >= load.requests) {
            close();
            resolve();
            return;
          }
          sent += 1;
          const askedAt = performance.now();
          ask(requests(sent), (ok) => {
            if (!ok) refused += 1;
            latencies.push(performance.now() - askedAt);
            next();
          });
        };
        next();
      });
    }),
  );
  const seconds = (performance.now() - began) / 1_000;
  return resultOf(seconds, refused, latencies);
}

/** Sends at a pace of its own. A request that finds every connection busy waits, and its wait counts. */
export async function sendPaced(load: PacedRequest): Promise<LoadResult> {
  const latencies: number[] = [];
  const idle: Connection[] = [];
  const due: number[] = [];
  let refused = 0;
  const requests = signedRequests(load, () => 'one');
  let sent = 0;
  let settled = (): void => {};
  const send = (connection: Connection, dueAtMs: number): void => {
    sent += 1;
    connection.ask(requests(sent), (ok) => {
      latencies.push(performance.now() - dueAtMs);
      if (!ok) refused += 1;
      const next = due.shift();
      if (next === undefined) idle.push(connection);
      else send(connection, next);
      if (latencies.length === load.requests) settled();
    });
  };
  idle.push(...(await Promise.all(Array.from({ length: load.connections }, () => connection(load.port)))));
  const all = [...idle];
  const began = performance.now();
  await new Promise<void>((resolve) => {
    settled = resolve;
    let scheduled = 0;
    const tick = (): void => {
      const nowMs = performance.now();
      // Those of one millisecond leave together: a sender that spins for the time between them would take a processor away.
      for (; scheduled < load.requests && began + (scheduled * 1_000) / load.perSecond <= nowMs; scheduled += 1) {
        const free = idle.pop();
        if (free === undefined) due.push(nowMs);
        else send(free, nowMs);
      }
      if (scheduled < load.requests) setTimeout(tick, 1);
    };
    tick();
  });
  const seconds = (performance.now() - began) / 1_000;
  for (const { close } of all) close();
  return resultOf(seconds, refused, latencies);
}

interface Connection {
  /** One request at a time; calls back with whether the answer was 2xx. */
  ask(text: string, answered: (ok: boolean) => void): void;
  close(): void;
}

/** A request is asked anew so many times where the receiver closes its connection. */
const maxTries = 3;

/** A connection that the receiver has closed, as it may while nothing is asked, is made anew. */
async function connection(port: number): Promise<Connection> {
  let asked: { readonly text: string; readonly answered: (ok: boolean) => void; tries: number } | undefined;
  let socket: Socket;
  const settle = (ok: boolean): void => {
    const answered = asked?.answered;
    asked = undefined;
    answered?.(ok);
  };
  const send = (): void => {
    if (asked === undefined) return;
    asked.tries += 1;
    if (asked.tries > maxTries) settle(false);
    else socket.write(asked.text);
  };
  const open = async (): Promise<void> => {
    const mine = await opened(port);
    socket = mine;
    let waiting = '';
    // Also where it ends under a request: one that ends while none is asked is found closed by the next.
    mine.on('error', () => {}).on('close', () => asked !== undefined && void again());
    mine.on('data', (chunk: Buffer) => {
      waiting += chunk.toString('latin1');
      if (!isWhole(waiting)) return;
      const ok = waiting.startsWith('HTTP/1.1 2');
      waiting = '';
      settle(ok);
    });
  };
  const again = (): Promise<void> => open().then(send, () => settle(false));
  await open();
  return {
    ask(text, answered) {
      asked = { text, answered, tries: 0 };
      // What has been closed at the other side alone shows so by its end.
      if (socket.readyState === 'open') send();
      else if (socket.closed) void again();
    },
    close() {
      asked = undefined;
      socket.destroy();
    },
  };
}

function isWhole(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n');
  return end >= 0 && answer.length >= end + 4 + Number(/content-length: (\d+)/i.exec(answer)?.[1] ?? 0);
}

/** Returns the text of each request by its number, from 1: no two are signed alike, for a second one would be a duplicate. */
function signedRequests(load: LoadRequest, groupOf: (number: number) => string): (number: number) => string {
  const { path, round, asBearer } = load;
  const bodyOf = (number: number): string =>
    `{"id":"${groupOf(number)}","action":"opened","repository":{"full_name":"acme/site"},"delivery":"${round}-${number}","padding":"${padding}"}`;
  const digests = Array.from({ length: load.requests }, (_, index) =>
    createHmac('sha256', secret)
      .update(bodyOf(index + 1))
      .digest('hex'),
  );
  const start = `POST ${path} HTTP/1.1\r\nhost: localhost\r\nuser-agent: GitHub-Hookshot/bench\r\ncontent-type: application/json\r\n${asBearer ? `authorization: Bearer ${secret}\r\n` : ''}`;
  return (number) => {
    const body = bodyOf(number);
    return `${start}content-length: ${body.length}\r\nx-github-event: push\r\nx-hub-signature-256: sha256=${digests[number - 1]}\r\nx-github-delivery: ${round}-${number}\r\n\r\n${body}`;
  };
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

function resultOf(seconds: number, refused: number, latencies: readonly number[]): LoadResult {
  const sorted = [...latencies].sort((one, other) => one - other);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { seconds, refused, p50Ms: at(0.5), p99Ms: at(0.99) };
}
