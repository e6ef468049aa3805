/** What both fronts say alike: their bound on heads, the errors of binding and the answers that need no gateway. */

import { METHODS } from 'node:http';
import { fault } from '../../machines/base/fault.ts';
import type { FrontSettings, Reply, RequestHead } from './front.ts';

/** A head of more bytes is answered 431; what senders and proxies send stays far below. */
export const maxHeaderBytes = 16_384;

/** What is no HTTP, or may be read in two ways. */
export const badRequest: Reply = { status: 400, body: JSON.stringify({ error: 'Bad request' }) };
/** RFC 9112 §6.1: a coding that is not known is not implemented. */
const unknownCoding: Reply = { status: 501, body: JSON.stringify({ error: 'Unknown transfer coding' }) };
const methods: ReadonlySet<string> = new Set(METHODS);

/**
 * The answer to a head that a library lets pass although a server must not act on it; undefined for all others. Read in two ways, by
 * us and by a proxy in front, a body could hide a second request (RFC 9112 §11.2).
 */
export function refusalOf({ method, headers }: RequestHead): Reply | undefined {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return unknownCoding;
  // A library may read an empty length as none; bytes that follow would then be another request.
  if (headers['content-length'] === '') return badRequest;
  // The case of a method counts (RFC 9110 §9.1), and one host is all there may be (RFC 9112 §3.2).
  return methods.has(method) && headers.host?.includes(',') !== true ? undefined : badRequest;
}

/** Whether bytes follow the head. */
export function expectsBody({ contentLength, headers }: RequestHead): boolean {
  return (contentLength ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
}

/** Opening rejects with it; the gateway's chart keeps the text, for the status, the log and whoever asked for a reload. */
export function cannotBind({ host, port }: FrontSettings, cause: string): Error {
  const { code, message } = fault(
    'address-unavailable',
    `webhook listener: cannot bind ${host}:${port}: ${cause}; choose another platforms.webhook.extra.host or port, or end what holds it`,
  );
  return new Error(`${message} [${code}]`);
}
