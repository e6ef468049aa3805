/**
 * The native library: loads its binary if its hash is pinned here, and proves over loopback that it accepts what RFC 9110
 * and 9112 require a server to accept. No other file loads it.
 * @see RTE-4 and SEC-9 in docs/specification.md; where the binaries come from is in docs/decisions/0006
 */

import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { checkPinned } from '../../actors/pinned-binary.ts';
import { causeOf } from '../../machines/base/fault.ts';
import type { HttpServer, OpenHttpServer } from './http-server.ts';
import { maxHeaderBytes } from './refusals.ts';

/** SHA-256 of each `uws_<platform>_<arch>_<ABI>.node` of 20.57.0. */
const pinned: Readonly<Record<string, string>> = {
  darwin_arm64_115: 'e92644395ac8d37cb078098f843fb1b82e59701832f38fed00a9bdcfb87ba939',
  darwin_arm64_127: '6180345d453e2e113feb2b0d76376493cd6a90056c3483fc22de7b0c340dc231',
  darwin_arm64_137: '2187391c702fa7ad3bf685eff7712c15cf24fa7cf324a131dfcbae3fd0f20a9a',
  darwin_arm64_141: '8555586f69116620ac17540b2a7a2459c5db1cebee5c36fd77157dd352fabf82',
  darwin_x64_115: 'f661b97951ffdf54324e514becda0a2740f723c9fd3c7098e812a0e7714651ed',
  darwin_x64_127: 'fd551673f3ce1f104d7cec3ba8f628d9d04853eff1045c9d95983372ed90bca0',
  darwin_x64_137: '98fd7e9456e2d37d3262b05b053d673830927f91c63c0c2ae73bde8d19eef293',
  darwin_x64_141: 'e64e8a42347b5f9861b0f2bfa0981d8e48914e9b26ec73e133ba454d9a580777',
  linux_arm64_115: '6bdbc8ff976b4371af1906175e9025804bacc38a414969f4f02314e6b99f206c',
  linux_arm64_127: '82b79bd18d1e3563de336156005bd01b7f39fc387b65173d69a29da4ee79f895',
  linux_arm64_137: '88618b30ddf6b2b62310db89f40a701616676352aac5e0f6184dd8ef876199ce',
  linux_arm64_141: '81d0186dd1549ed6a7f47e68e323573fc27d69d2920527654ce2dd993af2b0ec',
  linux_x64_115: '5b126ee00bf754b02e97e4c27090365a8562c5820c93f93918ac2212d4503e91',
  linux_x64_127: '4b55b1f2cb7a7913febbb65a89496412b96af77e838552980092ba6b33723aac',
  linux_x64_137: '98128405dba2fb608448e921a979530f70c946a2cc9889c15f2fa70c2d00ab05',
  linux_x64_141: '813d788b347c6fd76b779d8932311ec05a044e612b4b83af220f16e6ea789683',
  win32_x64_115: '1ffbe9b09607fd9c90e98661383de2bd844b06d4f25ab502f3361d8d8fac559f',
  win32_x64_127: 'b4fa85dd015d6d32655f75e9d5b2480124b7649d9265a2b84d8dafe37f88f838',
  win32_x64_137: '84ae72d2149e6ffa2a44063344073599027b1ce8bffaab3957903f966b0c6bb9',
  win32_x64_141: '59346e454b89d2d0ed1609b7581683bb9fde7edaf3b3f04fe4f6fe03e34c8afd',
};

const require = createRequire(import.meta.url);

/** Loads the library; throws if its binary is absent, is not the pinned one or cannot load. */
export function loadUws(read?: (path: string) => Buffer): typeof import('uWebSockets.js') {
  // First of all: where it is not installed, that is what is said.
  const folder = dirname(require.resolve('uWebSockets.js'));
  const { platform, arch, version, versions } = process;
  const build = `${platform}_${arch}_${versions.modules}`;
  const pin = pinned[build];
  if (pin === undefined) throw new Error(`it has no binary for Node.js ${version} on ${platform} ${arch}`);
  const path = join(folder, `uws_${build}.node`);
  checkPinned(path, pin, read);
  // The library reads its limit for heads that arrive in pieces from this variable once, when it is loaded.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(maxHeaderBytes);
  // Not by `import`: on Node 20 a binary that cannot load ends the process then, even if the error is caught.
  return require(path) as typeof import('uWebSockets.js');
}

/** Why the native library is not used. */
export interface NativeFault {
  /**
   * `absent`: not installed, the default; `unloadable`: installed, but cannot load; `invalid`: rejects what a server must
   * accept.
   */
  readonly kind: 'absent' | 'unloadable' | 'invalid';
  readonly text: string;
}

/** Why the library cannot load; undefined if it can. */
export function whyNotLoadable(): NativeFault | undefined {
  try {
    loadUws();
    return undefined;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND')
      return { kind: 'absent', text: 'is not installed' };
    // glibc appends the path of the requiring binary, which is known and makes the line long.
    const [line = ''] = causeOf(thrown).split('\n');
    return { kind: 'unloadable', text: `cannot load: ${line.replace(/ \(required by .*\)$/, '')}` };
  }
}

/** A request that a server must accept, in pieces: each is sent after the one before has been read. */
interface Proof {
  readonly title: string;
  readonly pieces: readonly string[];
}

const line = 'POST /proof HTTP/1.1\r\n';
const chunked = `${line}host: a\r\ntransfer-encoding: chunked\r\n\r\n`;
const plain = 'host: a\r\ncontent-length: 2\r\n\r\nok';
const proofs: readonly Proof[] = [
  ...Array.from({ length: line.length }, (_, at) => ({
    title: 'a request line in two pieces',
    pieces: [line.slice(0, at + 1), line.slice(at + 1) + plain],
  })),
  { title: 'a header name with an underscore', pieces: [`${line}X_A: 1\r\n${plain}`] },
  { title: 'a header name with other marks', pieces: [`${line}X!#$%&'*+.^\`|~9: 1\r\n${plain}`] },
  { title: 'a chunk extension', pieces: [`${chunked}2;a=b\r\nok\r\n0\r\n\r\n`] },
  { title: 'a trailer section', pieces: [`${chunked}2\r\nok\r\n0\r\nX-A: 1\r\n\r\n`] },
  { title: 'an empty line before the request', pieces: [`\r\n${line}${plain}`] },
  { title: 'a target with scheme and host', pieces: [`${line.replace('/proof', 'http://a/proof')}${plain}`] },
  { title: 'HTTP/1.0', pieces: [`${line.replace('1.1', '1.0')}${plain}`] },
];
/** Ends a proof without an answer; a working library answers in a few milliseconds. */
const defaultProofLimitMs = 2_000;

/**
 * The titles of the proofs that an HTTP server fails; empty if it passes all. The server listens on a free port of
 * loopback meanwhile; rejects if it cannot.
 */
export async function failedProofs(
  openHttpServer: OpenHttpServer,
  proofLimitMs = defaultProofLimitMs,
): Promise<readonly string[]> {
  const settings = { host: '127.0.0.1', port: 0, bodyTimeoutMs: proofLimitMs };
  const httpServer = await openHttpServer(settings, (exchange) =>
    exchange.readBody(2, ({ kind }) => {
      if (kind === 'read') exchange.reply({ status: 200, body: '{}' });
    }),
  );
  try {
    const taken = await Promise.all(proofs.map(({ pieces }) => isTaken(httpServer, pieces, proofLimitMs)));
    return [...new Set(proofs.filter((_, at) => !taken[at]).map(({ title }) => title))];
  } finally {
    await httpServer.close(0);
  }
}

async function isTaken({ host, port }: HttpServer, pieces: readonly string[], limitMs: number): Promise<boolean> {
  const socket = connect({ host, port, noDelay: true });
  const answered = answerOf(socket, limitMs);
  for (const piece of pieces) {
    socket.write(piece);
    // A later connection is answered, so the piece has been read.
    const other = connect({ host, port });
    other.write(`${line}${plain}`);
    await answerOf(other, limitMs);
    other.destroy();
  }
  // Everything that will be answered has been by now; a library that waits for more ends a half-closed connection.
  socket.end();
  const text = await answered;
  socket.destroy();
  return text.startsWith('HTTP/1.1 200');
}

/** Resolves with the first bytes of an answer; with an empty text if the connection ends or at the limit. */
function answerOf(socket: Socket, limitMs: number): Promise<string> {
  return new Promise((resolve) => {
    socket.setTimeout(limitMs, () => resolve(''));
    socket.once('data', (bytes) => resolve(bytes.toString('latin1')));
    socket.on('error', () => resolve(''));
    socket.once('close', () => resolve(''));
  });
}
