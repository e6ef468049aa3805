/** What both fronts say alike: their bound on heads, the errors of binding and the answers that need no gateway. */

import { fault } from '../../machines/base/fault.ts';
import type { FrontSettings, Reply } from './front.ts';

/** A head of more bytes is answered 431; what code hosts and proxies send stays far below. */
export const maxHeaderBytes = 16_384;

/** RFC 9112 §6.3: a message with two different lengths must not be believed. */
export const conflictingLength: Reply = { status: 400, body: JSON.stringify({ error: 'Bad request' }) };

/** Opening rejects with it; the gateway's chart keeps the text, for the status, the log and whoever asked for a reload. */
export function cannotBind({ host, port }: FrontSettings, cause: string): Error {
  const { code, message } = fault(
    'address-unavailable',
    `webhook listener: cannot bind ${host}:${port}: ${cause}; choose another platforms.webhook.extra.host or port, or end what holds it`,
  );
  return new Error(`${message} [${code}]`);
}
