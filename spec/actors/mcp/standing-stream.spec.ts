import { setImmediate, setTimeout as wait } from 'node:timers/promises';
import { type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { createStandingStream } from '../../../actors/mcp/standing-stream.ts';
import { lentTime } from '../../support/lent-time.ts';

type Reply = { readonly status: number; readonly type?: string } | 'stream' | 'refused' | 'hang';

const times = { reopenMs: 15, maxReopenMs: 60, missedPauseMs: 0, holdMs: 0, maxHoldMs: 0, maxResumeMs: 0 };

/** A transport that asks for the stream when it is told to, and a server that answers as told. */
function stage(t: Test, more: Partial<typeof times> = {}) {
  const stream = createStandingStream({ ...times, ...more });
  const ended = new AbortController();
  const time = lentTime(t);
  t.teardown(() => ended.abort());
  const one = { reply: 'stream' as Reply, asked: 0, missed: 0 };
  let last: ReadableStreamDefaultController<Uint8Array> | undefined;
  const fetch = stream.watch(async () => {
    one.asked += 1;
    const { reply } = one;
    if (reply === 'refused') throw new TypeError('fetch failed');
    if (reply === 'hang') return new Promise(() => {});
    if (reply !== 'stream') {
      return new Response(reply.status < 400 ? 'x' : null, {
        status: reply.status,
        headers: { 'content-type': reply.type ?? 'text/plain' },
      });
    }
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        last = controller;
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
  const open = async (): Promise<void> => {
    const answer = await fetch('http://server.test/mcp', { method: 'GET' });
    if (!answer.ok) throw new Error(String(answer.status));
    answer.text().catch(() => {});
  };
  const keep = (): void =>
    stream.keep({
      reopen: open,
      missed: () => {
        one.missed += 1;
      },
      signal: ended.signal,
    });
  return {
    one,
    fetch,
    open,
    keep,
    cut: () => last?.error(new Error('reset')),
    /** Cuts the last stream, also once others follow. */
    cutter: () => {
      const mine = last;
      return () => mine?.error(new Error('reset'));
    },
    send: (text: string) => last?.enqueue(new TextEncoder().encode(text)),
    finish: () => last?.close(),
    end: () => ended.abort(),
    giveBack: () => time.giveBack(),
    /** Several tries from here, and all that follows of them. */
    async aWhile(ms = 500): Promise<void> {
      for (let passed = 0; passed < ms; passed += 5) {
        time.pass(5);
        await setImmediate();
      }
    },
  };
}

t.test('FLT-4 · a stream that breaks, or ends, is opened again, and what it may have said is asked for', async (t) => {
  for (const how of ['cut', 'finish'] as const) {
    const one = stage(t);
    await one.open();
    one.keep();
    t.equal(one.one.missed, 0, 'it stands from the beginning');
    one[how]();
    await one.aWhile();
    t.same([one.one.asked, one.one.missed], [2, 1], how);
    one.end();
    one.giveBack();
  }
});

t.test('FLT-4 · it is tried for as long as the session lives, and no longer', async (t) => {
  for (const reply of ['refused', { status: 503 }, { status: 429 }] as const) {
    const one = stage(t);
    one.one.reply = reply;
    await one.open().catch(() => {});
    one.keep();
    await one.aWhile(15 + 30 + 3 * 60);
    t.same([one.one.asked, one.one.missed], [6, 0], 'later each time, and nothing can be asked for');
    one.one.reply = 'stream';
    await one.aWhile();
    t.equal(one.one.missed, 1);
    one.one.reply = reply;
    one.end();
    one.cut();
    const { asked } = one.one;
    await one.aWhile();
    t.equal(one.one.asked, asked);
    one.giveBack();
  }
});

t.test('FLT-4 · a server that has no such stream is not asked again', async (t) => {
  for (const reply of [{ status: 405 }, { status: 501 }, { status: 404 }, { status: 200, type: 'text/html' }]) {
    const one = stage(t);
    one.one.reply = reply;
    await one.open().catch(() => {});
    one.keep();
    await one.aWhile();
    t.same([one.one.asked, one.one.missed], [1, 0], JSON.stringify(reply));
    one.giveBack();
  }
  // A passing failure before it does not make it one that has such a stream.
  const one = stage(t);
  one.one.reply = { status: 503 };
  await one.open().catch(() => {});
  one.one.reply = { status: 404 };
  one.keep();
  await one.aWhile();
  t.same([one.one.asked, one.one.missed], [2, 0]);
});

t.test(
  'FLT-4 · TRU-2 · a server that gave it and refuses it now may have forgotten the session: it is listed',
  async (t) => {
    const one = stage(t);
    await one.open();
    one.keep();
    one.one.reply = { status: 404 };
    one.cut();
    await one.aWhile(30);
    t.same([one.one.asked, one.one.missed], [2, 1]);
  },
);

t.test('FLT-4 · what broke while the session was opened is made good once it is', async (t) => {
  const one = stage(t);
  await one.open();
  one.cut();
  await one.aWhile();
  t.equal(one.one.asked, 1, 'nobody wants it yet');
  one.keep();
  await one.aWhile();
  t.same([one.one.asked, one.one.missed], [2, 1]);
});

t.test('FLT-4 · where the transport asks for none, as after another status than 202, it is asked for', async (t) => {
  const notice = { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }) };
  for (const [status, asked, missed] of [
    [200, 2, 1],
    [202, 1, 0],
  ] as const) {
    const one = stage(t);
    one.one.reply = { status };
    await one.fetch('http://server.test/mcp', notice);
    one.one.reply = 'stream';
    one.keep();
    await one.aWhile();
    t.same([one.one.asked, one.one.missed], [asked, missed], String(status));
    one.giveBack();
  }
});

t.test('FLT-4 · one that is being asked for is not asked for twice, and posts are none of its business', async (t) => {
  const one = stage(t);
  await one.fetch('http://server.test/mcp', { method: 'POST' });
  one.keep();
  await one.aWhile();
  t.equal(one.one.asked, 1);
  await one.open();
  one.one.reply = 'hang';
  one.cut();
  await one.aWhile();
  t.equal(one.one.asked, 3);
});

t.test('FLT-4 · a stream that ends again and again has its server listed no more often than the pause', async (t) => {
  const one = stage(t, { missedPauseMs: 600_000 });
  await one.open();
  one.keep();
  for (let ends = 1; ends <= 5; ends += 1) {
    one.finish();
    await one.aWhile(50);
    t.equal(one.one.asked, ends + 1);
  }
  t.equal(one.one.missed, 1);
});

t.test(
  'LIF-15 · a stream that ends at once is asked for later each time, however soon the transport asks',
  async (t) => {
    const time = lentTime(t);
    const stream = createStandingStream();
    const asked: number[] = [];
    let lastsMs = 0;
    const fetch = stream.watch(async () => {
      asked.push(performance.now());
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          if (lastsMs === 0) controller.close();
          else setTimeout(() => controller.close(), lastsMs);
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    });
    /** What the SDK does at `retry: 0`. */
    const follow = async (): Promise<void> => {
      for (;;) await (await fetch('http://server.test/mcp', { method: 'GET' })).text();
    };
    void follow();
    const secondsBetween = async (passes: number): Promise<readonly number[]> => {
      asked.length = 0;
      for (let count = 0; count < passes; count += 1) {
        for (let turn = 0; turn < 3; turn += 1) await setImmediate();
        time.pass(500);
      }
      return asked.slice(1).map((at, index) => Math.round((at - (asked[index] ?? 0)) / 1_000));
    };

    t.same((await secondsBetween(500)).slice(0, 8), [1, 2, 4, 8, 16, 32, 60, 60]);
    lastsMs = 5_000;
    await secondsBetween(200);
    t.same((await secondsBetween(60)).slice(0, 3), [5, 5, 5], 'one that lasts is not held back');
  },
);

t.test(
  'LIF-15 · TRU-2 · a resumed stream that ends with its answer holds back no other; one without does, by at most 5 s',
  async (t) => {
    const time = lentTime(t);
    const answer = 'id: 2\ndata: {"jsonrpc":"2.0","id":1,"result":{"text":"\u00fc"}}\n\n';
    const progress = 'id: 2\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"result":1}}\n\n';
    for (const [events, waits] of [
      [answer, [0, 0, 0, 0]],
      [progress, [0, 1, 2, 4, 5, 5]],
      [answer.replace('"result":{"text"', '"error":{"code":1,"message"'), [0, 0, 0, 0]],
      [answer.replace('{"text":"\u00fc"}', '1'), [0, 1, 2, 4]],
      ['id: 2\ndata: \n\n', [0, 1, 2, 4]],
    ] as const) {
      const stream = createStandingStream();
      let asked = 0;
      const fetch = stream.watch(async () => {
        asked += 1;
        const bytes = new TextEncoder().encode(`id: 1\ndata:\n\n${events}`);
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            // Byte by byte, as a network may cut it.
            for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
            controller.close();
          },
        });
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
      });
      const waited: number[] = [];
      for (const _ of waits) {
        const before = asked;
        let seconds = 0;
        let isRead = false;
        const headers = { 'last-event-id': '1' };
        void fetch('http://server.test/mcp', { method: 'GET', headers })
          .then((given) => given.text())
          .then(() => {
            isRead = true;
          });
        await setImmediate();
        while (asked === before) {
          time.pass(1_000);
          seconds += 1;
          await setImmediate();
        }
        while (!isRead) await setImmediate();
        waited.push(seconds);
      }
      t.same(waited, waits, events);
    }
  },
);

t.test('TRU-2 · a stream that ends again before another event is resumed at the same place', async (t) => {
  const answer = { jsonrpc: '2.0', id: 7, result: { content: [] } };
  const resumedAt: (string | null)[] = [];
  const fetch = createStandingStream(times).watch(async (_, init) => {
    const sent = (events: string): Response =>
      new Response(events, { headers: { 'content-type': 'text/event-stream' } });
    if (init?.method !== 'GET') return sent('retry: 1\nid: \u00fc1\ndata:\n\n');
    resumedAt.push(new Headers(init.headers).get('last-event-id'));
    if (resumedAt.length < 3) return sent(': not yet\n\n');
    return sent(`data: ${JSON.stringify(answer)}\n\n`);
  });
  const transport = new StreamableHTTPClientTransport(new URL('http://server.test/mcp'), { fetch });
  const received: JSONRPCMessage[] = [];
  transport.onmessage = (message) => received.push(message);
  t.teardown(() => transport.close());
  await transport.start();
  await transport.send({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'well' } });
  while (received.length === 0) await wait(5);
  t.same(resumedAt, ['\u00fc1', '\u00fc1', '\u00fc1']);
  t.same(received, [answer]);
});

t.test('FLT-4 · TRU-2 · a server that has each answer resumed is not listed because of it', async (t) => {
  for (const hasStream of [true, false]) {
    const one = stage(t);
    const resume = async (): Promise<void> => {
      one.one.reply = 'stream';
      const answer = await one.fetch('http://server.test/mcp', { method: 'GET', headers: { 'last-event-id': '1' } });
      const text = answer.text();
      if (hasStream) return void text.catch(() => {});
      one.finish();
      await text;
    };
    await resume();
    if (!hasStream) one.one.reply = { status: 405 };
    await one.open().catch(() => {});
    one.keep();
    await one.aWhile();
    const { missed } = one.one;
    for (let count = 0; count < 3; count += 1) {
      await resume();
      await one.aWhile();
    }
    t.strictSame([one.one.missed, one.one.asked], [missed, 5], String(hasStream));
    one.end();
    one.giveBack();
  }
});

t.test('FLT-4 · LIF-15 · a stream of changes that is resumed at its own last event is that stream', async (t) => {
  const one = stage(t);
  const resume = (id: string): Promise<Response> =>
    one.fetch('http://server.test/mcp', { method: 'GET', headers: { 'last-event-id': id } });
  await one.open();
  one.keep();
  one.send('id: own-1\ndata:\n\n');
  await one.aWhile(5);
  one.finish();
  await one.aWhile(5);
  const own = await resume('own-1');
  own.text().catch(() => {});
  const cutOwn = one.cutter();
  await one.aWhile();
  t.equal(one.one.missed, 1, 'what was announced in between may be lost');

  for (const id of ['call-1', 'call-2']) {
    const call = await resume(id);
    call.text().catch(() => {});
    await one.aWhile();
  }
  t.strictSame([one.one.missed, one.one.asked], [1, 4], 'a call that is resumed beside it shows no gap');

  cutOwn();
  await one.aWhile();
  t.strictSame([one.one.missed, one.one.asked], [2, 5], 'it is opened again while a call is resumed');

  one.one.reply = { status: 405 };
  await resume('call-3');
  one.one.reply = 'stream';
  one.cut();
  await one.aWhile();
  t.equal(one.one.asked, 7, 'also after a server that resumes no call');
});

t.test('LIF-15 · a stream of changes that ends at once and is resumed is held back like one that is not', async (t) => {
  const time = lentTime(t);
  let asked = 0;
  const fetch = createStandingStream().watch(async () => {
    asked += 1;
    return new Response('id: 1\ndata:\n\n', { headers: { 'content-type': 'text/event-stream' } });
  });
  const waited: number[] = [];
  for (let count = 0; count < 8; count += 1) {
    const before = asked;
    let [seconds, isRead] = [0, false];
    void fetch('http://server.test/mcp', { method: 'GET', headers: count === 0 ? {} : { 'last-event-id': '1' } })
      .then((answer) => answer.text())
      .then(() => {
        isRead = true;
      });
    for (await setImmediate(); asked === before; await setImmediate()) {
      time.pass(1_000);
      seconds += 1;
    }
    while (!isRead) await setImmediate();
    waited.push(seconds);
  }
  t.same(waited, [0, 1, 2, 4, 8, 16, 32, 60]);
});

t.test('FLT-4 · an answer of another type is no stream for the transport either, which would ask again', async (t) => {
  const time = lentTime(t);
  let asked = 0;
  const fetch = createStandingStream(times).watch(async (_, init) => {
    if (init?.method !== 'GET') return new Response(null, { status: 202 });
    asked += 1;
    return new Response('{"status":"ok"}', { headers: { 'content-type': 'application/json' } });
  });
  const transport = new StreamableHTTPClientTransport(new URL('http://server.test/mcp'), { fetch });
  t.teardown(() => transport.close());
  await transport.start();
  await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  for (let second = 0; second < 10; second += 1) {
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
    time.pass(1_000);
  }
  t.equal(asked, 1);
});

t.test('TRU-2 · only a request is refused for HTTP 202 where there is no stream', async (t) => {
  const { fetch, one } = stage(t);
  one.reply = { status: 202 };
  const post = (message: object) =>
    fetch('http://server.test/mcp', { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
  await t.rejects(post({ id: 1, method: 'tools/call', params: {} }), { message: /^HTTP 202, which is for a message/ });
  t.equal((await post({ method: 'notifications/cancelled', params: { requestId: 1 } })).status, 202);
  const paid = { id: 1, result: { action: 'accept', content: { method: 'card' } } };
  t.equal((await post(paid)).status, 202, 'an answer to the server, whatever is in it');
});
