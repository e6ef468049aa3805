/**
 * HMAC-SHA256 of a body between two texts, for a reused key. The two padded keys are prepared once, and the digest takes two
 * one-shot hashes: a native HMAC object per request would cost as much again, and live until the next full collection.
 * @see SIG-1 in docs/specification.md
 * @see [RFC 2104](https://www.rfc-editor.org/rfc/rfc2104.html#section-2)
 */

import { createHmac, hash } from 'node:crypto';

/** Returns the digest's 32 bytes. The texts before and after the body are Latin-1. */
type Hmac = (prefix: string, body: Uint8Array, suffix?: string) => Buffer;

/** SHA-256 works on blocks of 64 bytes; a longer key is replaced by its digest (RFC 2104 §2). */
const blockBytes = 64;
const digestBytes = 32;
/** A longer message is hashed without copying: the copy would cost more than the HMAC object saves. */
const maxCopiedBytes = 65_536;

/** Shared buffer, used within one synchronous call. */
const scratch = Buffer.alloc(blockBytes + maxCopiedBytes);

export function hmacSha256(key: Uint8Array): Hmac {
  const block = Buffer.alloc(blockBytes);
  block.set(key.length > blockBytes ? hash('sha256', key, 'buffer') : key);
  const inner = Buffer.from(block.map((byte) => byte ^ 0x36));
  const outer = Buffer.concat([block.map((byte) => byte ^ 0x5c), Buffer.alloc(digestBytes)]);

  return (prefix, body, suffix = '') => {
    const length = prefix.length + body.length + suffix.length;
    if (length > maxCopiedBytes)
      return createHmac('sha256', block).update(prefix, 'latin1').update(body).update(suffix, 'latin1').digest();
    scratch.set(inner);
    if (prefix !== '') scratch.write(prefix, blockBytes, 'latin1');
    scratch.set(body, blockBytes + prefix.length);
    if (suffix !== '') scratch.write(suffix, blockBytes + length - suffix.length, 'latin1');
    outer.write(hash('sha256', scratch.subarray(0, blockBytes + length), 'binary'), blockBytes, 'latin1');
    return Buffer.from(hash('sha256', outer, 'binary'), 'latin1');
  };
}
