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
  /** With the id of the request where that can be told. */
  | { readonly kind: 'malformed'; readonly id: string | number | null; readonly error: RpcError };

/** Codes that the JSON-RPC specification reserves, and ours for a refused command. */
export const rpcCodes = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  refused: -32_000,
} as const;
/** A longer request is refused. Answers have no limit of their own. */
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

/** Params that are a text are JSON already. */
export function spellNotification(method: string, params: object | string): string {
  return notificationParts(method, params).join('');
}

/** The few methods that notify, with what each of their lines begins with. */
const beginnings = new Map<string, string>();

/** A notification in parts, for a stream that joins many of them at once. */
export function notificationParts(method: string, params: object | string): readonly [string, string, string] {
  let beginning = beginnings.get(method);
  if (beginning === undefined) {
    beginning = `{"jsonrpc":"2.0","method":"${method}","params":`;
    beginnings.set(method, beginning);
  }
  return [beginning, typeof params === 'string' ? params : JSON.stringify(params), '}\n'];
}

/** Reads one line; whatever it holds, the answer is a message. */
export function readMessage(line: string): RpcMessage {
  const value = parse(line);
  if (value === undefined) return malformed(null, rpcCodes.parse, 'the line is not JSON');
  if (Array.isArray(value)) {
    return malformed(null, rpcCodes.request, 'batches are not served; send each message on a line of its own');
  }
  if (!isJsonObject(value) || value.jsonrpc !== '2.0') {
    return malformed(null, rpcCodes.request, 'the message is no JSON-RPC 2.0 object');
  }
  const given = value.id ?? null;
  if (given !== null && typeof given !== 'string' && typeof given !== 'number') {
    return malformed(null, rpcCodes.request, 'the id must be a text or a number');
  }
  const id = given;
  if (typeof value.method === 'string') {
    const params = value.params ?? {};
    if (!isJsonObject(params)) return malformed(id, rpcCodes.params, 'params must be an object');
    if (value.id === undefined) return { kind: 'notification', method: value.method, params };
    return { kind: 'request', request: { id, method: value.method, params } };
  }
  if (value.method !== undefined) return malformed(id, rpcCodes.request, 'the method must be a text');
  if (value.result === undefined && value.error === undefined) {
    return malformed(id, rpcCodes.request, 'the message names no method');
  }
  if (isJsonObject(value.error)) return { kind: 'error', id, error: rpcErrorOf(value.error) };
  return { kind: 'result', id, result: value.result ?? null };
}

/** The peer is trusted to say what went wrong, not to say it in the shape that is asked of it. */
function rpcErrorOf({ code, message, data }: JsonObject): RpcError {
  return {
    code: typeof code === 'number' ? code : rpcCodes.refused,
    message: typeof message === 'string' ? message : 'an error without a message',
    ...(isJsonObject(data) && typeof data.code === 'string' ? { data: { ...data, code: data.code } } : {}),
  };
}

function parse(line: string): Json | undefined {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
}

function malformed(id: string | number | null, code: number, message: string): RpcMessage {
  return { kind: 'malformed', id, error: { code, message } };
}
