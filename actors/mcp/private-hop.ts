/**
 * The failure of a request that a server on the public internet would lead to an address that is not. A file of its own,
 * since the errors of connections load the protocol's client with them.
 * @see SEC-5 in docs/specification.md
 */

import type { FaultCode } from '../../machines/base/fault-catalogue.ts';

/** Nothing was sent there. */
export class PrivateHopFailure extends Error {
  readonly code: FaultCode = 'leads-inside';

  constructor(message: string) {
    super(message);
    this.message = `${message} [${this.code}]`;
    this.name = 'PrivateHopFailure';
  }
}
