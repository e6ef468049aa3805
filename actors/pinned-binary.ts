/**
 * Checks the binary of a native package before it is loaded: it runs with all rights of the gateway, and an installed
 * package has no lockfile.
 * @see SEC-9 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A native package that is absent, is not the pinned one or cannot load. */
export class UnusableBinary extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'UnusableBinary';
  }
}

/** Throws if the file at `path` cannot be read or has another SHA-256. */
export function checkPinned(path: string, pin: string, read: (path: string) => Buffer = readFileSync): void {
  const found = createHash('sha256').update(read(path)).digest('hex');
  if (found !== pin) throw new Error(`${path} is not the pinned binary: its SHA-256 is ${found}, not ${pin}`);
}
