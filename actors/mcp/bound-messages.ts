/**
 * Keeps the SDK's schemas from messages that would take them seconds and gigabytes, because they explain each item of a list
 * that is wrong. What the list reader reads, the data of a log notification, and what a tool returns in the era of handshakes
 * do not reach them.
 * @see LIF-14 in docs/specification.md
 */

import { type JSONRPCMessage, ProtocolErrorCode, specTypeSchemas } from '@modelcontextprotocol/client';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { Handshake } from '../../machines/mcp/era.ts';
import type { Handler } from './adapt-transport.ts';
import type { OpenTransport } from './transports.ts';

export const maxMembers = 10_000;
const tooMany = `a message may have ${maxMembers} members, and this one has more`;

/** The lists of a result that may be long, and the schema of a result with one. */
const longLists = {
  content: specTypeSchemas.CallToolResult,
  contents: specTypeSchemas.ReadResourceResult,
  messages: specTypeSchemas.GetPromptResult,
} as const;
type LongList = keyof typeof longLists;

export function boundMessages(
  transport: OpenTransport['transport'],
  handshake: Handshake,
  hasOpened: () => boolean,
): Handler {
  const checkedLists: readonly LongList[] =
    handshake === 'initialize' ? ['contents', 'messages'] : ['content', 'contents', 'messages'];
  return {
    receive(message, extra, next) {
      const isOpen = hasOpened();
      const result = isOpen && 'result' in message ? (message.result as JsonObject | null) : null;
      const isShort = checkedLists.every((key) => result === null || isShortened(result, key));
      if (isShort && !hasMoreThan(maxMembers, checkedOf(message, isOpen) as Json)) {
        next(message, extra);
        return;
      }
      const { id } = message as { readonly id?: string | number };
      if (id === undefined) return;
      const refusal = {
        jsonrpc: '2.0',
        id,
        error: { code: ProtocolErrorCode.InvalidRequest, message: tooMany },
      } as const;
      if ('method' in message) transport.send(refusal).catch(() => {});
      else next(refusal, extra);
    },
  };
}

/** What the SDK checks of a message, without its long lists. */
function checkedOf(message: JSONRPCMessage, isOpen: boolean): unknown {
  if ('method' in message) return message.method === 'notifications/message' ? undefined : message.params;
  if (!('result' in message) || !isOpen) return 'result' in message ? message.result : undefined;
  const { inputRequests, supportedVersions, capabilities, serverInfo, _meta } = message.result ?? {};
  return [inputRequests, supportedVersions, capabilities, serverInfo, _meta?.['io.modelcontextprotocol/serverInfo']];
}

/** Ends a long list behind its first wrong item, so that one is explained. Returns false if an item has too many members. */
function isShortened(result: JsonObject, key: LongList): boolean {
  const list = result[key];
  if (list === undefined || !hasMoreThan(maxMembers, list)) return true;
  if (!Array.isArray(list)) return false;
  const items = list as readonly Json[];
  for (const [at, item] of items.entries()) {
    if (hasMoreThan(maxMembers, item)) return false;
    const verdict = longLists[key]['~standard'].validate({ [key]: [item] }) as { readonly issues?: unknown };
    if (verdict.issues === undefined) continue;
    Object.assign(result, { [key]: items.slice(0, at + 1) });
    break;
  }
  return true;
}

/** Without recursion, which a deep message would carry beyond the stack. */
export function hasMoreThan(max: number, value: Json): boolean {
  const open: Json[] = [value];
  let members = 0;
  for (let held = open.pop(); held !== undefined; held = open.pop()) {
    if (typeof held !== 'object' || held === null) continue;
    for (const inner of Array.isArray(held) ? (held as readonly Json[]) : Object.values(held)) {
      members += 1;
      if (members > max) return true;
      if (typeof inner === 'object') open.push(inner);
    }
  }
  return false;
}
