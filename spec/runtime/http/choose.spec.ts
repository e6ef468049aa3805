import t, { type Test } from 'tap';
import type { LogLevel } from '../../../actors/ports.ts';
import { type HttpServerChoice, installCommand, openHttpServer } from '../../../runtime/http/choose.ts';
import type { HttpServer, OpenHttpServer } from '../../../runtime/http/http-server.ts';
import { failedProofs, loadUws } from '../../../runtime/http/native.ts';
import { openNodeServer } from '../../../runtime/http/node.ts';
import { startDaemon } from '../../support/daemon.ts';
import { makeHome } from '../../support/home.ts';
import { noBinary, noUws } from '../../support/http-servers.ts';
import { postSigned } from '../../support/sign.ts';
import { secret, webhookConfig } from '../../support/webhook-home.ts';

const settings = { host: '127.0.0.1', port: 0, bodyTimeoutMs: 1_000 };

/** Stands for the native library: it takes all that node:http takes, under the other name. */
const sound: OpenHttpServer = async (at, handle) => ({ ...(await openNodeServer(at, handle)), kind: 'uws' });
/** The same for a library that refuses trailers, as the one of today does. */
const invalid: OpenHttpServer = (at, handle) =>
  sound(at, (exchange) => {
    if (exchange.head.headers['transfer-encoding'] === undefined) handle(exchange);
    else exchange.reply({ status: 505, body: '{}' });
  });

/** A loaded machine may be slow; a proof fails here by its answer alone. */
const proofLimitMs = 600_000;

/** Opens the HTTP server; the lines that it logged stand beside it. */
async function opened(
  t: Test,
  wish: Omit<HttpServerChoice, 'settings'>,
): Promise<{ httpServer: HttpServer; lines: string[] }> {
  const lines: string[] = [];
  const log = { log: (level: LogLevel, message: string) => void lines.push(`${level} ${message}`), warnOnce: () => {} };
  const httpServer = await openHttpServer({ ...wish, settings }, () => {}, log);
  t.teardown(() => httpServer.close(0));
  return { httpServer, lines };
}

t.test('RTE-4 · auto takes the native library where it loads and takes what a server must take', async (t) => {
  const loads = { whyNotLoadable: () => undefined, proofLimitMs };
  const broken = {
    whyNotLoadable: () => ({ kind: 'unloadable', text: 'cannot load: no such libc' }) as const,
    open: sound,
  };
  const absent = { whyNotLoadable: () => ({ kind: 'absent', text: 'is not installed' }) as const, open: sound };
  const refuses = '(uWebSockets.js does not take a chunk extension, a trailer section)';
  for (const [choice, library, kind, line] of [
    ['node', { ...loads, open: sound }, 'node', 'info HTTP server: node:http'],
    ['auto', { ...loads, open: sound }, 'uws', 'info HTTP server: uWebSockets.js'],
    ['auto', broken, 'node', 'warn HTTP server: node:http (uWebSockets.js cannot load: no such libc)'],
    ['auto', absent, 'node', 'info HTTP server: node:http'],
    ['auto', { ...loads, open: invalid }, 'node', `warn HTTP server: node:http ${refuses}`],
    ['uws', { ...loads, open: invalid }, 'uws', `warn HTTP server: uWebSockets.js ${refuses}`],
  ] as const) {
    const { httpServer, lines } = await opened(t, { choice, library });
    const remark = /\(uWebSockets\.js (.+)\)/.exec(line)?.[1];
    t.strictSame([httpServer.kind, lines, httpServer.remark], [kind, [line], remark]);
  }
  for (const [library, fault] of [
    [broken, 'cannot load: no such libc; set gateway.front to "auto" or "node"'],
    [absent, `is not installed; install it (${installCommand}) or set gateway.front to "auto" or "node"`],
  ] as const) {
    await t.rejects(opened(t, { choice: 'uws', library }), {
      message: `webhook listener: gateway.front is "uws" but uWebSockets.js ${fault}`,
    });
  }
});

t.test('RTE-4 · node:http takes all that the self-test sends', async (t) => {
  t.same(await failedProofs(openNodeServer, proofLimitMs), []);
});

t.test('RTE-4 · a library whose self-test cannot run is not chosen, and its HTTP server is closed', async (t) => {
  let isOpen = false;
  const closes: OpenHttpServer = async (at, handle) => {
    const httpServer = await sound(at, handle);
    isOpen = true;
    const close = (graceMs: number): Promise<void> => {
      isOpen = false;
      return httpServer.close(graceMs);
    };
    // No connection can be made to such a port.
    return { ...httpServer, port: 65_536, close };
  };
  for (const [open, cause] of [
    [() => Promise.reject(new Error('cannot bind 127.0.0.1:0')), /cannot bind 127\.0\.0\.1:0/],
    [closes, /65536/],
  ] as const) {
    const { httpServer, lines } = await opened(t, {
      choice: 'auto',
      library: { whyNotLoadable: () => undefined, open },
    });
    t.equal(httpServer.kind, 'node');
    t.match(lines, [/^warn HTTP server: node:http \(uWebSockets\.js cannot run its self-test: /]);
    t.match(lines, [cause]);
  }
  t.notOk(isOpen);
});

t.test('RTE-4 · a proof that nothing answers fails once its limit is over', async (t) => {
  const mute: OpenHttpServer = (at) => sound(at, () => {});
  t.match(await failedProofs(mute, 1), ['a request line in two pieces']);
});

t.test(
  'SEC-9 · a binary that is not the pinned one is not loaded, and node:http serves',
  { skip: noBinary },
  async (t) => {
    t.throws(() => loadUws(() => Buffer.from('another build')), {
      message: /uws_\w+\.node is not the pinned binary: its SHA-256 is [0-9a-f]{64}, not [0-9a-f]{64}$/,
    });
  },
);

t.test('RTE-4 · a gateway that chooses by itself says in one line which HTTP server it has and why', async (t) => {
  const daemon = await startDaemon(t, makeHome(t, { 'config.yaml': webhookConfig('        gh: {}\n') }).path);

  t.equal((await postSigned(`${daemon.url}/webhooks/gh`, {}, { secret })).status, 202);
  const lines = daemon.log.filter(({ message }) => message.startsWith('HTTP server: '));
  t.match(lines, [
    {
      level: 'warn',
      message: noUws === false ? /^HTTP server: node:http \(uWebSockets.js does not take / : /cannot load: /,
    },
  ]);
  t.equal(lines.length, 1);
});
