/** A command that is refused: thrown by handlers, carried over the socket with its stable code. */

import type { FaultCode } from '../../machines/base/fault-catalogue.ts';

export class Refusal extends Error {
  readonly code: string;
  /** What was given and is at fault, such as `server` or `env.TOKEN`. */
  readonly field: string | undefined;

  constructor(code: FaultCode, message: string, field?: string) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
    this.field = field;
  }

  /** With a code that came from elsewhere: from the socket, or from a finding about what was given. */
  static carrying(code: string, message: string, field?: string): Refusal {
    return new Refusal(code as FaultCode, message, field);
  }
}
