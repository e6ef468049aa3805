/**
 * Decides whether the cached tools of a lazy server can replace a connection. An entry is valid for a fingerprint of what
 * decides the tool list, within the server's time to live, and in the current format. The caller reads the file and hashes.
 * @see LIF-6 in docs/specification.md
 */

import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { parseObject } from '../base/read-json.ts';
import type { Offered } from './offers.ts';
import type { ServerSettings, TransportPlan } from './server-settings.ts';

export interface CachedDiscovery {
  readonly fingerprint: string;
  readonly savedAtMs: number;
  /** The list's time to live as given by the server; absent if it gives none. */
  readonly ttlMs?: number;
  /** Every admitted tool of the server, before filtering; invisible characters are removed from its texts and schema. */
  readonly tools: readonly JsonObject[];
  /** Which tools were left out, and why; absent if none. */
  readonly leftOut?: readonly string[];
  /** The names of all of these; absent if they are unknown or too many. */
  readonly leftOutNames?: readonly string[];
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  /** The resources and prompts in the last answers to clients. */
  readonly offered?: Offered;
}

/** Increased when an entry of the old format would be misread. */
const format = 1;

/**
 * Parses an entry; undefined if it is corrupt, or stale: of another format, of other settings, or too old.
 * @param nowMs if undefined, an entry of any age is returned
 */
export function readCache(text: string, fingerprint: string, nowMs?: number): CachedDiscovery | undefined {
  const { format: ofFormat, ...discovery } = parseObject(text) ?? {};
  if (ofFormat !== format || discovery.fingerprint !== fingerprint || !isDiscovery(discovery)) return undefined;
  const { ttlMs, savedAtMs } = discovery;
  // Saved in the future: the clock was set back, so the age of the entry is unknown.
  return nowMs !== undefined && ttlMs !== undefined && (nowMs >= savedAtMs + ttlMs || nowMs < savedAtMs)
    ? undefined
    : discovery;
}

/** Serializes an entry. Its tools have passed `cleanTool`, which limits their depth. */
export function cacheText(discovery: CachedDiscovery): string {
  return JSON.stringify({ format, ...discovery });
}

/**
 * Serializes what decides a server's tool list, with sorted keys. Contains secrets: the caller keeps only its hash. Includes
 * the client's capabilities, because servers list tools that need sampling only if the client supports it.
 */
export function fingerprintInput(settings: ServerSettings): string {
  return JSON.stringify({
    elicitation: settings.elicitation.enabled,
    protocol: settings.protocol,
    sampling: settings.sampling.enabled,
    transport: transportInput(settings.transport),
  });
}

function transportInput(plan: TransportPlan): JsonObject {
  if (plan.kind === 'stdio') {
    const { args, command, cwd = null, env, kind } = plan;
    return { args, command, cwd, env: sorted(env), kind };
  }
  const { cert, key, password, verify } = plan.tls;
  // Absent unless given, so that what was cached before these counted remains valid.
  const tls = cert === undefined && verify === true ? {} : { tls: defined({ cert, key, password, verify }) };
  return { headers: sorted(plan.headers), kind: plan.kind, oauth: plan.oauth !== null, ...tls, url: plan.url };
}

/** Pairs instead of an object, which would reorder keys that look like numbers. */
function sorted(map: Readonly<Record<string, string>>): Json {
  return Object.entries(map).sort(([one], [other]) => (one < other ? -1 : 1));
}

function isDiscovery(entry: JsonObject): entry is JsonObject & CachedDiscovery {
  const { savedAtMs, ttlMs, tools, leftOut, leftOutNames, capabilities, instructions, offered } = entry;
  return (
    typeof savedAtMs === 'number' &&
    (ttlMs === undefined || typeof ttlMs === 'number') &&
    Array.isArray(tools) &&
    tools.every(isTool) &&
    (leftOut === undefined || isTexts(leftOut)) &&
    (leftOutNames === undefined || isTexts(leftOutNames)) &&
    isJsonObject(capabilities) &&
    (instructions === undefined || typeof instructions === 'string') &&
    (offered === undefined || isOffered(offered))
  );
}

function isTexts(value: Json): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function isOffered(value: Json): value is JsonObject & Offered {
  return (
    isJsonObject(value) &&
    Object.values(value).every((rows) => Array.isArray(rows) && rows.every((row) => isJsonObject(row)))
  );
}

function isTool(value: Json): value is JsonObject {
  return isJsonObject(value) && typeof value.name === 'string';
}
