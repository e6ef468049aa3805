/** What a bare handler does with a signed event, and the secret of all of them. */

import { createHmac, timingSafeEqual } from 'node:crypto';

export const secret = 'bench-secret-bench-secret';

export function isSigned(body: Buffer, header: string): boolean {
  const digest = createHmac('sha256', secret).update(body).digest();
  const given = Buffer.from(header.slice('sha256='.length), 'hex');
  return given.length === digest.length && timingSafeEqual(given, digest);
}

/** Checks the HMAC and parses the JSON. */
export function genuine(body: Buffer, header: string): boolean {
  return isSigned(body, header) && typeof JSON.parse(body.toString()) === 'object';
}
