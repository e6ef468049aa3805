/**
 * The one value that says what went wrong. A fault names the place, the thing and the cure in its message and carries a
 * stable code; the catalogue beside it says what each code means. Rules return faults; only the edges throw.
 */

import type { FaultCode } from './fault-catalogue.ts';

export interface Fault {
  readonly code: FaultCode;
  /** Place: thing, with the value; how to fix it. Never holds a secret. */
  readonly message: string;
  /** What the world below said, for the log only. */
  readonly cause?: string;
}

export type Result<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly fault: Fault };

export function done<Value>(value: Value): Result<Value> {
  return { ok: true, value };
}

export function failed(
  code: FaultCode,
  message: string,
  cause?: string,
): { readonly ok: false; readonly fault: Fault } {
  return { ok: false, fault: fault(code, message, cause) };
}

export function fault(code: FaultCode, message: string, cause?: string): Fault {
  return cause === undefined ? { code, message } : { code, message, cause };
}

/** The text of anything thrown: the message of an error, else the value as a string. */
export function causeOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
