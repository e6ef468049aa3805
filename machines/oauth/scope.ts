/**
 * Decides the scope of a login: from the server's challenge, else the resource's list, else none; with offline access if the
 * authorization server supports it.
 * @see OAU-1 in docs/specification.md
 * @see [MCP authorization, scope selection](https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization)
 */

import type { Json, JsonObject } from '../base/json.ts';

const offline = 'offline_access';

export function chooseScope(
  challenge: string | undefined,
  resource: JsonObject | undefined,
  server: JsonObject,
): string | undefined {
  const wanted = challenge ?? (listOf(resource?.scopes_supported).join(' ') || undefined);
  if (wanted === undefined) return undefined;
  const words = wanted.split(' ').filter((word) => word !== '');
  if (listOf(server.scopes_supported).includes(offline) && !words.includes(offline)) words.push(offline);
  return words.join(' ');
}

/** The scope of a step-up: everything granted so far and everything demanded now. */
export function widerScope(granted: string | undefined, demanded: string | undefined): string | undefined {
  const words = new Set(`${granted ?? ''} ${demanded ?? ''}`.split(' ').filter((word) => word !== ''));
  return words.size === 0 ? undefined : [...words].join(' ');
}

function listOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}
