/**
 * The errors that connecting throws, and one function that reads whatever a connection attempt or a call threw: the SDK's
 * errors, JSON-RPC and HTTP answers, TLS and socket errors in nested causes. The classes exist because the SDK's
 * transports report by throwing; the result is a plain value.
 * @see LIF-7, ERA-2, ERA-3 and TLS-1 in docs/specification.md
 */

import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
} from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import { objectAt } from '../../machines/base/json.ts';
import { parseJson, parseObject } from '../../machines/base/read-json.ts';
import type { ConnectFailure } from '../../machines/mcp/connect-failure.ts';

/** A failure that this side finds itself; the message is given where the failure has none. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly failure: ConnectFailure;

  constructor(failure: ConnectFailure, message = 'message' in failure ? failure.message : '') {
    super(message);
    this.failure = failure;
  }
}

/** Codes of the fault catalogue. */
type SettingCode =
  | 'tls-file-missing'
  | 'tls-file-unreadable'
  | 'tls-file-invalid'
  | 'tls-key-password'
  | 'tls-key-mismatch'
  | 'header-invalid'
  | 'proxy-invalid';

export interface SettingFile {
  readonly key: string;
  readonly path: string;
  readonly resolved: string;
}

/** A setting of the entry or of the environment that must be fixed first. */
export function settingError(what: string, code: SettingCode, file?: SettingFile): ConnectError {
  const message = `${what} [${code}]`;
  const isMissing = file !== undefined && code === 'tls-file-missing';
  return new ConnectError(isMissing ? { kind: 'tlsFile', ...file } : { kind: 'setting', message }, message);
}

/** A header with an argument of the call is too long, so the request is not sent. */
export class LongHeaderFailure extends Error {
  override readonly name = 'LongHeaderFailure';
}

/** What the error itself does not contain. */
interface ReadingContext {
  readonly timeoutMs: number;
  /** How the child of a stdio server exited; undefined if it runs or there is none. */
  readonly exitStatus?: number | string | null | undefined;
  /** The configured address; absent once it is connected, and for a program. */
  readonly url?: string;
}

const closedCodes: ReadonlySet<string> = new Set([
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.NotConnected,
  SdkErrorCode.SendFailed,
  SdkErrorCode.EraNegotiationFailed,
]);
const malformedCodes: ReadonlySet<string> = new Set([SdkErrorCode.InvalidResult, SdkErrorCode.UnsupportedResultType]);
/** OpenSSL and Node codes of a failed handshake. */
const tlsCode =
  /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|CRL_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_|INVALID_CA|INVALID_PURPOSE)/;
/** The SDK's SSE transport keeps only the message of the error that it caught. */
const tlsWords = /certificate|\bssl\b|\btls\b|alert number/i;
const redirectWords = /mcp server ".*": its redirect to .*/s;
const ssePost = /^Error POSTing to endpoint \(HTTP (\d{3})\): ([\s\S]*)$/;
/** The SDK reports it only as text. */
const otherRevision = /^Server's protocol version is not supported: (.*)$/s;
/** Of the SSE transport: the server names an address of another origin for messages. */
const otherOrigin = /^Endpoint origin does not match connection origin: (.*)$/s;
/** An error may be its own cause. */
const deepestCause = 8;

/** Never throws, whatever was thrown. */
export function readConnectError(thrown: unknown, context: ReadingContext): ConnectFailure {
  if (thrown instanceof ConnectError) return thrown.failure;
  if (thrown instanceof InsufficientScopeError) {
    return { kind: 'http', status: 403, message: thrown.message, scope: thrown.requiredScope ?? '' };
  }
  // Thrown by a transport for what its schema of a message refuses.
  if (thrown instanceof Error && thrown.name === 'ZodError')
    return { kind: 'notMcp', contentType: 'JSON that is no JSON-RPC message' };
  if (thrown instanceof SseError) return readSse(thrown);
  if (thrown instanceof ProtocolError) return { kind: 'rpc', code: thrown.code, message: thrown.message };
  if (thrown instanceof SdkHttpError) return readHttp(thrown.status, textOf(thrown.data) ?? thrown.message);
  if (thrown instanceof SdkError) return readSdk(thrown, context);
  const revision = otherRevision.exec(causeOf(thrown));
  if (revision !== null) return { kind: 'revision', offered: revision[1] ?? '' };
  const origin = otherOrigin.exec(causeOf(thrown))?.[1];
  if (origin !== undefined) {
    // Often its own address behind a proxy that ends TLS. That one in url would send credentials in clear.
    const isDowngrade = context.url?.startsWith('https:') === true && origin.startsWith('http:');
    const cure = `${isDowngrade ? '' : 'put that origin in url, or '}ask its operator to have it name only a path`;
    return { kind: 'setting', message: `names ${origin} for messages, which is not the origin of url; ${cure}` };
  }
  const post = ssePost.exec(causeOf(thrown));
  if (post !== null) return readHttp(Number(post[1]), post[2] ?? '');
  return readChain(thrown, context);
}

function readSse({ code, message }: SseError): ConnectFailure {
  // The stream opened with HTTP 200, but is not an event stream.
  if (code === 200) return { kind: 'notMcp', contentType: 'a type other than text/event-stream' };
  if (code !== undefined) return { kind: 'http', status: code, message };
  const redirect = redirectWords.exec(message)?.[0];
  if (redirect !== undefined) return { kind: 'redirect', message: redirect };
  return tlsWords.test(message) ? { kind: 'tls', message } : { kind: 'network', message };
}

/** A JSON-RPC error in the body is more precise than the status. */
function readHttp(status: number, text: string): ConnectFailure {
  const { code, message } = objectAt(parseObject(text) ?? {}, 'error');
  return typeof code === 'number'
    ? { kind: 'http', status, message: String(message ?? ''), rpcCode: code }
    : { kind: 'http', status, message: text };
}

function readSdk(error: SdkError, context: ReadingContext): ConnectFailure {
  const { timeout, contentType } = (error.data ?? {}) as { readonly timeout?: unknown; readonly contentType?: unknown };
  if (error.code === SdkErrorCode.RequestTimeout) {
    return { kind: 'timeout', afterMs: typeof timeout === 'number' ? timeout : context.timeoutMs };
  }
  if (error.code === SdkErrorCode.ClientHttpUnexpectedContent) {
    return { kind: 'notMcp', contentType: typeof contentType === 'string' ? contentType : 'no content type' };
  }
  if (malformedCodes.has(error.code)) return { kind: 'malformed', message: wrongResult(error.message) };
  if (closedCodes.has(error.code) && context.exitStatus !== undefined)
    return { kind: 'exited', status: context.exitStatus };
  if (error.cause !== undefined) return readConnectError(error.cause, context);
  if (error.code === SdkErrorCode.EraNegotiationFailed && !/closed/i.test(error.message))
    return { kind: 'notStateless' };
  return { kind: 'network', message: error.message };
}

interface Issue {
  readonly path?: readonly (string | number)[];
  readonly message?: unknown;
}

/** The SDK appends the issues of its schema as JSON; the first one has the place and the problem. */
function wrongResult(message: string): string {
  const [, method, text = ''] = /^Invalid result for (\S+): (\[.*\])$/s.exec(message) ?? [];
  const [issue] = (parseJson(text) ?? []) as readonly (Issue | undefined)[];
  if (issue === undefined) return message;
  const place = (issue.path ?? []).reduce<string>(
    (before, step) => (typeof step === 'number' ? `${before}[${step}]` : `${before}${before === '' ? '' : '.'}${step}`),
    '',
  );
  const words = String(issue.message).replace(/^Invalid input: expected (.*?)(?:, received .*)?$/, 'must be $1');
  return `its ${method} is not one of the protocol: ${place === '' ? 'it' : place} ${words}`;
}

/** The outer errors say "fetch failed"; the innermost has the cause. */
function readChain(thrown: unknown, { timeoutMs }: ReadingContext): ConnectFailure {
  let message = causeOf(thrown);
  let error = thrown;
  for (let depth = 0; error instanceof Error && depth < deepestCause; depth += 1) {
    const { code } = error as NodeJS.ErrnoException;
    // Not by name: undici also uses AbortError when the other side ends a connection.
    if (error instanceof ConnectError) return error.failure;
    if (error instanceof DOMException) return { kind: 'timeout', afterMs: timeoutMs };
    // If several addresses failed, the error has no message.
    message = plainWords(error) ?? (error.message || code || message);
    if (typeof code === 'string' && tlsCode.test(code)) return { kind: 'tls', message: `${message} (${code})` };
    error = error.cause;
  }
  return { kind: 'network', message };
}

/** Words for what OpenSSL, zlib and undici say of their own workings. */
export function plainWords({ code = '', message }: NodeJS.ErrnoException): string | undefined {
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'the other side answers without TLS';
  if (message === 'bad port') return 'its port is one that browsers and fetch refuse';
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'its answer has more than 16 KiB of headers';
  if (/^(?:Z_|ERR__ERROR_|ZSTD_)/.test(code)) return `its answer is not what its content-encoding says, or incomplete`;
  return message === 'other side closed' ? 'the other side closed the connection' : undefined;
}

function textOf(data: unknown): string | undefined {
  const text = (data as { readonly text?: unknown } | undefined)?.text;
  return typeof text === 'string' ? text : undefined;
}
