/**
 * A fault describes one failure: its message names the place, the cause and the remedy; docs/errors.md explains its stable
 * code. Rules return faults; only the outermost layer throws.
 */

import type { FaultCode } from './fault-catalogue.ts';

export interface Fault {
  readonly code: FaultCode;
  /** Place, what is wrong with which value, and the remedy. Never contains a secret. */
  readonly message: string;
  /** The underlying error. Logged, never sent to a client. */
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

/** The text of a thrown value: an error's message, else the value as a string. */
export function causeOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The fault of a failed effect, as the parameters of a chart's action. */
export function faultOfError({ event }: { readonly event: { readonly error: unknown } }): { readonly fault: string } {
  return { fault: causeOf(event.error) };
}
