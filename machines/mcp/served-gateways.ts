/**
 * Which gateways the tools of a listing come from, directly or through others. `agent mcp serve` says it with each listing,
 * and a gateway that reads its own name there would serve its tools to itself: under new names each time, without end.
 * @see CLI-5 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

const metaKey = 'agent-gateway/gateways';
/** Third parties may write the list too. */
const maxGateways = 64;

/** The `_meta` of a listing that is served. */
export function servedMeta(gateways: readonly string[]): JsonObject {
  return { [metaKey]: gateways };
}

/** Reads the `_meta` of a listing; empty if it comes from no gateway. */
export function servedGateways(meta: Json | undefined): readonly string[] {
  const names = isJsonObject(meta) ? meta[metaKey] : undefined;
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string').slice(0, maxGateways) : [];
}
