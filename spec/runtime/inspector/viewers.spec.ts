import { connect } from 'node:net';
import t from 'tap';
import type { DeltaMessage, Health, SnapshotMessage } from '../../../runtime/control/contract/wire.ts';
import type { Feed } from '../../../runtime/inspector/feed.ts';
import { createViewers } from '../../../runtime/inspector/viewers.ts';
import { listenHttp } from '../../support/http-listener.ts';

t.test('INS-2 · a viewer that does not read gets no more until it reads, and then the present', async (t) => {
  const listeners = new Set<(delta: DeltaMessage) => void>();
  let snapshots = 0;
  const feed: Feed = {
    snapshot() {
      snapshots += 1;
      return { at: snapshots, actors: [], more: {}, steps: [], health: {} as Health } satisfies SnapshotMessage;
    },
    health: () => ({}) as Health,
    followers: () => listeners.size,
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const viewers = createViewers(feed);
  let waiting = 0;
  const { port } = await listenHttp(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    viewers.add(response);
    const watch = setInterval(() => {
      waiting = Math.max(waiting, response.writableLength);
    }, 1);
    response.on('close', () => clearInterval(watch));
  });
  const viewer = connect(port, '127.0.0.1');
  viewer.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await new Promise<void>((resolve) => viewer.once('data', () => resolve()));
  viewer.pause();
  t.equal(snapshots, 1);

  const big = { at: 0, changed: [], gone: ['x'.repeat(100_000)], steps: [], skipped: 0 };
  for (let count = 0; count < 500; count += 1) {
    for (const listener of listeners) listener(big);
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.ok(waiting < 2 * 1_048_576, `${waiting} bytes waited of the fifty million that there were to report`);
  t.equal(snapshots, 1);

  let heard = '';
  const again = new Promise<void>((resolve) => {
    viewer.setEncoding('latin1').on('data', (chunk: string) => {
      heard = (heard + chunk).slice(-200_000);
      if (heard.includes('"at":2')) resolve();
    });
  });
  viewer.resume();
  await again;
  t.equal(snapshots, 2, 'a fresh snapshot, once what it had was read');
  viewer.destroy();
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (listeners.size === 0) resolve();
      else setImmediate(look);
    };
    look();
  });
  t.equal(listeners.size, 0, 'the last viewer leaves the feed');
});
