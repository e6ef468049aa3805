/**
 * Measures what looking on costs a request: the same gateway without an inspector, with one without a viewer, with a
 * page, and with a terminal that follows. The eyes are in this process, so that only what the daemon does for them counts.
 * @see INS-3 in docs/specification.md
 */

import { get } from 'node:http';
import { connectControl } from '../../runtime/control/client.ts';
import { headersOf, linkOf } from '../support/inspector.ts';
import { keepResults } from './last.ts';
import { bytesBy, type Cost, measureReceiver, type Running, type Subject, start, stop } from './receiver.ts';
import { printAll } from './table.ts';
import { watchTable } from './tables.ts';

interface Watched extends Subject {
  /** Looks on until the returned function is called. */
  readonly look?: (home: string) => Promise<() => void>;
}

export interface WatchCost extends Cost {
  /** Bytes that the daemon allocates for a request; NaN where it was not sampled. */
  readonly bytes: number;
}

const path = '/webhooks/held';
const words = ['gateway', 'memory', 'auto', '1'];
const subjects: readonly Watched[] = [
  { name: 'no inspector', words: [...words, 'off'], path },
  { name: 'no viewer', words: [...words, 'on'], path },
  { name: 'a page looks', words: [...words, 'on'], path, look: openStream },
  { name: 'a terminal follows', words: [...words, 'on'], path, look: follow },
];
const sampled = 15_000;

export async function measureWatch(quick: boolean): Promise<void> {
  const order = quick ? { rounds: 4, requests: 3_000 } : { rounds: 12, requests: 15_000 };
  const ends: (() => void)[] = [];
  const opened = async ({ subject, home }: Running): Promise<void> => {
    const { look } = subject as Watched;
    if (look !== undefined) ends.push(await look(home));
  };
  const costs = await measureReceiver({ subjects, ...order, opened });
  for (const end of ends) end();
  const rows: WatchCost[] = [];
  for (const [at, cost] of costs.entries()) {
    const subject = subjects[at];
    rows.push({
      ...cost,
      bytes: quick || subject === undefined || subject.look !== undefined ? Number.NaN : await bytesOf(subject),
    });
  }
  keepResults({ watch: rows });
  printAll(watchTable(rows));
}

async function bytesOf(subject: Subject): Promise<number> {
  const server = await start(subject);
  const bytes = await bytesBy(server, 'allocation', sampled);
  stop(server);
  return bytes;
}

/** The page's own stream, read and thrown away. */
async function openStream(home: string): Promise<() => void> {
  const link = await linkOf(home);
  const headers = await headersOf(link);
  const request = get(`${headers.origin}/stream`, { headers }, (response) => response.resume());
  request.on('error', () => {});
  return () => request.destroy();
}

async function follow(home: string): Promise<() => void> {
  const client = await connectControl(`${home}/gateway.sock`);
  client?.onNotification(() => {});
  await client?.call('inspect.follow', {});
  return () => client?.close();
}
