/** A command that is refused: thrown by handlers, carried over the socket with its stable code. */

import type { FaultCode } from '../../machines/base/fault-catalogue.ts';

export class Refusal extends Error {
  readonly code: string;

  constructor(code: FaultCode, message: string) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
  }

  /** With a code that came from elsewhere: from the socket, or from a finding about what was given. */
  static carrying(code: string, message: string): Refusal {
    return new Refusal(code as FaultCode, message);
  }
}
