/**
 * Decides the scope of a login: from the entry, else the server's challenge, else the resource's list, else none; with offline
 * access if the authorization server supports it.
 * @see OAU-1 and OAU-3 in docs/specification.md
 * @see [MCP authorization, scope selection](https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization)
 */

import type { Json, JsonObject } from '../base/json.ts';
import { untrustedWords } from '../mcp/untrusted-words.ts';

const offline = 'offline_access';

export function chooseScope(
  challenge: string | undefined,
  resource: JsonObject | undefined,
  server: JsonObject,
): string | undefined {
  const wanted = challenge ?? (listOf(resource?.scopes_supported).join(' ') || undefined);
  return wanted === undefined ? undefined : withOffline(wanted, server);
}

function withOffline(scope: string, server: JsonObject): string {
  const words = scope.split(' ').filter((word) => word !== '');
  if (listOf(server.scopes_supported).includes(offline) && !words.includes(offline)) words.push(offline);
  return words.join(' ');
}

interface ScopeSources {
  /** `oauth.scope` of the entry. */
  readonly configured: string | undefined;
  /** The scope that `chooseScope` returned. */
  readonly discovered: string | undefined;
  readonly metadata: JsonObject;
  /** The scope of the stored tokens, if the same authorization server issued them. */
  readonly granted: string | undefined;
  /** Demanded since the last login; empty if the authorization server refused the scope of the last one. */
  readonly demanded: string | undefined;
}

/**
 * The scope of a login: the configured one with offline access, else the discovered one. It includes the granted scope if a
 * scope was demanded since or none is configured, so that `oauth.scope` can narrow it. After a refusal nothing is added.
 */
export function loginScope({ configured, discovered, metadata, granted, demanded }: ScopeSources): string | undefined {
  if (demanded === '') return widerScope(configured ?? discovered, undefined);
  const own = configured === undefined ? discovered : withOffline(configured, metadata);
  const isKept = demanded !== undefined || configured === undefined;
  return widerScope(isKept ? widerScope(own, granted) : own, demanded);
}

/** What to do after `invalid_scope`: text that follows the reason. */
export function scopeCure({ configured, discovered }: ScopeSources, requested: string | undefined): string {
  const isConfigured = configured !== undefined;
  if (requested === widerScope(configured ?? discovered, undefined)) {
    return `${isConfigured ? 'correct' : 'set'} oauth.scope: a scope that the authorization server grants`;
  }
  const next = 'begin again: the next login requests only';
  return isConfigured ? `${next} oauth.scope` : `${next} the scope that the server names; set oauth.scope for another`;
}

/** The server chooses what it demands, and an address with more is refused by browsers, proxies or authorization servers. */
const maxDemanded = 4_096;

/** What to keep of a demand and those before it: all, or the latest alone where that is too long for an address. */
export function demandedScope(before: string | undefined, latest: string): string | undefined {
  const all = widerScope(before, latest);
  if (all === undefined || all.length <= maxDemanded) return all;
  return latest.length <= maxDemanded ? widerScope(undefined, latest) : before;
}

/** The scope of a step-up: everything granted so far and everything demanded now. */
export function widerScope(granted: string | undefined, demanded: string | undefined): string | undefined {
  const words = new Set(`${granted ?? ''} ${demanded ?? ''}`.split(' ').filter((word) => word !== ''));
  return words.size === 0 ? undefined : [...words].join(' ');
}

/** The scope that a server demands, for a reason, and whether the token has it already. */
export function lackWords(demanded: string | undefined, granted: string | undefined): string {
  const words = widerScope(undefined, demanded)?.split(' ');
  if (words === undefined) return 'a scope that the server does not name (set oauth.scope to it)';
  const named = `the scope ${JSON.stringify(untrustedWords(words.join(' ')))}`;
  const has = grantedWords(granted);
  if (!words.every((word) => has.has(word))) return named;
  return `${named}, although it was granted: another login may not help, ask the operator of the server`;
}

/** The demanded words that a login did not grant. An answer without a scope grants what was requested (RFC 6749 §5.1). */
export function withheldScope(demanded: string | undefined, granted: string | undefined): string | undefined {
  const has = grantedWords(granted);
  const withheld = (demanded ?? '').split(' ').filter((word) => !has.has(word));
  return granted === undefined ? undefined : widerScope(undefined, withheld.join(' '));
}

/** GitHub and Slack separate them by commas, which are also permitted within a word (RFC 6749 §3.3). */
function grantedWords(scope = ''): ReadonlySet<string> {
  return new Set([...scope.split(' '), ...scope.split(/[ ,]+/)]);
}

function listOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}
