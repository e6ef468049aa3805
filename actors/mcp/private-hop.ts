/**
 * The failures of a request to an address to which a server may not lead: one on the public internet to one that is not,
 * and a login to one without TLS. A file of its own, since the errors of connections load the protocol's client with them.
 * @see SEC-5 in docs/specification.md
 */

import type { FaultCode } from '../../machines/base/fault-catalogue.ts';

/** Nothing was sent there. */
export class HopFailure extends Error {}

export class PrivateHopFailure extends HopFailure {
  readonly code: FaultCode = 'leads-inside';

  constructor(message: string) {
    super(message);
    this.message = `${message} [${this.code}]`;
    this.name = 'PrivateHopFailure';
  }
}
