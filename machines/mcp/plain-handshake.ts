/**
 * Makes the answer to a handshake valid where it deviates in what is only said or switched on: the client refuses a server
 * for a version that is a number, or an icon of an older form.
 * @see FLT-4 and LIF-13 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';

/** The members of a capability that are true or false. */
const flags: ReadonlySet<string> = new Set(['listChanged', 'subscribe']);

/** The result of `initialize` or `server/discover`; any other result as it is. */
export function plainHandshake(result: JsonObject): JsonObject {
  const { serverInfo, capabilities, instructions, ...rest } = result;
  if (!isJsonObject(capabilities) || !('protocolVersion' in rest || 'supportedVersions' in rest)) return result;
  // Nothing reads who a server says it is.
  const { name, version } = isJsonObject(serverInfo) ? serverInfo : {};
  return {
    ...rest,
    serverInfo: { name: scalarText(name), version: scalarText(version) },
    capabilities: Object.fromEntries(Object.entries(capabilities).flatMap(plainCapability)),
    ...(typeof instructions === 'string' && { instructions }),
  };
}

/** What is no object, such as `true` or a list of methods, switches a capability on too, unless it is `false`. */
function plainCapability([name, given]: readonly [string, Json]): readonly [string, Json][] {
  if (given === false) return [];
  if (!isJsonObject(given)) return [[name, {}]];
  const isKept = ([key, value]: readonly [string, Json]): boolean =>
    flags.has(key) ? typeof value === 'boolean' : isJsonObject(value);
  return [[name, Object.fromEntries(Object.entries(given).filter(isKept))]];
}
