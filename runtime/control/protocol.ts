/**
 * The format of the control socket: JSON-RPC 2.0, one message per line. Framing only, without commands.
 * @see CLI-3 in docs/specification.md
 * @see [JSON-RPC 2.0](https://www.jsonrpc.org/specification)
 */

import { getOrMake } from '../../machines/base/get-or-make.ts';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { deepestJson, isTooDeep } from '../../machines/base/read-json.ts';

export interface RpcRequest {
  readonly id: string | number | null;
  readonly method: string;
  readonly params: JsonObject;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  /** The gateway's own stable code, for scripts. */
  readonly data?: { readonly code: string };
}

type RpcMessage =
  | { readonly kind: 'request'; readonly request: RpcRequest }
  | { readonly kind: 'result'; readonly id: string | number | null; readonly result: Json }
  | { readonly kind: 'error'; readonly id: string | number | null; readonly error: RpcError }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  /** With the id of the request if it is readable. */
  | { readonly kind: 'malformed'; readonly id: string | number | null; readonly error: RpcError };

/** Codes that the JSON-RPC specification reserves, and the gateway's own for a refused command. */
export const rpcCodes = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  refused: -32_000,
} as const;
/** A longer request is refused. Answers have no such limit. */
export const maxLineLength = 8 * 1_048_576;
export const tooLongWords = `the request has more than ${maxLineLength / 1_048_576} MiB; send a shorter text`;

export function formatResult(id: RpcRequest['id'], result: Json): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`;
}

export function formatError(id: RpcRequest['id'], error: RpcError): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`;
}

export function formatRequest({ id, method, params }: RpcRequest): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
}

/** Params that are a string are already JSON. */
export function formatNotification(method: string, params: object | string): string {
  return notificationParts(method, params).join('');
}

/** For each of the few notifying methods, the beginning of its lines. */
const beginnings = new Map<string, string>();

/** A notification in parts, for a stream that joins many of them at once. */
export function notificationParts(method: string, params: object | string): readonly [string, string, string] {
  const beginning = getOrMake(beginnings, method, () => `{"jsonrpc":"2.0","method":"${method}","params":`);
  return [beginning, typeof params === 'string' ? params : JSON.stringify(params), '}\n'];
}

/** Parses one line; never throws, an invalid line is a `malformed` message. */
export function readMessage(line: string): RpcMessage {
  const value = parse(line);
  if (value === undefined) return malformed(null, rpcCodes.parse, 'the line is not JSON');
  if (Array.isArray(value)) {
    return malformed(null, rpcCodes.request, 'batches are not served; send each message on a line of its own');
  }
  const given = isJsonObject(value) ? (value.id ?? null) : null;
  const isId = given === null || typeof given === 'string' || typeof given === 'number';
  const id = isId ? given : null;
  if (!isJsonObject(value) || value.jsonrpc !== '2.0') {
    return malformed(id, rpcCodes.request, 'the message is no JSON-RPC 2.0 object');
  }
  if (!isId) return malformed(null, rpcCodes.request, 'the id must be a text or a number');
  if (typeof value.method === 'string') {
    const params = value.params ?? {};
    if (!isJsonObject(params)) return malformed(id, rpcCodes.params, 'params must be an object');
    if (value.id === undefined) return { kind: 'notification', method: value.method, params };
    // What is written again by recursion, as for a server, overflows the stack.
    if (isTooDeep(line)) return malformed(id, rpcCodes.params, `the request is nested more than ${deepestJson} deep`);
    return { kind: 'request', request: { id, method: value.method, params } };
  }
  if (value.method !== undefined) return malformed(id, rpcCodes.request, 'the method must be a text');
  if (value.result === undefined && value.error === undefined) {
    return malformed(id, rpcCodes.request, 'the message names no method');
  }
  if (isJsonObject(value.error)) return { kind: 'error', id, error: rpcErrorOf(value.error) };
  return { kind: 'result', id, result: value.result ?? null };
}

/** Any error is accepted, even without the required fields. */
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
