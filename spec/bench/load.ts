/**
 * A load of signed events over keep-alive connections, each with its own delivery id. Requests are built beforehand, so
 * that the sender's work stays small beside the receiver's.
 */

import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';

export interface LoadRequest {
  readonly port: number;
  readonly path: string;
  readonly secret: string;
  readonly connections: number;
  readonly requests: number;
  /** Told apart from the ids of other rounds. */
  readonly round: string;
  /** The newest event of a group, or groups of their own. */
  readonly groups?: boolean;
}

export interface LoadResult {
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers that were not 2xx. */
  readonly refused: number;
}

/** About the size of a code host's push event. */
const padding = 'x'.repeat(1_300);

export async function sendLoad(load: LoadRequest): Promise<LoadResult> {
  const latencies: number[] = [];
  let sent = 0;
  let refused = 0;
  const fixed = load.groups === true ? undefined : signed(load, 'one');
  const began = performance.now();
  await Promise.all(
    Array.from({ length: load.connections }, async () => {
      const socket = await opened(load.port);
      await new Promise<void>((resolve, reject) => {
        let askedAt = 0;
        let waiting = '';
        const next = (): void => {
          if (sent >= load.requests) {
            socket.destroy();
            resolve();
            return;
          }
          sent += 1;
          askedAt = performance.now();
          const { head, body } = fixed ?? signed(load, `${load.round}-${sent}`);
          socket.write(`${head}x-github-delivery: ${load.round}-${sent}\r\n\r\n${body}`);
        };
        socket.on('data', (chunk: Buffer) => {
          waiting += chunk.toString('latin1');
          const end = waiting.indexOf('\r\n\r\n');
          if (end < 0) return;
          const length = Number(/content-length: (\d+)/i.exec(waiting)?.[1] ?? 0);
          if (waiting.length < end + 4 + length) return;
          if (!waiting.startsWith('HTTP/1.1 2')) refused += 1;
          waiting = '';
          latencies.push(performance.now() - askedAt);
          next();
        });
        socket.on('error', reject);
        next();
      });
    }),
  );
  const seconds = (performance.now() - began) / 1_000;
  latencies.sort((one, other) => one - other);
  return { seconds, refused, p50Ms: at(latencies, 0.5), p99Ms: at(latencies, 0.99) };
}

function signed({ path, secret }: LoadRequest, id: string): { readonly head: string; readonly body: string } {
  const body = JSON.stringify({ id, action: 'opened', repository: { full_name: 'acme/site' }, padding });
  const digest = createHmac('sha256', secret).update(body).digest('hex');
  const head =
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\nuser-agent: GitHub-Hookshot/bench\r\ncontent-type: application/json\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nx-github-event: push\r\nx-hub-signature-256: sha256=${digest}\r\n`;
  return { head, body };
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
