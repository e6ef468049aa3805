import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import { createBlockReader, guarded, listenOnce } from '../../../../../runtime/inspector/page/data/listen.ts';
import { listenHttp } from '../../../../support/http-listener.ts';
import { lentTime } from '../../../../support/lent-time.ts';
import { fc } from '../../../../support/property.ts';
import { deferred } from '../../../../support/turns.ts';

const at = (address: string) => (signal: AbortSignal) => fetch(address, { signal });

/** A daemon's stream that says what it is given to say, and knows who has left it. */
async function streamOf(t: Test, report: (res: ServerResponse) => void) {
  const left: Promise<unknown>[] = [];
  const { url } = await listenHttp(t, (_, res) => {
    left.push(once(res, 'close'));
    report(res);
  });
  return { address: `${url}/stream`, left };
}

t.test('INS-2 · a view that fails at an event ends no stream: what follows is heard', async (t) => {
  const heard: string[] = [];
  const failures: unknown[] = [];
  const { address, left } = await streamOf(t, (res) => {
    res.end('event: delta\ndata: broken\n\nevent: delta\ndata: whole\n\n');
  });

  const ended = await listenOnce({
    open: at(address),
    take: ({ data }) => {
      if (data === 'broken') throw new Error('a view is broken');
      heard.push(data);
    },
    failed: (error) => failures.push(error),
  });

  t.equal(ended, 'lost', 'it ended as the daemon ended it');
  t.same(heard, ['whole']);
  t.match(failures, [{ message: 'a view is broken' }]);
  t.equal(left.length, 1, 'and it is not opened again');
});

t.test('INS-2 · a stream that is not read to its end is left, so that none stays open beside the next', async (t) => {
  const { address, left } = await streamOf(t, (res) => {
    res.write('event: delta\ndata: the first of a stream that goes on\n\n');
  });

  const ended = await listenOnce({
    open: at(address),
    take: () => {
      throw new Error('a view is broken');
    },
    failed: (error) => {
      throw error;
    },
  });

  t.equal(ended, 'lost');
  t.equal(left.length, 1);
  await Promise.all(left);
});

t.test('INS-2 · an unknown session is distinguished from an unreachable daemon', async (t) => {
  const quiet = { take: () => {}, failed: () => {} };
  for (const [status, expected] of [
    [401, 'refused'],
    [403, 'refused'],
    [500, 'lost'],
  ] as const) {
    const { address, left } = await streamOf(t, (res) => void res.writeHead(status).write('more to come'));
    t.equal(await listenOnce({ ...quiet, open: at(address) }), expected, String(status));
    await Promise.all(left);
  }
  t.equal(await listenOnce({ ...quiet, open: at('http://127.0.0.1:1/stream') }), 'lost');
});

t.test('INS-2 · a stream without a message for 8 s is lost, before its answer and after a message', async (t) => {
  const time = lentTime(t);
  /** Answers with a stream that ends only when it is aborted. */
  const hanging = (signal: AbortSignal, body: string | undefined): Promise<Response> =>
    new Promise((resolve, reject) => {
      if (body === undefined) return signal.addEventListener('abort', () => reject(signal.reason));
      const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
        controller.enqueue(new TextEncoder().encode(body));
        signal.addEventListener('abort', () => controller.error(signal.reason));
      };
      resolve(new Response(new ReadableStream({ start })));
    });
  for (const body of [undefined, 'event: health\ndata: {}\n\n']) {
    let ended: string | undefined;
    const heard = deferred<void>();
    const listening = listenOnce({
      open: (signal) => hanging(signal, body),
      take: () => heard.resolve(),
      failed: () => {},
    }).then((how) => {
      ended = how;
    });
    time.pass(7_999);
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(ended, undefined, 'within the limit');
    if (body !== undefined) {
      await heard.promise;
      await new Promise((resolve) => setImmediate(resolve));
      time.pass(7_999);
      await new Promise((resolve) => setImmediate(resolve));
      t.equal(ended, undefined, 'a message begins the limit anew');
    }
    time.pass(1);
    await listening;
    t.equal(ended, 'lost');
  }
});

t.test('INS-2 · a listener that fails keeps the others from nothing', async (t) => {
  const failures: unknown[] = [];
  const heard: string[] = [];
  const listeners = [
    () => {
      throw new Error('a view is broken');
    },
    () => heard.push('second'),
  ];
  for (const listener of listeners) guarded(listener, (error) => failures.push(error));
  t.same(heard, ['second']);
  t.equal(failures.length, 1);
});

const events = [
  { name: 'snapshot', data: '{"actors":[]}' },
  { name: 'delta', data: '{"gone":["a\\n\\nb"]}' },
  { name: 'health', data: '{}' },
];
const text = `retry: 1000\n\n${events.map(({ name, data }) => `event: ${name}\ndata: ${data}\n\n`).join('')}`;

t.test('INS-2 · events are the same wherever the stream was cut', async (t) => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: text.length - 1 })), (cuts) => {
      const take = createBlockReader();
      const at = [0, ...cuts.sort((one, other) => one - other), text.length];
      const taken = at.slice(1).flatMap((end, nth) => take(text.slice(at[nth], end)));
      return JSON.stringify(taken) === JSON.stringify(events);
    }),
  );
  t.same(createBlockReader()(text), events);
});

t.test('INS-2 · a partial event is kept until it is complete, and lines of data are joined', async (t) => {
  const take = createBlockReader();
  t.same(take('data: one\n'), []);
  t.same(take(''), []);
  t.same(take('data: two\n\n: a comment\n\n'), [{ name: 'message', data: 'one\ntwo' }]);
});
