/** What both HTTP servers share: their limit on heads, the errors of binding and the answers that need no gateway. */

import { METHODS } from 'node:http';
import { fault } from '../../machines/base/fault.ts';
import type { Reply } from '../../machines/webhook/reply.ts';
import type { HttpServerSettings, RequestHead } from './http-server.ts';

/** A longer head is answered 431; senders and proxies stay far below. */
export const maxHeaderBytes = 16_384;

/** For input that is not HTTP, or is ambiguous. */
export const badRequest: Reply = { status: 400, body: JSON.stringify({ error: 'Bad request' }) };
/** RFC 9112 §6.1: an unknown coding is answered 501. */
const unknownCoding: Reply = { status: 501, body: JSON.stringify({ error: 'Unknown transfer coding' }) };
const methods: ReadonlySet<string> = new Set(METHODS);

/**
 * The answer to a head that a library accepts although a server must not act on it; undefined for all others. If this
 * server and a proxy in front read a body differently, it could hide a second request (RFC 9112 §11.2).
 */
export function refusalOf({ method, headers }: RequestHead): Reply | undefined {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return unknownCoding;
  // A library may treat an empty length as absent; the bytes that follow would then be another request.
  if (headers['content-length'] === '') return badRequest;
  // Methods are case-sensitive (RFC 9110 §9.1), and only one host is allowed (RFC 9112 §3.2).
  return methods.has(method) && headers.host?.includes(',') !== true ? undefined : badRequest;
}

/** Whether bytes follow the head. */
export function expectsBody({ contentLength, headers }: RequestHead): boolean {
  return (contentLength ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
}

/**
 * The error with which opening rejects; the gateway's chart keeps its text for the status, the log and a reload's answer.
 */
export function cannotBind({ host, port }: HttpServerSettings, cause: string): Error {
  const { code, message } = fault(
    'address-unavailable',
    `webhook listener: cannot bind ${host}:${port}: ${cause}; choose another platforms.webhook.extra.host or port, or end what holds it`,
  );
  return new Error(`${message} [${code}]`);
}
