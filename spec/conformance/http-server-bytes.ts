/**
 * What the HTTP servers say to the same bytes. A row that the two answer differently stands in docs/decisions/0006 under its
 * title, and nothing else stands there.
 */

import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import type { OpenHttpServer } from '../../runtime/http/http-server.ts';
import { answersIn, openRaw } from '../support/raw-http.ts';

/**
 * The statuses that come back, in order, and then what becomes of the connection: `open` where it serves a further request,
 * `closed` where it ends after the answers.
 */
type Outcome = `${string}open` | `${string}closed`;

export interface BytesRow {
  readonly title: string;
  readonly bytes: string;
  readonly node: Outcome;
  /** Where uWebSockets.js differs. */
  readonly uws?: Outcome;
}

const post = (more = '', line = 'POST /a HTTP/1.1'): string =>
  `${line}\r\nhost: x\r\n${more}content-length: 2\r\n\r\nhi`;
const chunked = (rest: string, coding = 'chunked', version = '1.1'): string =>
  `POST /a HTTP/${version}\r\nhost: x\r\ntransfer-encoding: ${coding}\r\n\r\n${rest}`;
const coded = (coding: string): string => chunked('2\r\nhi\r\n0\r\n\r\n', coding);
const headers = (count: number): string => Array.from({ length: count }, (_, at) => `x-${at}: 1\r\n`).join('');

export const bytesRows: readonly BytesRow[] = [
  { title: 'a plain request', bytes: post(), node: '202 open' },
  { title: 'a name with an underscore', bytes: post('X_Foo: v\r\n'), node: '202 open' },
  { title: 'a name of odd marks', bytes: post("X!#$%&'*+.^`|~9: v\r\n"), node: '202 open' },
  { title: 'names of a prototype', bytes: post('__proto__: v\r\nconstructor: v\r\n'), node: '202 open' },
  { title: 'a chunk extension', bytes: chunked('2;a=b\r\nhi\r\n0\r\n\r\n'), node: '202 open', uws: 'closed' },
  {
    title: 'a quoted chunk extension',
    bytes: chunked('2;a="b c"\r\nhi\r\n0\r\n\r\n'),
    node: '202 open',
    uws: '400 closed',
  },
  {
    title: 'an extension of the last chunk',
    bytes: chunked('2\r\nhi\r\n0;a\r\n\r\n'),
    node: '202 open',
    uws: '400 closed',
  },
  { title: 'a trailer section', bytes: chunked('2\r\nhi\r\n0\r\nX-T: y\r\n\r\n'), node: '202 open', uws: '505 closed' },
  {
    title: 'a trailer that is no header',
    bytes: chunked('2\r\nhi\r\n0\r\nX T: y\r\n\r\n'),
    node: '400 closed',
    uws: '505 closed',
  },
  {
    title: 'a space after the size of a chunk',
    bytes: chunked('2 \r\nhi\r\n0\r\n\r\n'),
    node: '400 closed',
    uws: '202 open',
  },
  {
    title: 'other bytes at the end of a chunk',
    bytes: chunked('2\r\nhiXX0\r\n\r\n'),
    node: '400 closed',
    uws: '202 open',
  },
  { title: 'a chunk without a size', bytes: chunked('2\r\nhi\r\nZZ\r\n'), node: '400 closed' },
  { title: 'an empty line before the request', bytes: `\r\n${post()}`, node: '202 open', uws: 'closed' },
  {
    title: 'a target with scheme and host',
    bytes: post('', 'POST http://x/a?q HTTP/1.1'),
    node: '202 open',
    uws: '505 closed',
  },
  {
    title: 'a target of scheme and host alone',
    bytes: post('', 'POST http://x HTTP/1.1'),
    node: '202 open',
    uws: '505 closed',
  },
  { title: 'a star as target', bytes: post('', 'OPTIONS * HTTP/1.1'), node: '202 open', uws: '505 closed' },
  { title: 'CONNECT', bytes: 'CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n', node: 'closed', uws: '505 closed' },
  { title: 'HTTP/1.0', bytes: post('', 'POST /a HTTP/1.0'), node: '202 closed', uws: '505 closed' },
  { title: 'HTTP/1.2', bytes: post('', 'POST /a HTTP/1.2'), node: '400 closed', uws: '505 closed' },
  { title: 'HTTP/2.0', bytes: post('', 'POST /a HTTP/2.0'), node: '505 closed' },
  { title: 'no version', bytes: 'GET /a\r\n\r\n', node: '505 closed' },
  {
    title: 'two spaces in the request line',
    bytes: post('', 'POST  /a HTTP/1.1'),
    node: '202 open',
    uws: '505 closed',
  },
  { title: 'sixty headers', bytes: post(headers(60)), node: '202 open' },
  { title: 'a hundred headers', bytes: post(headers(100)), node: '202 open', uws: '431 closed' },
  { title: 'a control byte in a value', bytes: post('x: a\x01b\r\n'), node: '400 closed' },
  { title: 'NUL in a value', bytes: post('x: a\0b\r\n'), node: '400 closed' },
  { title: 'DEL in a value', bytes: post('x: a\x7fb\r\n'), node: '400 closed', uws: '202 open' },
  {
    title: 'an empty name before the length',
    bytes: post(': b\r\n') + post(),
    node: '400 closed',
    uws: '202 400 closed',
  },
  { title: 'a space before the colon', bytes: post('x : b\r\n'), node: '400 closed' },
  { title: 'a folded line', bytes: post('x: a\r\n b\r\n'), node: '400 closed' },
  { title: 'a head of 20 KB', bytes: post(`x: ${'y'.repeat(20_000)}\r\n`), node: '431 closed' },
  { title: 'no Host', bytes: post().replace('host: x\r\n', ''), node: '400 closed' },
  { title: 'two Hosts', bytes: post('host: y\r\n'), node: '400 closed' },
  { title: 'two equal lengths', bytes: post('content-length: 2\r\n'), node: '400 closed', uws: '202 open' },
  { title: 'two different lengths', bytes: post('content-length: 3\r\n'), node: '400 closed' },
  { title: 'a list of lengths', bytes: post().replace('length: 2', 'length: 2, 2'), node: '400 closed' },
  { title: 'a length with a sign', bytes: post().replace('length: 2', 'length: +2'), node: '400 closed' },
  { title: 'a length with a minus', bytes: post().replace('length: 2', 'length: -2'), node: '400 closed' },
  { title: 'a length in hex', bytes: post().replace('length: 2', 'length: 0x2'), node: '400 closed' },
  {
    title: 'an empty length',
    bytes: post().replace('length: 2', 'length:'),
    node: '400 closed',
  },
  {
    title: 'a length beside a coding',
    bytes: coded('chunked').replace('host', 'content-length: 2\r\nhost'),
    node: '400 closed',
  },
  { title: 'the coding in capitals', bytes: coded('Chunked'), node: '202 open' },
  ...['xchunked', 'identity', 'gzip, chunked'].map(
    (coding): BytesRow => ({ title: `the coding ${coding}`, bytes: coded(coding), node: '501 closed' }),
  ),
  ...['chunked, chunked', 'chunked, identity'].map(
    (coding): BytesRow => ({
      title: `the coding ${coding}`,
      bytes: coded(coding),
      node: '400 closed',
      uws: '501 closed',
    }),
  ),
  {
    title: 'a coding in HTTP/1.0',
    bytes: chunked('2\r\nhi\r\n0\r\n\r\n', 'chunked', '1.0'),
    node: '400 closed',
    uws: '505 closed',
  },
  { title: 'a method in small letters', bytes: post('', 'post /a HTTP/1.1'), node: '400 closed' },
  { title: 'an unknown method', bytes: post('', 'FOO /a HTTP/1.1'), node: '400 closed' },
  { title: 'bare line feeds', bytes: post().replaceAll('\r\n', '\n'), node: '400 closed', uws: '505 closed' },
  { title: 'no HTTP', bytes: '\x16\x03\x01\r\n\r\n', node: '400 closed', uws: '505 closed' },
  {
    title: 'an address by the PROXY protocol',
    bytes: `\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c${'\x01'.repeat(12)}${post()}`,
    node: '400 closed',
    uws: '202 open',
  },
  {
    title: 'bytes above 127 in the path',
    bytes: post('', 'POST /\xc3\xbc HTTP/1.1'),
    node: '400 closed',
    uws: '202 open',
  },
  { title: 'an unknown expectation', bytes: post('expect: foo\r\n'), node: '202 open' },
  {
    title: 'an expectation in other letters',
    bytes: post('Expect: 100-Continue\r\n'),
    node: '100 202 open',
    uws: '202 open',
  },
  { title: 'an upgrade', bytes: post('connection: upgrade\r\nupgrade: websocket\r\n'), node: '202 open' },
  { title: 'two requests at once', bytes: post() + post(), node: '202 202 open' },
  {
    title: 'a request behind a probe',
    bytes: `GET /health HTTP/1.1\r\nhost: x\r\n\r\n${post()}`,
    node: '200 202 open',
  },
  { title: 'a stray byte after a request', bytes: `${post()}\x01`, node: '202 closed', uws: '202 505 closed' },
  {
    title: 'no HTTP behind a refusal that closes',
    bytes: `${post('', 'POST /nope HTTP/1.1')}NO HTTP\r\n\r\n`,
    node: '404 closed',
    uws: '505 closed',
  },
  {
    title: 'a request behind a refusal that closes',
    bytes: post('', 'POST /nope HTTP/1.1') + post(),
    node: '404 closed',
    uws: '404 202 open',
  },
  {
    title: 'a request behind one that asks to close',
    bytes: post('connection: close\r\n') + post(),
    node: '202 closed',
    uws: '202 202 open',
  },
];

const last = 'GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';

export function httpServerBytes(t: Test, name: string, openHttpServer: OpenHttpServer): void {
  t.test(`${name}: RTE-4 · the same bytes have the same answer, or the difference is written down`, async (t) => {
    let handed = 0;
    const httpServer = await openHttpServer({ host: '127.0.0.1', port: 0, bodyTimeoutMs: 60_000 }, (exchange) => {
      const { path } = exchange.head;
      if (path === '/health' || path === '/last') exchange.reply({ status: 200, body: '{}' });
      else if (path === '/nope') exchange.reply({ status: 404, body: '{}' });
      else {
        exchange.readBody(1_000, ({ kind }) => {
          if (kind !== 'read') return;
          handed += 1;
          exchange.reply({ status: 202, body: '{}' });
        });
      }
    });
    t.teardown(() => httpServer.close(0));
    for (const { title, bytes, node, uws = node } of bytesRows) {
      const expected = httpServer.kind === 'uws' ? uws : node;
      const before = handed;
      const found = await outcomeOf(httpServer.port, bytes, expected);
      // The library may end the connection before its own last words have left.
      const cutShort = httpServer.kind === 'uws' ? expected.replace(/\b(400|431|505) closed$/, 'closed') : expected;
      t.equal(found, found === cutShort ? cutShort : expected, title);
      t.equal(
        handed - before,
        found.match(/202/g)?.length ?? 0,
        `${title}: an event is taken exactly where its answer says so`,
      );
    }
  });

  t.test(`${name}: RTE-4 · a request is taken however it is cut`, async (t) => {
    const httpServer = await openHttpServer({ host: '127.0.0.1', port: 0, bodyTimeoutMs: 60_000 }, (exchange) =>
      exchange.readBody(1_000, () => exchange.reply({ status: 202, body: '{}' })),
    );
    t.teardown(() => httpServer.close(0));
    const witness = await openRaw(httpServer.port);
    let asked = 0;
    /** Comes back once the HTTP server has read what was sent before. */
    const read = async (): Promise<void> => {
      asked += 1;
      witness.write(post());
      await witness.received((text) => answersIn(text).length === asked);
    };
    const whole = post('X-A: b\r\n', 'POST /webhooks/a?q=1 HTTP/1.1');
    const refused: number[] = [];
    for (let at = 1; at < whole.length; at += 1) {
      const raw = await openRaw(httpServer.port, whole.slice(0, at));
      await read();
      raw.write(whole.slice(at));
      if (answersIn(await raw.received((text) => answersIn(text).length > 0))[0] !== '202') refused.push(at);
      raw.socket.destroy();
    }
    t.same(refused, [], 'in two pieces');
    const bytewise = await openRaw(httpServer.port);
    for (const byte of whole) {
      bytewise.write(byte);
      await read();
    }
    t.same(answersIn(await bytewise.received((text) => answersIn(text).length > 0)), ['202'], 'byte by byte');
    bytewise.socket.destroy();
    witness.socket.destroy();
  });
}

/** What came back; a further request asks whether the connection is still served. */
async function outcomeOf(port: number, bytes: string, expected: Outcome): Promise<Outcome> {
  const statuses = expected.split(' ').slice(0, -1);
  const raw = await openRaw(port, Buffer.from(bytes, 'latin1'));
  if (statuses.length > 0) await raw.received((text) => answersIn(text).length >= statuses.length);
  if (expected.endsWith('open')) raw.write(last);
  // Half-closing ends at once what would else be closed when the idle time is over.
  else if (statuses.length === 0) raw.socket.end();
  await raw.closed;
  const found = answersIn(await raw.received(() => true));
  const isOpen = expected.endsWith('open') && found.length > statuses.length && found.at(-1) === '200';
  return [...(isOpen ? found.slice(0, -1) : found), isOpen ? 'open' : 'closed'].join(' ') as Outcome;
}

/** Rows that the HTTP servers answer differently, as docs/decisions/0006 has to list them. */
export function listedDifferences(): readonly string[] {
  const text = readFileSync('docs/decisions/0006-two-fronts.md', 'utf8');
  const rows = text.split('\n').filter((line) => /^\| (?!what arrives|---)/.test(line));
  return rows.map((row) =>
    row
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, 4)
      .join(' | '),
  );
}

export function foundDifferences(): readonly string[] {
  return bytesRows
    .filter(({ node, uws }) => uws !== undefined && uws !== node)
    .map(({ title, node, uws }) => `${title} | ${uws} | ${node}`);
}
