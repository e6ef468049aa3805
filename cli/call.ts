/**
 * Asks the daemon over its socket. Where none runs, a command that needs only the home is run right here; the others say
 * how to start one.
 * @see CLI-2 and CLI-3 in docs/specification.md
 */

import type { Json, JsonObject } from '../machines/base/json.ts';
import { homePaths } from '../machines/config/profile.ts';
import { connectControl } from '../runtime/control/client.ts';
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

async function runHere(method: string, params: JsonObject, source: CallSource): Promise<Json> {
  if (!homeMethods.has(method)) throw new NotRunning(source.home);
  const { commands } = await import('../runtime/control/commands.ts');
  const command = commands.get(method);
  if (command?.access !== 'home') throw new NotRunning(source.home);
  const result = await command.run(params, { source }, { notify: () => {}, onEnd: () => () => {} });
  return JSON.parse(JSON.stringify(result ?? null)) as Json;
}
