/**
 * The words of the control socket: JSON-RPC 2.0, one message a line. Frames only; knows no command.
 * @see CLI-3 in docs/specification.md
 * @see [JSON-RPC 2.0](https://www.jsonrpc.org/specification)
 */

import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';

export interface RpcRequest {
  readonly id: string | number | null;
  readonly method: string;
  readonly params: JsonObject;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  /** Our own stable code, for scripts. */
  readonly data?: { readonly code: string };
}

export type RpcMessage =
  | { readonly kind: 'request'; readonly request: RpcRequest }
  | { readonly kind: 'result'; readonly id: string | number | null; readonly result: Json }
  | { readonly kind: 'error'; readonly id: string | number | null; readonly error: RpcError }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'malformed'; readonly error: RpcError };

/** Codes that the JSON-RPC specification reserves, and ours for a refused command. */
export const rpcCodes = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  refused: -32_000,
} as const;
/** A longer line is no message of ours. */
export const longestLine = 8 * 1_048_576;

export function spellResult(id: RpcRequest['id'], result: Json): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`;
}

export function spellError(id: RpcRequest['id'], error: RpcError): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`;
}

export function spellRequest({ id, method, params }: RpcRequest): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
}

export function spellNotification(method: string, params: JsonObject): string {
  return `${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`;
}

/** Reads one line; whatever it holds, the answer is a message. */
export function readMessage(line: string): RpcMessage {
  const value = parse(line);
  if (value === undefined)
    return { kind: 'malformed', error: { code: rpcCodes.parse, message: 'the line is not JSON' } };
  if (!isJsonObject(value) || value.jsonrpc !== '2.0') {
    return { kind: 'malformed', error: { code: rpcCodes.request, message: 'the message is no JSON-RPC 2.0 object' } };
  }
  const id = idOf(value.id);
  if (typeof value.method === 'string') {
    const params = value.params ?? {};
    if (!isJsonObject(params)) {
      return { kind: 'malformed', error: { code: rpcCodes.params, message: 'params must be an object' } };
    }
    if (value.id === undefined) return { kind: 'notification', method: value.method, params };
    return { kind: 'request', request: { id, method: value.method, params } };
  }
  if (isJsonObject(value.error)) return { kind: 'error', id, error: value.error as unknown as RpcError };
  return { kind: 'result', id, result: value.result ?? null };
}

function parse(line: string): Json | undefined {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
}

function idOf(id: Json | undefined): string | number | null {
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
