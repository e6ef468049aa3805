/**
 * Asks the daemon over its socket. Where none runs, a command that needs only the home is run right here; the others say
 * how to start one.
 * @see CLI-2 and CLI-3 in docs/specification.md
 */

import type { Json, JsonObject } from '../machines/base/json.ts';
import { homePaths } from '../machines/config/profile.ts';
import { gatewayLost } from '../machines/mcp/call-faults.ts';
import { ConnectionLost, type ControlClient, connectControl } from '../runtime/control/client.ts';
import { homeMethods } from '../runtime/control/home-methods.ts';

export class NotRunning extends Error {
  constructor(home: string) {
    super(`the gateway of ${home} is not running; start it with \`agent gateway\``);
    this.name = 'NotRunning';
  }
}

export interface CallSource {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function createCall(source: CallSource): (method: string, params?: JsonObject) => Promise<Json> {
  return async (method, params = {}) => {
    const client = await connectControl(homePaths(source.home).socket);
    if (client === undefined) return runHere(method, params, source);
    try {
      return await client.call(method, params);
    } finally {
      client.close();
    }
  };
}

/** Calls a tool. Resolves with its result, or with `error` where it has none, a lost connection included. */
export async function callTool(
  client: ControlClient,
  params: JsonObject & { readonly name: string },
): Promise<JsonObject> {
  try {
    return (await client.call('mcp.call', params)) as JsonObject;
  } catch (thrown) {
    if (!(thrown instanceof ConnectionLost)) throw thrown;
    return { error: { ...gatewayLost(params.name, thrown.wasSent) } };
  }
}

async function runHere(method: string, params: JsonObject, source: CallSource): Promise<Json> {
  if (!homeMethods.has(method)) throw new NotRunning(source.home);
  const { commands } = await import('../runtime/control/commands.ts');
  const command = commands.get(method);
  if (command?.access !== 'home') throw new NotRunning(source.home);
  const result = await command.run(params, { source }, { notify: () => {}, onEnd: () => () => {} });
  return JSON.parse(JSON.stringify(result ?? null)) as Json;
}
