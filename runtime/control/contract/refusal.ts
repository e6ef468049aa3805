/** The error of a refused command: thrown by handlers, sent over the socket with its stable code. */

import type { Result } from '../../../machines/base/fault.ts';
import type { FaultCode } from '../../../machines/base/fault-catalogue.ts';

export class Refusal extends Error {
  readonly code: string;
  /** The faulty parameter, such as `server` or `env.TOKEN`. */
  readonly field: string | undefined;

  constructor(code: FaultCode, message: string, field?: string) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
    this.field = field;
  }

  /** With a code from elsewhere: from the socket, or from a finding about the parameters. */
  static carrying(code: string, message: string, field?: string): Refusal {
    return new Refusal(code as FaultCode, message, field);
  }
}

export function refuse(code: FaultCode, message: string): never {
  throw new Refusal(code, message);
}

/** @throws Refusal with the fault */
export function got<Value>(outcome: Result<Value>): Value {
  return outcome.ok ? outcome.value : refuse(outcome.fault.code, outcome.fault.message);
}

/** Resolves once a change is in force, also if webhooks do not listen because of another finding. */
export async function inForce(reload: Promise<unknown> | undefined): Promise<void> {
  try {
    await reload;
  } catch (thrown) {
    if (!(thrown instanceof Refusal && thrown.code === 'reload-incomplete')) throw thrown;
  }
}
