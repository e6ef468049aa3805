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

/** The text of a thrown value: an error's message, else the value as a string; with the cure where a file of the program is gone. */
export function causeOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const cure = 'if another version was installed while the gateway ran, stop it and start it again';
  return isReplaced(thrown) ? `${text}; ${cure}` : text;
}

/** Whether a part of the program that is loaded when it is first needed is gone, as after an upgrade. Nothing has begun then. */
export function isReplaced(thrown: unknown): boolean {
  return (thrown as { readonly code?: unknown } | null | undefined)?.code === 'ERR_MODULE_NOT_FOUND';
}

/** The fault of a failed effect, as the parameters of a chart's action. */
export function faultOfError({ event }: { readonly event: { readonly error: unknown } }): { readonly fault: string } {
  return { fault: causeOf(event.error) };
}
