/**
 * A pooler in front of the Postgres of the specs, as PgBouncer is one: it admits each client itself, with a number of its own,
 * and lends it a connection to the server for one transaction at a time, or for as long as it stays. In statement mode it
 * refuses a transaction.
 */

import { createServer, type Socket } from 'node:net';
import { Client } from 'pg';
import type { Test } from 'tap';
import { listenOn } from './http-listener.ts';

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
/** Admitted; the number and the secret of the connection; ready. */
const welcome = Buffer.concat([
  message('R', Buffer.alloc(4)),
  message('K', Buffer.from([0, 0, 0, 7, 0, 0, 0, 7])),
  message('Z', Buffer.from('I')),
]);
const refusal = message(
  'E',
  Buffer.from('SFATAL\0C08P01\0Mtransaction blocks not allowed in statement pooling mode\0\0'),
);
const terminate = 'X'.charCodeAt(0);
const readyForQuery = 'Z'.charCodeAt(0);
const idle = 'I'.charCodeAt(0);

type Mode = 'statement' | 'transaction' | 'session';

/**
 * Returns the URL by which a database is reached through the pooler.
 * @param mode asked at every answer, because a reload of a pooler can change it
 * @param size how many server connections it has; a client waits for a free one
 */
export async function startPooler(
  t: Pick<Test, 'teardown'>,
  url: string,
  mode: () => Mode,
  size = Number.POSITIVE_INFINITY,
): Promise<string> {
  const free: Socket[] = [];
  const waiting: ((far: Socket) => void)[] = [];
  let made = 0;
  const all: Client[] = [];

  async function borrow(): Promise<Socket> {
    const known = free.pop();
    if (known !== undefined) return known;
    if (made >= size) return new Promise((resolve) => waiting.push(resolve));
    made += 1;
    const client = new Client({ connectionString: url });
    client.on('error', () => {});
    await client.connect();
    all.push(client);
    // From here on the pooler itself reads what the server says.
    return client.connection.stream.removeAllListeners('data') as Socket;
  }

  const server = createServer((near) => {
    let lent: Promise<Socket> | undefined;
    let isAdmitted = false;
    const giveBack = (far: Socket): void => {
      far.removeAllListeners('data');
      lent = undefined;
      const next = waiting.shift();
      if (next === undefined) free.push(far);
      else next(far);
    };
    near.on('error', () => {});
    near.on('close', () => void lent?.then(giveBack));
    near.on('data', (bytes) => {
      if (!isAdmitted) {
        isAdmitted = true;
        near.write(welcome);
      } else if (mode() === 'statement' && bytes.includes('begin')) near.end(refusal);
      else if (bytes[0] !== terminate) {
        lent ??= borrow().then((far) =>
          far.on('data', (answer: Buffer) => {
            near.write(answer);
            const isOver = answer.at(-6) === readyForQuery && answer.at(-1) === idle;
            if (mode() !== 'session' && isOver) giveBack(far);
          }),
        );
        void lent.then((far) => far.write(bytes));
      }
    });
  });
  const port = await listenOn(t, server);
  t.teardown(() => {
    for (const { connection } of all) connection.stream.destroy();
  });
  const at = new URL(url);
  return `postgres://agent@127.0.0.1:${port}${at.pathname}`;
}
