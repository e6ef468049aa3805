/** What every HTTP server must do, whatever stands behind it. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Test } from 'tap';
import type { BodyOutcome, Exchange, HttpServer, OpenHttpServer } from '../../runtime/http/http-server.ts';
import { answersIn, openRaw, type RawConnection } from '../support/raw-http.ts';

const cap = 100;

interface Held {
  readonly httpServer: HttpServer;
  /** Every exchange so far, with what came of its body. */
  readonly seen: { readonly exchange: Exchange; readonly outcome: Promise<BodyOutcome> }[];
  readonly next: () => Promise<{ readonly exchange: Exchange; readonly outcome: Promise<BodyOutcome> }>;
}

/** Opens an HTTP server whose handler reads the body up to the cap and answers with what it got, unless it is to hold back. */
async function open(
  t: Test,
  openHttpServer: OpenHttpServer,
  { holds = false, bodyTimeoutMs = 5_000, headTimeoutMs = 10_000 } = {},
): Promise<Held> {
  const seen: { readonly exchange: Exchange; readonly outcome: Promise<BodyOutcome> }[] = [];
  const waiting: ((one: (typeof seen)[number]) => void)[] = [];
  const httpServer = await openHttpServer({ host: '127.0.0.1', port: 0, bodyTimeoutMs, headTimeoutMs }, (exchange) => {
    const outcome = new Promise<BodyOutcome>((resolve) => exchange.readBody(cap, resolve));
    const one = { exchange, outcome };
    seen.push(one);
    waiting.shift()?.(one);
    if (holds) return;
    void outcome.then((body) => {
      const status = body.kind === 'tooLarge' ? 413 : 200;
      const { method, path, headers } = exchange.head;
      exchange.reply({
        status,
        body: JSON.stringify({
          kind: body.kind,
          method,
          path,
          size: body.kind === 'read' ? body.bytes.length : -1,
          x: headers['x-test'] ?? null,
        }),
        headers: { 'x-more': 'yes' },
      });
    });
  });
  t.teardown(() => httpServer.close(0));
  return { httpServer, seen, next: () => new Promise((resolve) => waiting.push(resolve)) };
}

const post = (length: number, body: string, more = ''): string =>
  `POST /a HTTP/1.1\r\nhost: x\r\n${more}content-length: ${length}\r\n\r\n${body}`;

export function httpServerContract(t: Test, name: string, openHttpServer: OpenHttpServer): void {
  t.test(`${name}: RTE-4 · no header of an answer names the server`, async (t) => {
    const { httpServer } = await open(t, openHttpServer);
    const answer = await fetch(`http://127.0.0.1:${httpServer.port}/a`, { method: 'POST', body: 'x' });
    t.same(
      [...answer.headers.keys()].filter((name) => /server|powered|uwebsockets/i.test(name)),
      [],
    );
    t.equal(answer.headers.get('x-more'), 'yes');
  });

  t.test(`${name}: LIM-1 · exactly the cap passes, one more is refused before it is read`, async (t) => {
    const { httpServer } = await open(t, openHttpServer);
    const fits = await openRaw(httpServer.port, post(cap, 'x'.repeat(cap)));
    t.match(await fits.received((text) => text.includes('}')), /200 OK[\s\S]*"size":100/);
    const over = await openRaw(httpServer.port, post(cap + 1, ''));
    t.match(
      await over.received((text) => text.includes('}')),
      /^HTTP\/1\.1 413/,
      'answered though no byte of the body was sent',
    );
    await over.closed;
  });

  // uWebSockets.js closes at once (decision 0006).
  t.test(
    `${name}: RTE-4 · a sender that reads after it has sent everything gets the early answer`,
    { skip: name === 'uws' },
    async (t) => {
      const { httpServer } = await open(t, openHttpServer);
      const body = 'x'.repeat(4_000_000);
      const rows = {
        'a declared length over the cap': post(body.length, body),
        'a chunked body over the cap': `POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
        'a head that is no HTTP': `no HTTP\r\n\r\n${body}`,
        'bytes behind a close': `${post(2, 'hi', 'connection: close\r\n')}${body}`,
      };
      for (const [title, bytes] of Object.entries(rows)) {
        const raw = await openRaw(httpServer.port);
        const failures: unknown[] = [];
        raw.socket.on('error', ({ code }: NodeJS.ErrnoException) => failures.push(code));
        raw.socket.pause();
        await new Promise((resolve) => raw.socket.write(bytes, resolve));
        raw.socket.resume();
        await raw.closed;
        t.same([answersIn(await raw.received(() => true)).length, failures], [1, []], title);
      }
    },
  );

  t.test(`${name}: LIM-1 · a chunked body is cut off at the cap`, async (t) => {
    const { httpServer } = await open(t, openHttpServer);
    const chunked = await openRaw(httpServer.port);
    chunked.write('POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n32\r\n');
    chunked.write(`${'x'.repeat(50)}\r\n32\r\n${'x'.repeat(50)}\r\n0\r\n\r\n`);
    t.match(await chunked.received((text) => text.includes('}')), /"size":100/);
    const endless = await openRaw(httpServer.port, 'POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
    endless.write(`65\r\n${'x'.repeat(101)}\r\n`);
    t.match(await endless.received((text) => text.includes('}')), /^HTTP\/1\.1 413/);
    await endless.closed;
  });

  t.test(`${name}: RTE-3 · the head arrives as it was sent`, async (t) => {
    const { httpServer } = await open(t, openHttpServer);
    const raw = await openRaw(httpServer.port);
    raw.write(
      'PUT /webhooks/a%2Fb%20c?q=1 HTTP/1.1\r\nhost: x\r\nX-Test: one\r\nx-test: two\r\ncontent-length: 0\r\n\r\n',
    );
    const text = await raw.received((received) => received.includes('}'));
    t.match(text, /"method":"PUT","path":"\/webhooks\/a%2Fb%20c","size":0,"x":"one, two"/);
    t.match(text, /content-type: application\/json/i);
    t.match(text, /x-more: yes/i);
  });

  t.test(
    `${name}: RTE-3 · HEAD is answered without a body, as often as it is asked, and closes where it is asked to`,
    async (t) => {
      const { httpServer } = await open(t, openHttpServer);
      const head = (more: string): string => `HEAD /a HTTP/1.1\r\nhost: x\r\n${more}\r\n`;
      const raw = await openRaw(httpServer.port);
      for (let count = 1; count <= 3; count += 1) {
        raw.write(head(''));
        await raw.received((text) => answersIn(text).length === count && text.endsWith('\r\n\r\n'));
      }
      t.match(await raw.received(() => true), /content-length: [1-9]\d*\r\n/i, 'the length is that of the body');
      raw.socket.destroy();
      for (const asked of ['close', 'Close', 'TE, close', 'close, TE']) {
        const closing = await openRaw(httpServer.port, head(`connection: ${asked}\r\n`));
        await closing.closed;
        t.match(await closing.received(() => true), /^HTTP\/1\.1 200[\s\S]*\r\n\r\n$/, asked);
      }
      const unread = await openRaw(httpServer.port, head(`content-length: ${cap + 1}\r\n`));
      await unread.closed;
      t.match(await unread.received(() => true), /^HTTP\/1\.1 413[\s\S]*\r\n\r\n$/);
    },
  );

  t.test(`${name}: SEC-8 · the sender is known as long as nothing is answered, also after the body`, async (t) => {
    const { httpServer, next } = await open(t, openHttpServer, { holds: true });
    const arrived = next();
    (await openRaw(httpServer.port)).write(post(1, 'x'));
    const { exchange, outcome } = await arrived;
    await outcome;
    await new Promise((resolve) => setImmediate(resolve));
    t.match(exchange.address, /127\.0\.0\.1$/);
    exchange.reply({ status: 200, body: '' });
  });

  t.test(`${name}: RTE-3 · a connection is closed where the client asks for it, in a list too`, async (t) => {
    const { httpServer } = await open(t, openHttpServer);
    for (const asked of ['close', 'TE, Close']) {
      const raw = await openRaw(httpServer.port, post(2, 'hi', `connection: ${asked}\r\n`));
      await raw.closed;
      t.match(await raw.received(() => true), /^HTTP\/1\.1 200[\s\S]*"size":2/, asked);
    }
  });

  t.test(`${name}: DIS-1 · a chunked body that the library refuses later reaches no handler`, async (t) => {
    const { httpServer, seen } = await open(t, openHttpServer);
    const raw = await openRaw(httpServer.port);
    raw.write('POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-A: 1\r\n\r\n');
    const [status] = answersIn(await raw.received((received) => /\}|<\/i>/.test(received)));
    t.equal((await seen[0]?.outcome)?.kind, status === '200' ? 'read' : 'aborted');
    raw.socket.destroy();
  });

  t.test(`${name}: CON-2 · one connection serves many requests, one after another`, async (t) => {
    const { httpServer, seen } = await open(t, openHttpServer);
    const raw = await openRaw(httpServer.port);
    for (let count = 1; count <= 5; count += 1) {
      raw.write(post(2, 'hi'));
      await raw.received((text) => (text.match(/\}/g) ?? []).length === count);
    }
    t.equal(seen.length, 5);
  });

  t.test(`${name}: SIG-2 · pipelined requests are answered in order, or the connection ends`, async (t) => {
    const { httpServer } = await open(t, openHttpServer);
    const raw = await openRaw(httpServer.port, post(1, '1') + post(2, '22') + post(3, '333'));
    const text = await raw.received((received) => answersIn(received).length === 3);
    const sizes = [...text.matchAll(/"size":(\d)/g)].map(([, size]) => size);
    t.same(sizes, ['1', '2', '3'].slice(0, sizes.length), 'never mixed up');
    t.ok(sizes.length >= 1);
  });

  t.test(`${name}: SEC-3 · a connection that pipelines without end is closed, and the rest is not read`, async (t) => {
    const { httpServer, seen } = await open(t, openHttpServer);
    let parsed = 0;
    const count = (): void => {
      parsed += 1;
    };
    subscribe('http.server.request.start', count);
    t.teardown(() => unsubscribe('http.server.request.start', count));
    const raw = await openRaw(httpServer.port, post(1, '1').repeat(300) + post(1, '1', 'connection: close\r\n'));
    await raw.closed;
    if (httpServer.kind === 'uws') {
      t.equal(seen.length, 101, 'the last one is the first whose answer waits');
      return;
    }
    const text = await raw.received(() => true);
    t.same([seen.length, parsed, answersIn(text).length], [100, 100, 100]);
    t.equal(text.match(/^connection: close/gim)?.length, 1);
  });

  t.test(
    `${name}: SIG-2 · a request pipelined behind one that waits is answered after it, or neither is`,
    async (t) => {
      const { httpServer, seen, next } = await open(t, openHttpServer, { holds: true });
      const arriving = next();
      const second = next();
      const raw = await openRaw(httpServer.port, post(1, '1') + post(2, '22'));
      const { exchange, outcome } = await arriving;

      if (httpServer.kind === 'uws') {
        // The library ends the connection; the first request was whole, so the gateway carries it through.
        await raw.closed;
        exchange.reply({ status: 202, body: '{}' });
        t.same([await outcome, seen.length], [{ kind: 'read', bytes: Buffer.from('1') }, 1]);
        t.equal(await raw.received(() => true), '');
        return;
      }
      await outcome;
      exchange.reply({ status: 202, body: '{"first":true}' });
      const behind = await second;
      await behind.outcome;
      behind.exchange.reply({ status: 200, body: '{"second":true}' });
      t.match(
        await raw.received((text) => text.includes('second')),
        /^HTTP\/1\.1 202[\s\S]*first[\s\S]*HTTP\/1\.1 200/,
      );

      const both = [next(), next()];
      const left = await openRaw(httpServer.port, post(1, '1') + post(2, '22'));
      const leaving = (await Promise.all(both)).map(
        ({ exchange }) => new Promise<void>((resolve) => exchange.whenLeft?.(resolve)),
      );
      left.socket.destroy();
      await Promise.all(leaving);
    },
  );

  // uWebSockets.js ends the connection with any request behind one that waits.
  const skip = name === 'uws';
  t.test(
    `${name}: RTE-4 · a body that stalls or breaks off takes no answer from the requests before it`,
    { skip },
    async (t) => {
      const stalled = 'POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n';
      for (const rest of ['', 'no chunk\r\n']) {
        const { httpServer, next } = await open(t, openHttpServer, { holds: true, bodyTimeoutMs: 300 });
        const [arriving, second] = [next(), next()];
        const raw = await openRaw(httpServer.port, post(1, '1') + stalled + rest);
        const { exchange } = await arriving;
        t.same(await (await second).outcome, { kind: 'aborted' });
        raw.write(post(1, '3'));
        exchange.reply({ status: 202, body: '{}' });
        await raw.closed;
        t.match(await raw.received(() => true), /^HTTP\/1\.1 202[\s\S]*connection: close[\s\S]*\{\}$/i, rest);
      }
    },
  );

  t.test(
    `${name}: SIG-2 · a value arrives as the bytes that were sent, as far as the HTTP server sees them`,
    async (t) => {
      const { httpServer, next } = await open(t, openHttpServer);
      // What was sent, what node:http gives, and what uWebSockets.js gives where that is less.
      const rows: readonly (readonly [sent: string, exact: string, uws?: string])[] = [
        ['a b\tc', 'a b\tc'],
        ['gehei\xc3\x9fm', 'gehei\xc3\x9fm'],
        ['\xc3\x9fm', '\xc3\x9fm', 'm'],
        ['geheimnis\xc3\x9f', 'geheimnis\xc3\x9f', 'geheimnis'],
        ['a\xffb', 'a\xffb', 'a\xef\xbf\xbdb'],
        ['\xff', '\xff', ''],
      ];
      for (const [sent, exact, uws = exact] of rows) {
        const arriving = next();
        const raw = await openRaw(httpServer.port, Buffer.from(post(0, '', `x-test: ${sent}\r\n`), 'latin1'));
        const { exchange } = await arriving;
        t.equal(exchange.head.headers['x-test'], httpServer.kind === 'uws' ? uws : exact, JSON.stringify(sent));
        raw.socket.destroy();
      }
    },
  );

  t.test(`${name}: LIM-1 · a head of up to 16 KiB may come in pieces, a longer one is refused`, async (t) => {
    const { httpServer, seen } = await open(t, openHttpServer);
    for (const [length, answer] of [
      [12_000, /^HTTP\/1\.1 200/],
      [20_000, /^HTTP\/1\.1 431/],
    ] as const) {
      const raw = await openRaw(httpServer.port);
      const bytes = post(0, '', `x-test: ${'y'.repeat(length)}\r\n`);
      raw.write(bytes.slice(0, length - 1_000));
      // The first piece has been read once another connection, opened after it, is answered.
      const other = await openRaw(httpServer.port, post(0, ''));
      await other.received((text) => text.includes('}'));
      raw.write(bytes.slice(length - 1_000));
      t.match(await raw.received((text) => /\r\n\r\n/.test(text)), answer, String(length));
      raw.socket.destroy();
      other.socket.destroy();
    }
    t.equal(seen.length, 3);
  });

  t.test(`${name}: SIG-2 · hostile bytes in the head harm nothing`, async (t) => {
    const { httpServer } = await open(t, openHttpServer);
    const hostile = [
      'POST /a HTTP/1.1\r\nhost: x\r\nx-test: \xff\xfe\xf0\r\ncontent-length: 0\r\n\r\n',
      `POST /a HTTP/1.1\r\nhost: x\r\nx-test: ${'y'.repeat(40_000)}\r\n\r\n`,
      'POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx',
      'POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n',
      'GARBAGE\r\n\r\n',
      '\0\0\0\r\n\r\n',
    ];
    for (const bytes of hostile) {
      const raw = await openRaw(httpServer.port, Buffer.from(bytes, 'latin1'));
      raw.socket.end();
      await raw.closed;
    }
    const good = await openRaw(httpServer.port, post(2, 'hi'));
    t.match(await good.received((text) => text.includes('}')), /"size":2/, 'it still serves');
  });

  t.test(`${name}: LIM-1 · two different lengths are refused`, async (t) => {
    const { httpServer, seen } = await open(t, openHttpServer);
    const raw = await openRaw(httpServer.port);
    raw.write('POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx');
    t.match(await raw.received((text) => text.includes('}')), /^HTTP\/1\.1 400/);
    t.equal(seen.length, 0);
  });

  t.test(`${name}: RTE-4 · no request is read behind a head that is refused for its length`, async (t) => {
    const { httpServer, seen } = await open(t, openHttpServer);
    const raw = await openRaw(httpServer.port, 'POST /a HTTP/1.1\r\nhost: x\r\ncontent-length:\r\n\r\n');
    await raw.received((text) => text.includes('}'));
    raw.write(post(2, 'hi', 'connection: close\r\n'));
    await raw.closed;
    t.same(answersIn(await raw.received(() => true)), ['400']);
    t.equal(seen.length, 0);
  });

  t.test(`${name}: LIM-1 · a client that asks before it sends too much is refused`, async (t) => {
    const { httpServer } = await open(t, openHttpServer);
    const raw = await openRaw(httpServer.port, post(cap + 1, '', 'expect: 100-continue\r\n'));
    const text = await raw.received((received) => received.includes('}'));
    // uWebSockets.js lets every client go on, before anybody is asked.
    t.same(answersIn(text), httpServer.kind === 'uws' ? ['100', '413'] : ['413']);
    await raw.closed;
  });

  t.test(`${name}: LIM-1 · DIS-2 · a client that leaves is reported once, and its answer goes nowhere`, async (t) => {
    const { httpServer, next } = await open(t, openHttpServer, { holds: true });
    const arriving = next();
    const raw = await openRaw(httpServer.port, post(10, 'half'));
    const { exchange, outcome } = await arriving;
    const leaving = new Promise<void>((resolve) => exchange.whenLeft?.(resolve));
    raw.socket.destroy();
    t.same(await outcome, { kind: 'aborted' });
    await leaving;
    exchange.reply({ status: 200, body: '{}' });
    await new Promise<void>((resolve) => exchange.whenLeft?.(resolve));

    const third = next();
    const answered = await openRaw(httpServer.port, post(2, 'ok'));
    const over = await third;
    over.exchange.whenLeft?.(() => t.fail('it has its answer'));
    await over.outcome;
    over.exchange.reply({ status: 200, body: '{}' });
    await answered.received((text) => text.includes('{}'));
    answered.socket.destroy();
    await answered.closed;

    const second = next();
    const late = await openRaw(httpServer.port, post(2, 'ok'));
    const whole = await second;
    t.equal((await whole.outcome).kind, 'read');
    late.socket.destroy();
    await late.closed;
    whole.exchange.reply({ status: 200, body: '{}' });
    whole.exchange.reply({ status: 500, body: '{}' });
    t.pass('no answer after the client left, no second answer');
  });

  t.test(`${name}: SEC-3 · a body that is answered before it has come is settled`, async (t) => {
    const { httpServer, next } = await open(t, openHttpServer, { holds: true, bodyTimeoutMs: 600_000 });
    const arriving = next();
    const raw = await openRaw(httpServer.port, post(10, 'half'));
    const { exchange, outcome } = await arriving;
    exchange.reply({ status: 503, body: '{}' });
    await raw.closed;
    t.match(await raw.received(() => true), /^HTTP\/1\.1 503[\s\S]*\{\}$/);
    t.same(await outcome, { kind: 'aborted' });
  });

  t.test(
    `${name}: LIM-1 · a body that stalls ends its exchange, by the HTTP server’s own limit and as often as one does`,
    async (t) => {
      const { httpServer, next } = await open(t, openHttpServer, { holds: true, bodyTimeoutMs: 300 });
      // The library ends a silent connection too, ten seconds later: here that is all that would.
      const patient = await open(t, openHttpServer, { holds: true, bodyTimeoutMs: 600_000 });
      for (const round of ['first', 'after a rest']) {
        const [arriving, others] = [next(), patient.next()];
        const [raw, other] = await Promise.all([openRaw(httpServer.port), openRaw(patient.httpServer.port)]);
        raw.write(post(10, 'half'));
        other.write(post(10, 'half'));
        const outcomes = [arriving, others].map(async (one, at) => ({ at, ...(await (await one).outcome) }));
        t.same(await Promise.race(outcomes), { at: 0, kind: 'aborted' }, round);
        await raw.closed;
        other.socket.destroy();
        await Promise.all(outcomes);
      }
    },
  );

  t.test(`${name}: RTE-4 · who sends slowly holds no connection, whether head or body or nothing`, async (t) => {
    const { httpServer, seen } = await open(t, openHttpServer, { bodyTimeoutMs: 300, headTimeoutMs: 300 });
    const openAll = (count: number): Promise<RawConnection[]> =>
      Promise.all(Array.from({ length: count }, () => openRaw(httpServer.port)));
    const [heads, bodies, silent] = [await openAll(150), await openAll(75), await openAll(150)];
    for (const raw of heads) raw.write('POST / HTTP/1.1\r\nHost: a\r\n');
    for (const raw of bodies) raw.write('POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 90\r\n\r\n');
    const dripping = setInterval(() => {
      for (const raw of heads) raw.write('X: y\r\n');
      for (const raw of bodies) raw.write('x');
    }, 100);
    await Promise.all([...heads, ...bodies, ...silent].map(({ closed }) => closed));
    clearInterval(dripping);
    t.same(
      await Promise.all(seen.map(async ({ outcome }) => (await outcome).kind)),
      bodies.map(() => 'aborted'),
    );
  });

  t.test(`${name}: RTE-4 · a header may have the name of what every object has`, async (t) => {
    const { httpServer, next } = await open(t, openHttpServer);
    const arriving = next();
    const raw = await openRaw(httpServer.port, post(0, '', 'constructor: v\r\n__proto__: w\r\n'));
    const { headers } = (await arriving).exchange.head;
    t.match(Object.entries(headers), [
      ['host', 'x'],
      ['constructor', 'v'],
      ['__proto__', 'w'],
    ]);
    t.equal(headers.toString, undefined);
    raw.socket.destroy();
  });

  t.test(`${name}: CON-2 · two hundred at a time`, async (t) => {
    const { httpServer, seen } = await open(t, openHttpServer);
    const all = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const raw = await openRaw(httpServer.port, post(3, String(100 + index)));
        const text = await raw.received((received) => received.includes('}'));
        raw.socket.destroy();
        return answersIn(text)[0];
      }),
    );
    t.same([...new Set(all)], ['200']);
    t.equal(seen.length, 200);
  });

  t.test(`${name}: CON-2 · closing answers what is under way and takes nothing new`, async (t) => {
    const { httpServer, next } = await open(t, openHttpServer, { holds: true });
    const idle = await openRaw(httpServer.port);
    const arriving = next();
    const raw = await openRaw(httpServer.port, post(2, 'hi'));
    const { exchange, outcome } = await arriving;
    await outcome;
    // Long enough that only the answer can end it, where the connection would be kept alive.
    const closing = httpServer.close(httpServer.kind === 'node' ? 600_000 : 5_000);
    exchange.reply({ status: 202, body: '{"late":true}' });
    t.match(await raw.received((text) => text.includes('}')), /^HTTP\/1\.1 202/);
    await raw.closed;
    await closing;
    await idle.closed;
    await t.rejects(openRaw(httpServer.port), { code: 'ECONNREFUSED' });
  });

  t.test(`${name}: CON-2 · an address that is in use is refused with its cure`, async (t) => {
    const { httpServer } = await open(t, openHttpServer);
    const again = openHttpServer({ host: '127.0.0.1', port: httpServer.port, bodyTimeoutMs: 1 }, () => {});
    await t.rejects(again, {
      message: new RegExp(
        `cannot bind 127\\.0\\.0\\.1:${httpServer.port}.*choose another.* \\[address-unavailable\\]$`,
      ),
    });
  });
}
