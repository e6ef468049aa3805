/**
 * The inspector's listener. A session gets the page's files, the stream, the commands, charts and actors; a monitor gets
 * metrics and readiness, with the token if one is set. Routes requests and writes heads; other modules provide the answers.
 * @see INS-2, SEC-1, ADP-2 and OBS-1 in docs/specification.md
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { whyUnbound } from '../../actors/binding.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { cut, defined, isJsonObject } from '../../machines/base/json.ts';
import { isLoopback, isLoopbackHost } from '../../machines/base/loopback.ts';
import { challengeHeader, sessionElement } from '../../machines/base/page-proof.ts';
import { readJson } from '../../machines/base/read-json.ts';
import type { InspectorSettings } from '../../machines/config/settings.ts';
import type { ActorDetails, Chart, Readiness } from '../control/contract/wire.ts';
import { boundConnections, connectionLimit } from '../http/connections.ts';
import { createLingering, lingerLimits } from '../http/lingering.ts';
import { senderOf } from '../http/sender.ts';
import type { AuditLog } from '../observe/audit.ts';
import { type Asked, claimsOf, cookieName, judgeRequest, pageOriginOf } from './door.ts';
import type { Feed } from './feed.ts';
import { type PageFile, readPageFiles } from './page-files.ts';
import { type PageGuest, type PageSession, type PageSessions, type SessionClaim, sessionLifeMs } from './sessions.ts';
import { createSignIns, type SignIns } from './sign-in.ts';
import { createViewers, type Viewers } from './viewers.ts';

export interface InspectorServerPorts {
  readonly feed: Feed;
  readonly sessions: PageSessions;
  /** Answers one of the page's commands. */
  readonly answerRpc: (
    request: IncomingMessage,
    response: ServerResponse,
    session: { readonly isFresh: () => boolean; readonly guest: PageGuest },
  ) => Promise<void>;
  readonly audit: () => AuditLog | undefined;
  readonly chart: (machine: string) => Promise<Chart | undefined>;
  readonly actor: (id: string) => ActorDetails | undefined;
  readonly metrics: () => string;
  readonly readiness: () => Readiness;
  readonly pageFolder: string;
  readonly log: Logger;
}

export interface InspectorServer {
  /** `http://127.0.0.1:8645`. */
  readonly url: string;
  close(): Promise<void>;
}

type ListenVerdict =
  | { readonly kind: 'listening'; readonly server: InspectorServer }
  | { readonly kind: 'refused'; readonly why: string };

/** Nothing from other origins, nothing inline, no framing. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const always: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
};
/** No browser takes longer to send a head. */
const headTimeoutMs = 10_000;
/** Cookies ignore ports: any listener on this machine can set all that a browser keeps for one host, 180 of 4 KiB. */
const maxHeadBytes = 1_048_576;
/** How long a client may take to read the answer to a broken request. */
const lingerMs = 1_000;
const headTooLong =
  'The browser sent more than 1 MiB of headers, most likely cookies that another program on this machine set. Clear the cookies of this address in the browser, then open the page by `agent inspect --web`.';
const linkRefused = 'the link was used already or is too old';
const linkOver = 'This link was used already or is too old. `agent inspect --web` makes another.';
const wrongSignIn = 'the name or the password is wrong';
const notKept =
  'state/inspector-sessions.json cannot be written, so a restart brings the session back; make room there, then run `agent inspect --end-sessions`';
/** In bytes, since a sign-in needs no session. */
const maxSignInLength = 4_096;
const promText = 'text/plain; version=0.0.4; charset=utf-8';

export async function openInspectorServer(
  { host, port, scrapeToken, publicUrl, users }: InspectorSettings,
  ports: InspectorServerPorts,
): Promise<ListenVerdict> {
  if (!isLoopbackHost(host) && publicUrl === undefined) {
    const why = `inspector.host ${host} is no loopback address; use 127.0.0.1 and a tunnel, or set inspector.public_url to the HTTPS address of the proxy before it`;
    return { kind: 'refused', why };
  }
  const signIns = users === undefined ? undefined : createSignIns(users, Date.now);
  const viewers = createViewers(ports.feed);
  let files: ReadonlyMap<string, PageFile> | undefined;
  const filesOf = (): ReadonlyMap<string, PageFile> => {
    const read = files ?? readPageFiles(ports.pageFolder);
    // An empty result is not kept: there may have been no file descriptor to read the folder with.
    if (read.size > 0) files = read;
    return read;
  };
  // An address and not a name: browsers resolve `localhost` to [::1] first, where another process may listen on this port.
  const name = host === 'localhost' ? '127.0.0.1' : host;
  const server = createServer({
    headersTimeout: headTimeoutMs,
    keepAliveTimeout: 5_000,
    maxHeaderSize: maxHeadBytes,
  });
  const linger = createLingering(lingerLimits);
  server.on('connection', (socket: Socket) => {
    // Node closes a connection by `destroySoon`; with unread body bytes, the reset would discard the answer.
    socket.destroySoon = () => linger(socket);
  });
  server.on('clientError', endBroken);
  const due = new WeakMap<Socket, number>();
  const isBusy = (socket: Socket): boolean => (due.get(socket) ?? 0) > 0;
  const { used, answered } = boundConnections(server, { limit: connectionLimit('inspector'), isBusy });
  try {
    await listen(server, name, port);
  } catch (thrown) {
    const cause = whyUnbound((thrown as NodeJS.ErrnoException).code ?? causeOf(thrown));
    const why = `inspector: ${host}:${port} cannot be bound: ${cause}; set inspector.port`;
    return { kind: 'refused', why };
  }
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  // A listener for other machines is reached by its public address, and from this machine by this one.
  const here = isLoopbackHost(name) ? name : '127.0.0.1';
  const url = `http://${here === '::1' ? '[::1]' : here}:${bound}`;
  const { origin } = new URL(url);
  const serving: Serving = { ...ports, viewers, filesOf, port: bound, origin, publicUrl, signIns, scrapeToken };
  server.on('request', (request, response) => {
    const { socket } = request;
    used(socket);
    due.set(socket, (due.get(socket) ?? 0) + 1);
    response.once('close', () => {
      due.set(socket, (due.get(socket) ?? 1) - 1);
      answered(socket);
    });
    for (const [name, value] of Object.entries(always)) response.setHeader(name, value);
    serve(request, response, serving).catch((thrown: unknown) => {
      ports.log.log('warn', 'inspector: a request failed', { path: pathOf(request), error: causeOf(thrown) });
      if (!response.headersSent) plain(response, 500, 'internal error');
      else response.destroy();
    });
  });
  return {
    kind: 'listening',
    server: {
      url,
      close: () =>
        new Promise((resolve) => {
          viewers.close();
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    },
  };
}

/** Answers a broken request, then destroys the socket; the delay lets the answer arrive. */
function endBroken({ code }: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || code === 'ECONNRESET') return;
  const [status, text] =
    code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', headTooLong]
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'the request did not come in time']
        : ['400 Bad Request', 'this is no HTTP request'];
  const head = `content-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${text}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

interface Serving extends InspectorServerPorts {
  readonly viewers: Viewers;
  readonly filesOf: () => ReadonlyMap<string, PageFile>;
  readonly port: number;
  readonly origin: string;
  readonly publicUrl: string | undefined;
  /** Absent if no user is configured. */
  readonly signIns: SignIns | undefined;
  readonly scrapeToken: string | undefined;
}

async function serve(request: IncomingMessage, response: ServerResponse, ports: Serving): Promise<void> {
  const path = pathOf(request);
  const { sessions, port, origin, publicUrl, scrapeToken, signIns } = ports;
  // A browser cannot verify which process has a loopback port, so a password is accepted only over HTTPS.
  const isPublic =
    publicUrl !== undefined && pageOriginOf(request.headers.host ?? '', { origin, publicUrl }) === publicUrl;
  const asked = askedOf(path, signIns !== undefined && isPublic);
  const verdict = judgeRequest(request, asked, {
    port,
    origin,
    publicUrl,
    isLocal: isLoopback(request.socket.remoteAddress ?? ''),
    scrapeToken,
    knowsSession: sessions.knows,
    provesKey: sessions.proves,
  });
  if (verdict.kind === 'refused') {
    // RFC 6750 §3: the challenge shows a client that it needs a bearer token.
    if (asked === 'numbers' && verdict.status === 401) response.setHeader('www-authenticate', 'Bearer realm="agent"');
    // Discards the body, so that it is not waited for.
    request.resume();
    plain(response, verdict.status, verdict.why);
    return;
  }
  await answer(request, response, { ...ports, asked, session: verdict.session });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  ports: Serving & { readonly asked: Asked; readonly session: SessionClaim | undefined },
): Promise<void> {
  const { asked, session, sessions, signIns } = ports;
  const path = pathOf(request);
  const method = request.method ?? '';
  if (path === '/sign-out' && session !== undefined) {
    if (method === 'POST') await signOut(response, { ...ports, session });
    else notAllowed(response, 'POST');
    return;
  }
  if (asked === 'data' && session !== undefined) {
    // Open responses end with their session.
    response.on(
      'close',
      sessions.onEnd(session, () => response.destroy()),
    );
  }
  if (path === '/rpc') {
    const isFresh = (): boolean => session !== undefined && sessions.isFresh(session);
    const guest = session && sessions.guest(session);
    if (guest === undefined) plain(response, 401, 'the session has ended');
    else if (method === 'POST') await ports.answerRpc(request, response, { isFresh, guest });
    else notAllowed(response, 'POST');
    return;
  }
  if (asked === 'signIn' && signIns !== undefined) {
    if (method === 'POST') await signIn(request, response, { ...ports, signIns });
    // The page checks here whether a person can sign in with a password.
    else response.writeHead(204).end();
    return;
  }
  if (method !== 'GET' && method !== 'HEAD') {
    notAllowed(response, 'GET, HEAD');
    return;
  }
  if (path === '/open') open(request, response, ports);
  else if (path === '/hello') hello(request, response, { sessions, session });
  else if (path === '/metrics') plain(response, 200, ports.metrics(), promText);
  else if (path === '/ready') {
    const readiness = ports.readiness();
    json(response, readiness, readiness.ready ? 200 : 503);
  } else if (path === '/stream') stream(response, ports);
  else if (path.startsWith('/chart/')) json(response, await ports.chart(nameIn(path, '/chart/')));
  else if (path.startsWith('/actor/')) json(response, ports.actor(nameIn(path, '/actor/')));
  else file(request, response, ports.filesOf().get(path));
}

/** Returns what a path is; `hasUsers` if a person can sign in at this origin. */
function askedOf(path: string, hasUsers: boolean): Asked {
  if (path === '/open') return 'link';
  if (path === '/sign-in' && hasUsers) return 'signIn';
  if (path === '/hello') return 'greeting';
  if (path === '/metrics' || path === '/ready') return 'numbers';
  if (path === '/rpc' || path === '/stream' || path === '/sign-out' || /^\/(?:actor|chart)\//.test(path)) return 'data';
  if (hasUsers) return 'entrance';
  return path === '/' || path === '/index.html' ? 'document' : 'file';
}

/** Answers with the page, which contains the session's key: a cookie would also be sent to other listeners. */
function open(
  request: IncomingMessage,
  response: ServerResponse,
  { sessions, port, origin, publicUrl, filesOf, audit }: Serving,
): void {
  const opened = { what: 'signed in', by: 'link', sender: signerOf(request) } as const;
  const refuse = (): void => {
    audit()?.addSession({ ...opened, refused: linkRefused });
    plain(response, 401, linkOver);
  };
  const token = new URL(request.url ?? '/', origin).searchParams.get('token') ?? '';
  const index = filesOf().get('/');
  // A prefetch must not use up the link.
  if (request.headers['sec-purpose'] !== undefined) plain(response, 503, 'a link is opened by a person');
  else if (!sessions.invites(token)) refuse();
  else if (index === undefined) file(request, response, index);
  else if (request.method === 'HEAD') response.writeHead(200, { 'content-type': index.type }).end();
  else {
    const at = pageOriginOf(request.headers.host ?? '', { origin, publicUrl }) ?? origin;
    const session = sessions.open(token, at);
    if (session === undefined) {
      refuse();
      return;
    }
    audit()?.addSession({ ...opened, who: sessions.guest({ id: session.id, origin: at })?.who });
    response.writeHead(200, { 'content-type': index.type, 'set-cookie': cookieOf(session, port, at) });
    response.end(withSession(index.bytes.toString('utf8'), session));
  }
}

/** Returns the cookie of a session, or the one that removes it. */
function cookieOf(session: PageSession | undefined, port: number, origin: string): string {
  const { id, maxAge } = { id: session?.id ?? '', maxAge: session === undefined ? 0 : sessionLifeMs / 1_000 };
  const secure = origin.startsWith('https:') ? '; Secure' : '';
  return `${cookieName(port)}=${id}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAge}${secure}`;
}

/** Exchanges a name and a password for a session; the answer gives its key to the page's script. */
async function signIn(
  request: IncomingMessage,
  response: ServerResponse,
  { sessions, port, origin, publicUrl, signIns, log, audit }: Serving & { readonly signIns: SignIns },
): Promise<void> {
  const at = publicUrl ?? origin;
  const given = readJson((await bodyOf(request, response, maxSignInLength)) ?? '');
  const { name, password } = isJsonObject(given) ? given : {};
  if (typeof name !== 'string' || typeof password !== 'string') {
    plain(response, 400, 'a name and a password');
    return;
  }
  const sender = signerOf(request);
  const verdict = signIns.judge({ name, password, sender });
  if (verdict.kind === 'guest') {
    const { who } = verdict.guest;
    // A second sign-in replaces cookie and key, so the page could not end the earlier session any more.
    for (const claim of claimsOf(request.headers, { port, origin: at })) {
      const before = sessions.guest(claim);
      if (before?.signedBy !== undefined && before.who === who) void sessions.end(claim);
    }
    const session = sessions.admit(verdict.guest, at);
    log.log('info', 'inspector: signed in', { who });
    audit()?.addSession({ what: 'signed in', who, sender });
    response.setHeader('set-cookie', cookieOf(session, port, at));
    json(response, session);
    return;
  }
  const { who } = verdict;
  log.log('warn', 'inspector: a sign-in was refused', defined({ who, sender: cut(sender, 64) }));
  const refused = verdict.kind === 'wrong' ? wrongSignIn : 'too many wrong ones in a minute';
  audit()?.addSession({ what: 'signed in', who, sender, refused });
  if (verdict.kind === 'wrong') plain(response, 401, wrongSignIn);
  else {
    response.setHeader('retry-after', verdict.seconds);
    plain(response, 429, `too many wrong ones; try again in ${verdict.seconds} s`);
  }
}

/** Resolves with undefined for a longer body; the rest is then not read, and the answer closes the connection. */
export async function bodyOf(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number,
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) {
      response.setHeader('connection', 'close');
      return undefined;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Ends the session and its open responses; its cookie and key are not accepted any more. */
async function signOut(
  response: ServerResponse,
  { sessions, session, port, audit }: Serving & { readonly session: SessionClaim },
): Promise<void> {
  const { who } = sessions.guest(session) ?? {};
  const isKept = await sessions.end(session);
  audit()?.addSession({ what: 'signed out', who, ...(isKept ? {} : { refused: notKept }) });
  response.setHeader('set-cookie', cookieOf(undefined, port, session.origin));
  response.writeHead(204).end();
}

/**
 * Returns the address of a person who signs in, as the proxy reports it. A proxy on another machine adds its own address. A
 * client without a proxy can invent addresses, but its attempts still count for the name.
 */
function signerOf({ socket, headers }: IncomingMessage): string {
  const at = (address: string): string => senderOf(address) ?? address;
  const { remoteAddress = '' } = socket;
  const forwarded = headers['x-forwarded-for']?.toString().split(',').at(-1)?.trim();
  if (forwarded === undefined) return at(remoteAddress);
  return isLoopback(remoteAddress) ? at(forwarded) : `${at(forwarded)} by ${at(remoteAddress)}`;
}

/** Adds the session as an element for the page's script; the policy allows no inline script. */
function withSession(document: string, { id, key }: PageSession): string {
  return document.replace('</head>', () => `<meta name="${sessionElement}" content="${id}.${key}" /></head>`);
}

/** Proves to the page that this is its daemon, before the page sends anything else. */
function hello(
  { headers }: IncomingMessage,
  response: ServerResponse,
  { sessions, session }: { readonly sessions: PageSessions; readonly session: SessionClaim | undefined },
): void {
  const challenge = headers[challengeHeader];
  if (typeof challenge !== 'string' || !/^[\w-]{43}$/.test(challenge)) plain(response, 400, 'a challenge of 32 bytes');
  else if (session !== undefined) json(response, sessions.introduce(session, challenge));
}

function stream(response: ServerResponse, { viewers }: Serving): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' });
  response.write('retry: 1000\n\n');
  if (!viewers.add(response)) response.end('event: full\ndata: {}\n\n');
}

function file(request: IncomingMessage, response: ServerResponse, found: PageFile | undefined): void {
  if (found === undefined) {
    plain(response, 404, 'nothing is here');
    return;
  }
  const { type, etag, isImmutable } = found;
  const caching = isImmutable ? 'private, max-age=31536000, immutable' : 'private, no-cache';
  response.setHeader('cache-control', caching).setHeader('etag', etag);
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304).end();
    return;
  }
  const bytes = encoded(request, response, found);
  response.writeHead(200, { 'content-type': type, 'content-length': bytes.length });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

/** Returns the bytes as stored, or decompressed if the client does not accept gzip. */
function encoded(request: IncomingMessage, response: ServerResponse, { bytes, isCompressed }: PageFile): Buffer {
  if (!isCompressed) return bytes;
  response.setHeader('vary', 'accept-encoding');
  if (!/\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? '')) return gunzipSync(bytes);
  response.setHeader('content-encoding', 'gzip');
  return bytes;
}

function json(response: ServerResponse, value: object | undefined, status = 200): void {
  if (value === undefined) plain(response, 404, 'nothing of that name is here');
  else plain(response, status, JSON.stringify(value), 'application/json');
}

function plain(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type });
  response.end(text.endsWith('\n') ? text : `${text}\n`);
}

function notAllowed(response: ServerResponse, allow: string): void {
  response.setHeader('allow', allow);
  plain(response, 405, `only ${allow}`);
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?')[0] ?? '/';
}

function nameIn(path: string, prefix: string): string {
  try {
    return decodeURIComponent(path.slice(prefix.length));
  } catch {
    return '';
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // Not removed: a failure to accept a connection, for lack of file descriptors, is an `error` event too.
    server.on('error', reject);
    server.listen(port, host, () => {
      resolve();
    });
  });
}
