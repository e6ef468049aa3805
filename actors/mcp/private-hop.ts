/**
 * The failures of a request to an address where a server may not lead: from the public internet to a private address, or
 * a login to one without TLS. A separate file, because the file of the connection errors loads the protocol's client.
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
