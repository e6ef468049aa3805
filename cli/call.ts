/**
 * Calls the daemon over its socket. If no daemon runs, a command that needs only the home runs in this process; the others
 * say how to start one.
 * @see CLI-2 and CLI-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../machines/base/json.ts';
import { gatewayLost } from '../machines/mcp/call-faults.ts';
import { ConnectionLost, type ControlClient, connectControl } from '../runtime/control/client.ts';
import type { Ask, Params, Result } from '../runtime/control/contract.ts';
import { agentOf, type GatewayPlace } from './context.ts';
import { oneLine } from './terminal.ts';

export class NotRunning extends Error {
  constructor(place: GatewayPlace) {
    const { home, socket } = place;
    super(
      home === undefined
        ? `${socket}: the gateway does not answer this run; the run has ended, or the gateway has stopped`
        : `the gateway of ${home} is not running; start it with \`${agentOf(place)} gateway\``,
    );
    this.name = 'NotRunning';
  }
}

/** The program of a run used a command that works on the gateway's home. */
export class HomeRefused extends Error {
  readonly code = 'run-refused';

  constructor() {
    super('a run may not use this command, which works on the home of the gateway; use it outside of the run');
    this.name = 'HomeRefused';
  }
}

/** Connects; rejects with NotRunning if no gateway listens. */
export async function connectGateway(place: GatewayPlace): Promise<ControlClient> {
  const client = await connectControl(place.socket, place);
  if (client === undefined) throw new NotRunning(place);
  return client;
}

export interface CallSource {
  readonly gateway: GatewayPlace;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes to standard error. */
  readonly complain: (text: string) => void;
}

export function createAsk(source: CallSource): Ask {
  const call = async (method: string, params: JsonObject = {}): Promise<Json> => {
    const client = await connectControl(source.gateway.socket, source.gateway);
    if (client === undefined) return runHere(method, params, source);
    try {
      return await client.call(method, params);
    } finally {
      client.close();
    }
  };
  return call as Ask;
}

/** Calls a tool. Resolves with its result, or with `error` if there is none, also after a lost connection. */
export async function callTool(client: ControlClient, params: Params<'mcp.call'>): Promise<Result<'mcp.call'>> {
  try {
    return await client.ask('mcp.call', params);
  } catch (thrown) {
    if (!(thrown instanceof ConnectionLost)) throw thrown;
    return { error: gatewayLost(params.name, thrown.wasSent) };
  }
}

async function runHere(method: string, params: JsonObject, { gateway, env, complain }: CallSource): Promise<Json> {
  const { home } = gateway;
  const { isOfHome } = await import('../runtime/control/methods.ts');
  if (home === undefined || gateway.node !== undefined || !isOfHome(method)) throw new NotRunning(gateway);
  const { runAtHome } = await import('../runtime/control/commands.ts');
  const notify = (kind: string, note: object | string): void => {
    if (kind === 'note' && isJsonObject(note)) complain(`${oneLine(String(note.text))}\n`);
  };
  const result = await runAtHome(method, params, {
    source: { home, env },
    peer: { notify, onEnd: () => () => {} },
  });
  return JSON.parse(JSON.stringify(result ?? null)) as Json;
}
