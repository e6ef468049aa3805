/**
 * Calls the daemon over its socket. If no daemon runs, a command that needs only the home runs in this process; the others
 * say how to start one.
 * @see CLI-2 and CLI-3 in docs/specification.md
 */

import { holderOf } from '../actors/lock-file.ts';
import { isJsonObject, type Json, type JsonObject } from '../machines/base/json.ts';
import { homePaths } from '../machines/config/profile.ts';
import { gatewayLost } from '../machines/mcp/call-faults.ts';
import { ConnectionLost, type ControlClient, connectControl } from '../runtime/control/client.ts';
import type { Ask, Params, Result } from '../runtime/control/contract.ts';
import { agentOf, type GatewayPlace } from './context.ts';
import { oneLine } from './terminal.ts';

/** How long a gateway may take for its first sign of life; longer than any piece of work that holds it up. */
export const greetMs = 5_000;
/** The same for a command that reads the home itself if the gateway hangs. */
const greetReaderMs = 2_000;

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

/**
 * Connects; rejects with NotRunning if no gateway listens.
 * @param isPatient for calls of tools: what a gateway that was only slow has done of one is not known afterwards
 */
export async function connectGateway(place: GatewayPlace, isPatient = false): Promise<ControlClient> {
  const { socket, node } = place;
  const client = await connectControl(socket, { node, ...(isPatient ? {} : { greetMs }) });
  if (client === undefined) throw new NotRunning(place);
  return client;
}

interface CallSource {
  readonly gateway: GatewayPlace;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes to standard error. */
  readonly complain: (text: string) => void;
}

export function createAsk(source: CallSource): Ask {
  const { gateway, complain } = source;
  const { socket, node, home } = gateway;
  let isHung = false;
  const call = async (method: string, params: JsonObject = {}): Promise<Json> => {
    const { isOfHome, onlyReads } = await import('../runtime/control/methods.ts');
    const mayReadHere = home !== undefined && node === undefined && isOfHome(method) && onlyReads(method);
    if (isHung && mayReadHere) return runHere(method, params, source);
    let client: ControlClient | undefined;
    try {
      client = await connectControl(socket, { node, greetMs: mayReadHere ? greetReaderMs : greetMs });
      if (client === undefined) return await runHere(method, params, source);
      return await client.call(method, params);
    } catch (thrown) {
      if (!(thrown instanceof ConnectionLost && thrown.isHung)) throw thrown;
      // The request waits in the socket.
      const rest = onlyReads(method) || !thrown.wasSent ? '' : '; if it continues, it may still do what was asked';
      if (!mayReadHere) throw new ConnectionLost(`${hungWords(gateway)}${rest}`, { wasSent: thrown.wasSent });
      isHung = true;
      // What reads the journal says so itself.
      if (!method.startsWith('runs.'))
        complain(`agent: ${hungWords(gateway)}; this is read from the files of the home\n`);
      return await runHere(method, params, source);
    } finally {
      client?.close();
    }
  };
  return call as Ask;
}

/** Which gateway hangs, by its process if the home's lock names it, and the cure. */
export function hungWords({ home }: GatewayPlace): string {
  const lock = home === undefined ? undefined : holderOf(homePaths(home).lock);
  if (lock?.kind !== 'living') return 'the gateway does not answer; `agent doctor` names its process';
  const { pid } = lock.holder;
  return `the gateway (process ${pid}) does not answer: if it was stopped, \`kill -CONT ${pid}\` continues it; if it hangs, \`kill -9 ${pid}\` ends it`;
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
