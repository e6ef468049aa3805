/**
 * Why a server could not be reached, independent of the SDK: whether a retry can help, whether a login is needed, whether a
 * session expired, and a one-line description for people. Counts no attempts.
 * @see LIF-7, TRU-2 and TLS-1 in docs/specification.md
 */

import { loginCommand, serverCommand } from '../oauth/login-hint.ts';
import { oauthPlanOf, type TransportPlan } from './server-settings.ts';
import { lastWords, untrustedWords } from './untrusted-words.ts';

/** The revision whose era has no `initialize`, the latest that is spoken here. Revisions are dates. */
export const statelessRevision = '2026-07-28';

export type ConnectFailure =
  /** A JSON-RPC error with its code. */
  | { readonly kind: 'rpc'; readonly code: number; readonly message: string }
  /**
   * An HTTP status other than 2xx, with the JSON-RPC code if its body has one, and its origin after a redirect to another
   * origin.
   */
  | {
      readonly kind: 'http';
      readonly status: number;
      readonly message: string;
      readonly rpcCode?: number;
      readonly ledTo?: string;
      readonly retryAfter?: string;
      /** The scope that the token lacks (RFC 6750 `insufficient_scope`); empty if the server names none. */
      readonly scope?: string;
      /** Its challenge names resource metadata (RFC 9728): the server logs in by OAuth. */
      readonly namesOauth?: true;
      /** It does not know the session that the handshake has just opened; another attempt may get one that it knows. */
      readonly sessionGone?: true;
    }
  /** A redirect that is not followed; the message says which, why, and the remedy. */
  | { readonly kind: 'redirect'; readonly message: string }
  /** A successful HTTP answer that is not MCP: the preflight's finding. */
  | { readonly kind: 'notMcp'; readonly contentType: string }
  /** An answer that violates the protocol: no list, no handshake. */
  | { readonly kind: 'malformed'; readonly message: string }
  /** It serves the tools of this gateway to itself, directly or through another gateway. */
  | { readonly kind: 'ownTools'; readonly isDirect: boolean }
  /** A page of a listing exceeds the limit; the message says which listing. */
  | { readonly kind: 'oversized'; readonly message: string }
  /** The handshake offered a protocol revision that is not supported. */
  | { readonly kind: 'revision'; readonly offered: string }
  /** It refused the discovery of the stateless era. */
  | { readonly kind: 'notStateless' }
  /** `words` are the last output of a child, which may wait for something. */
  | { readonly kind: 'timeout'; readonly afterMs: number; readonly words?: string }
  | { readonly kind: 'network'; readonly message: string }
  /** Of the gateway that has a server with `placement: one`. */
  | { readonly kind: 'otherGateway'; readonly message: string }
  | { readonly kind: 'spawn'; readonly code: string; readonly command: string }
  /** The child ended, or closed its output, before it answered; `words` describe how, with its last output. */
  | { readonly kind: 'exited'; readonly status: number | string | null; readonly words?: string }
  /** The TLS handshake failed: an untrusted certificate, or a client certificate that the server requires. */
  | { readonly kind: 'tls'; readonly message: string }
  /** A setting is unusable until a person fixes it; the message says which, and how. */
  | { readonly kind: 'setting'; readonly message: string }
  /** The access token could not be renewed now; a retry may help, and the message says what to do. */
  | { readonly kind: 'token'; readonly message: string }
  /** A file of the TLS options is missing; `key` is the entry's key. */
  | { readonly kind: 'tlsFile'; readonly key: string; readonly path: string; readonly resolved: string };

/** `parked`: a permanent error of a server that was connected before, which may be an outage. */
export type AfterFailure = 'retry' | 'needsLogin' | 'failed' | 'parked';

/** An endpoint that answers a JSON POST with these is not MCP. */
const notMcpStatuses: ReadonlySet<number> = new Set([404, 405, 406, 410, 415, 501]);
/** Method not found, and refusals of a modern-only server: a retry gets the same answer. */
const hopelessCodes: ReadonlySet<number> = new Set([-32601, -32022, -32021, -32020]);
/** Spawn errors that a retry cannot fix. */
const spawnCodes: ReadonlySet<string> = new Set(['ENOENT', 'EACCES', 'ENOTDIR', 'EISDIR', 'ENOEXEC', 'E2BIG']);

/**
 * Decides what follows after all attempts of a connect failed. One refusal of the credentials is enough to need a login;
 * otherwise it is permanent only if every failure is, because a busy server may refuse one era and not support the other.
 */
export function afterFailures(failures: readonly ConnectFailure[], oauth: boolean): AfterFailure {
  if (oauth && failures.some((failure) => statusOf(failure) === 401 || lackedScope([failure]) !== undefined))
    return 'needsLogin';
  if (failures.some(isAuthRefusal)) return 'failed';
  return failures.length > 0 && failures.every(isPermanent) ? 'failed' : 'retry';
}

/** The scope that a server demanded; undefined if it demanded none. */
export function lackedScope(failures: readonly ConnectFailure[]): string | undefined {
  return failures
    .map((failure) => (failure.kind === 'http' ? failure.scope : undefined))
    .find((scope) => scope !== undefined);
}

/** Whether a retry without changes cannot help. */
export function isPermanent(failure: ConnectFailure): boolean {
  switch (failure.kind) {
    case 'http':
      if (failure.sessionGone) return false;
      return isAuthRefusal(failure) || notMcpStatuses.has(failure.status) || isWrongEra(failure);
    case 'rpc':
      return hopelessCodes.has(failure.code);
    case 'spawn':
      return spawnCodes.has(failure.code);
    case 'notMcp':
    case 'redirect':
    case 'malformed':
    case 'oversized':
    case 'revision':
    case 'notStateless':
    case 'setting':
    case 'tlsFile':
      return true;
    case 'ownTools':
      // The other gateway may be corrected.
      return failure.isDirect;
    case 'timeout':
    case 'network':
    case 'otherGateway':
    case 'exited':
    case 'tls':
    case 'token':
      return false;
  }
}

/** Words about a session id, as opposed to the session of a login. */
const unknownSession =
  /\bsession (?:id )?not found\b|\bno (?:valid|active) session\b|^No active SSE connection for session\b/i;

/**
 * Whether an HTTP answer means that the session is gone. Servers send 404, and many send 400 with a message about the
 * session. Those of the Rust SDK, and of FastMCP with authentication, send 401 with such a message, though the credentials
 * are valid, and supergateway sends 503. Without a session id all of these mean something else.
 */
export function isSessionExpiry(
  { status, message }: { readonly status: number; readonly message: string },
  had: boolean,
): boolean {
  if (!had) return false;
  if (status === 401 || status === 503) return unknownSession.test(message);
  return status === 404 || (status === 400 && /session|not initialized/i.test(message));
}

const unsupportedRevision = -32022;
/**
 * The codes and the beginning of the refusals by the transports of the SDKs. A tool that passes on the refusal of a service
 * has other codes, or words before it.
 */
const transportCodes: ReadonlySet<number | undefined> = new Set([undefined, -32000, -32600]);
const refusedByTransport = /^bad request: .*(?:protocol version|session|not initialized)/i;

/**
 * Whether a server over HTTP refuses a request for its revision or for lack of a session, though it accepted such requests
 * before: another release of it runs now, and only a new handshake helps.
 */
export function refusesRevision({
  code,
  message,
}: {
  readonly code?: number | undefined;
  readonly message: string;
}): boolean {
  if (code === unsupportedRevision) return /protocol version/i.test(message);
  return transportCodes.has(code) && refusedByTransport.test(message);
}

const unknownMember = /\b(?:unrecogni[sz]ed|unknown) (?:field|property|key)\b|invalid message format/i;

/**
 * Whether a server refused the handshake for a member of it that it does not know. Older releases of the Java SDK refuse
 * those of a capability.
 */
export function refusesMember(failure: ConnectFailure): boolean {
  return (failure.kind === 'rpc' || failure.kind === 'http') && unknownMember.test(failure.message);
}

export function ownToolsWords(isDirect: boolean): string {
  const by = isDirect ? 'by `agent mcp serve`' : 'through another gateway';
  return `it serves the tools of this gateway to itself ${by}, where they would multiply without end`;
}

export interface FailurePlace {
  readonly profile: string;
  /** Whether the server's output is logged; a test outside of the connections has no log. */
  readonly hasLog: boolean;
  readonly transport?: TransportPlan;
}

/** One line: the server, the failures in the order of the attempts, and the remedy. */
export function describeFailure(server: string, failures: readonly ConnectFailure[], place: FailurePlace): string {
  const prefix = `mcp server "${server}": `;
  const whats = failures.map((failure) => whatOf(failure).replaceAll(prefix, ''));
  const cures = new Set(failures.map((failure) => cureOf(failure, { server, ...place })).filter((cure) => cure !== ''));
  return `${prefix}${[whats.join('; then '), [...cures].join(', or ')].filter((part) => part !== '').join('; ')}`;
}

export interface ShownFailure {
  readonly why: string;
  readonly http_status?: number;
  readonly exit_code?: number;
}

/** Why a server takes no calls, for readers that see its name and have buttons instead of commands, with its numbers. */
export function shownFailure(server: string, error: string): ShownFailure {
  const prefix = `mcp server "${server}": `;
  const words = (error.startsWith(prefix) ? error.slice(prefix.length) : error)
    .split('; ')
    .filter((part) => !/^(?:or )?(?:read|run) `agent /.test(part))
    .join('; ')
    .replace(/,? or run `agent [^`]*`/, '');
  const isOfServer = /^(?:answered|is|does|offers|cannot|needs|has) /.test(words);
  // At the beginning of an attempt's words: the server's own come after these, and may name another.
  const [, status] =
    /(?:^|; then )(?:answered |its redirect to .*? is answered |does not know .*? opened: |)HTTP (\d{3})/.exec(words) ??
    [];
  const [, code] = /(?:^|; then )command [^:]*: it exited with code (\d+)/.exec(words) ?? [];
  return {
    why: /^command /.test(words) ? `The ${words}` : isOfServer ? `The server ${words}` : words,
    ...(status === undefined ? {} : { http_status: Number(status) }),
    ...(code === undefined ? {} : { exit_code: Number(code) }),
  };
}

function whatOf(failure: ConnectFailure): string {
  switch (failure.kind) {
    case 'rpc':
      return `answered with the error ${failure.code}${quoted(failure.message)}`;
    case 'http':
      if (failure.sessionGone)
        return `does not know the session that it has just opened: HTTP ${failure.status}${quoted(failure.message)}`;
      return failure.ledTo === undefined
        ? `answered HTTP ${failure.status}${quoted(failure.message)}`
        : `its redirect to ${untrustedWords(failure.ledTo)}, where no credentials and no session go, is answered HTTP ${failure.status}${quoted(failure.message)}`;
    case 'notMcp':
      return `is not an MCP endpoint: it answers ${untrustedWords(failure.contentType)}`;
    case 'malformed':
      return `does not keep to the protocol${quoted(failure.message)}`;
    case 'revision':
      return `offers revision ${untrustedWords(failure.offered, 40)} of the protocol, which is not spoken here`;
    case 'notStateless':
      return `does not offer revision ${statelessRevision} of the protocol`;
    case 'timeout':
      return `no answer in ${failure.afterMs / 1_000} s${failure.words === undefined ? '' : `; it said: ${lastWords(failure.words)}`}`;
    case 'network':
      return `cannot be reached${quoted(failure.message)}`;
    case 'spawn':
      return `command cannot be started: ${untrustedWords(failure.command)} (${failure.code})`;
    case 'exited':
      return failure.words === undefined
        ? `command ended before it answered, with ${failure.status ?? 'no status'}`
        : `command ended before it answered: ${lastWords(failure.words)}`;
    case 'tls':
      return `TLS handshake failed${quoted(failure.message)}`;
    case 'ownTools':
      return ownToolsWords(failure.isDirect);
    case 'otherGateway':
    case 'redirect':
    case 'oversized':
    case 'setting':
    case 'token':
      return untrustedWords(failure.message);
    case 'tlsFile':
      return `${failure.key} file not found: ${failure.path} (resolved ${failure.resolved})`;
  }
}

function cureOf(failure: ConnectFailure, place: FailurePlace & { readonly server: string }): string {
  switch (failure.kind) {
    case 'rpc':
      return hopelessCodes.has(failure.code) ? 'check protocol' : readWords(place);
    case 'notStateless':
      return 'check protocol';
    case 'http':
      if (failure.ledTo !== undefined) return 'put that address in url';
      if (failure.sessionGone) {
        const cure = 'ask its operator whether all its instances have the same sessions';
        return isOldSse(place) ? `${cure}, and whether a proxy changes the path that it names for messages` : cure;
      }
      if (isAuthRefusal(failure)) return refusalCure(place, failure.namesOauth);
      if (isWrongEra(failure)) return 'check protocol';
      if (isOldSse(place) && refusesGet(failure.status)) return `check url, or ${newTransport}`;
      if (!notMcpStatuses.has(failure.status)) return 'ask the operator of the server';
      return looksLikeSse(place)
        ? 'its url looks like one of the old SSE transport: set transport: sse (`--transport sse`)'
        : 'check url and transport';
    case 'notMcp':
      if (isOldSse(place)) return `check url, or ${newTransport}`;
      return isProbed(failure.contentType, place) ? 'check url, or set skip_preflight: true' : 'check url';
    case 'malformed':
      return 'report it to its author, or run another version of it';
    case 'oversized':
      return 'ask its author to list fewer at a time, or run another version of it';
    case 'revision':
      return failure.offered > statelessRevision
        ? 'run an older version of the server, or upgrade this program'
        : 'run a newer version of the server';
    case 'timeout':
      // Some servers of the other transport give the same stream, on which no endpoint is ever named. A proxy that buffers
      // the stream, as nginx does unless it is configured, passes on no endpoint either.
      if (isOldSse(place))
        return `raise connect_timeout, ask its operator whether a proxy buffers its stream, or ${newTransport}`;
      if (failure.words !== undefined) return `${readWords(place)}, or raise connect_timeout`;
      return installs(place)
        ? 'raise connect_timeout: a first start also installs the package, and each start asks the registry for it'
        : 'raise connect_timeout';
    case 'network':
      // Its message includes a remedy.
      if (failure.message.startsWith('the proxy of the environment')) return '';
      return wantsCertificate(failure.message, place)
        ? 'check url and the network, or set client_cert if the server demands a certificate of its clients'
        : 'check url and the network';
    case 'ownTools':
      // In a test it need not be in the configuration.
      if (failure.isDirect && !place.hasLog) return 'the gateway has these tools already and needs no such entry';
      return failure.isDirect
        ? `remove it by \`${serverCommand('remove', place.server, place.profile)}\``
        : 'remove it, or let its `agent mcp serve` offer only the tools of others by --toolsets';
    case 'otherGateway':
      return 'see `agent gateway nodes`';
    case 'spawn':
      if (failure.code === 'EACCES') return 'make the file of command executable';
      if (/^(?:EMFILE|ENFILE|EAGAIN|ENOMEM)$/.test(failure.code))
        return 'the system lacks descriptors, processes or memory';
      // A folder may have a blank in its name, the name of a program hardly.
      if (/^[^/\\]*\s/.test(failure.command)) return 'command is the program alone: move its arguments into args';
      if (/^(?![A-Za-z]:)[^/\\]+[/\\]/.test(failure.command))
        return 'write its full path: a relative one begins in its cwd, by default the workspace or the home';
      // Of a script, the program that its first line names may be missing, as after an upgrade of Python.
      return /[/\\]/.test(failure.command)
        ? 'install it, or correct its path, and see that the program in its first line exists if it is a script'
        : 'install it, or write its full path, since PATH may differ from that of your shell';
    case 'exited': {
      const folder = spoiltInstall(failure.words ?? '');
      return folder === undefined
        ? readWords(place)
        : `its install by npx is incomplete, as after connect_timeout: remove the folder ${folder} and raise connect_timeout`;
    }
    case 'tls':
      if (/CERT_HAS_EXPIRED/.test(failure.message))
        return 'ask its operator to renew it, or check the clock of this machine';
      // The SSE transport passes on only the words.
      if (/wrong.version.number/i.test(failure.message))
        return 'correct the port in url, or write http:// if the server has no TLS';
      return 'check ssl_verify and client_cert';
    case 'redirect':
      // Its message includes a remedy. Behind a single sign-on, a request without a token is redirected instead of refused.
      return logsIn(place) ? `run \`${loginCommand(place.server, place.profile)}\` if that is a page of logins` : '';
    case 'setting':
    case 'token':
      // Its message includes the remedy.
      return '';
    case 'tlsFile':
      return `check ${failure.key} [tls-file-missing]`;
  }
}

/** The remedy for refused credentials. */
function refusalCure(place: FailurePlace & { readonly server: string }, namesOauth = false): string {
  const login = `run \`${loginCommand(place.server, place.profile)}\``;
  if (logsIn(place)) return `check headers, or ${login}`;
  return namesOauth ? `it logs in by OAuth: set auth: oauth in its entry, then ${login}` : 'check headers';
}

function logsIn({ transport }: FailurePlace): boolean {
  return transport !== undefined && oauthPlanOf(transport) !== undefined;
}

function readWords({ server, profile, hasLog }: FailurePlace & { readonly server: string }): string {
  return hasLog ? `read \`${serverCommand('logs', server, profile)}\`` : 'try its command in a terminal';
}

function installs({ transport }: FailurePlace): boolean {
  return transport?.kind === 'stdio' && /(?:^|[\\/])(?:npx|bunx|uvx)(?:\.cmd)?$/.test(transport.command);
}

/** npx uses what there is of a package whose install was cut off, and fails ever after. */
function spoiltInstall(words: string): string | undefined {
  const missing = /Cannot find (?:module|package) '([^']*)'(?: imported from | Require stack: - )?(\S*)/.exec(
    untrustedWords(words, 4_000),
  );
  const [, file = '', from = ''] = missing ?? [];
  // A file that is named whole is missing where it is, whatever asks for it.
  const place = file.includes('/_npx/') || file.startsWith('/') ? file : from;
  return /^(?:file:\/\/)?(.*\/_npx\/[0-9a-f]+)\//.exec(place)?.[1];
}

function looksLikeSse({ transport }: FailurePlace): boolean {
  return transport?.kind === 'http' && /\/sse\/?(?:[?#]|$)/i.test(transport.url);
}

/** The preflight refuses only pages. Any other type, and any without it, is that of an answer to a message. */
function isProbed(contentType: string, { transport }: FailurePlace): boolean {
  if (transport !== undefined && 'skipPreflight' in transport && transport.skipPreflight) return false;
  return /^\s*(?:text\/html|application\/xhtml\+xml)/i.test(contentType);
}

const newTransport = 'remove transport: sse if it speaks Streamable HTTP';

/** Without a session, servers of the other transport answer a GET with 400, or have none. */
function refusesGet(status: number): boolean {
  return status === 400 || notMcpStatuses.has(status);
}

function isOldSse({ transport }: FailurePlace): boolean {
  return transport?.kind === 'sse';
}

/** A TLS 1.3 server that misses a client certificate may only close the connection. */
function wantsCertificate(message: string, { transport }: FailurePlace): boolean {
  if (transport === undefined || transport.kind === 'stdio' || transport.tls.cert !== undefined) return false;
  return /^https:/i.test(transport.url) && /other side closed|ECONNRESET/.test(message);
}

function isAuthRefusal(failure: ConnectFailure): boolean {
  const status = statusOf(failure);
  return status === 401 || status === 403;
}

function isWrongEra(failure: ConnectFailure): boolean {
  return failure.kind === 'http' && failure.status < 500 && hopelessCodes.has(failure.rpcCode ?? 0);
}

/** The status, unless it is about a session. */
function statusOf(failure: ConnectFailure): number | undefined {
  return failure.kind === 'http' && !failure.sessionGone ? failure.status : undefined;
}

function quoted(message: string): string {
  return message.trim() === '' ? '' : `: ${untrustedWords(message)}`;
}
