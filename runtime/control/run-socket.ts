/**
 * The control socket of one run, which gives its program access to what the run may use and nothing else: the tools of its
 * toolsets, and the command that shows its own run. Any other method is refused. The profile, the toolsets, the run and the
 * caller of a request are always those of the run, whatever the parameters contain. It is in the run's own folder and is
 * removed with the run.
 * @see SEC-4 in docs/specification.md
 */

import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { ensurePrivateFolder } from '../../actors/files.ts';
import { isWithin, toolFilter } from '../../machines/agent/toolset.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { splitGlobs } from '../../machines/mcp/glob.ts';
import type { Command, CommandHost } from './command.ts';
import { commands } from './commands.ts';
import { Refusal } from './contract/refusal.ts';
import { mcpOf } from './mcp-commands.ts';
import { formatError, rpcCodes } from './protocol.ts';
import { type ControlSettings, createUnanswered, freePath, listenAt, serveConnection } from './server.ts';
import { demandOwnFolder } from './socket-folder.ts';

/**
 * Connections of the programs of a run that are served: more than it may have open questions. Each may hold an unfinished
 * request of the maximum size in memory, and a program that is confined to its socket must not end the gateway.
 */
const maxServed = 64;
/** Further ones are refused with a reason, and those beyond this closed: each takes a descriptor. */
const maxConnections = 256;

/**
 * Listens. Returns a function that closes the socket and never throws. Rejects if the path cannot be bound, or its folder
 * belongs to another user.
 */
export async function openRunSocket(
  path: string,
  bounds: RunBounds,
  { host, log, redact }: Omit<ControlSettings, 'path' | 'hold'>,
): Promise<() => void> {
  // A run may use only its own gateway.
  const { nodes: _, ...own } = host;
  const hostOfRun = { ...own, commandOf: commandsOfRun(bounds) };
  const sockets = new Set<Socket>();
  const served = new Set<Socket>();
  const unanswered = createUnanswered();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      served.delete(socket);
    });
    if (served.size >= maxServed) return refuseConnection(socket);
    served.add(socket);
    serveConnection(socket, hostOfRun, { log, redact, unanswered });
  });
  server.maxConnections = maxConnections;
  // An accept that fails for lack of descriptors is an error event too.
  server.on('error', () => {});
  demandOwnFolder(path);
  await ensurePrivateFolder(dirname(path));
  await listenAt(server, path);
  return () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    freePath(path);
  };
}

/** Answers the first request of a connection that it is refused, so that a call is not taken for one that may have run. */
function refuseConnection(socket: Socket): void {
  const { code, message } = refused(`has at most ${maxServed} connections at once; close one first`);
  socket.on('error', () => {});
  socket.once('data', () => socket.end(formatError(null, { code: rpcCodes.refused, message, data: { code } })));
}

interface RunBounds {
  readonly runId: string;
  readonly profile: string;
  readonly toolsets: readonly string[];
  readonly traceparent?: string;
}

/** Returns a request's parameters bound to the run; throws a Refusal if they exceed its rights. */
type Bind = (params: JsonObject, bounds: RunBounds, host: CommandHost) => JsonObject;

const bound: ReadonlyMap<string, Bind> = new Map([
  ['mcp.tools', ofTools('server')],
  ['mcp.call', ofTools('name', 'arguments')],
  ['mcp.instructions', ofTools()],
  ['mcp.gateways', ofTools()],
  ['mcp.resources', ofTools()],
  ['mcp.resourceTemplates', ofTools()],
  ['mcp.readResource', ofTools('uri')],
  ['mcp.prompts', ofTools()],
  ['mcp.getPrompt', ofTools('name', 'arguments')],
  ['mcp.watch', ofTools()],
  ['runs.show', ofOwnRun],
]);

/** Returns the lookup of commands for a run's socket. A forbidden command is found, and refuses. */
export function commandsOfRun(bounds: RunBounds): (method: string) => Command | undefined {
  return (method) => {
    const command = commands.get(method);
    const bind = bound.get(method);
    if (command === undefined) return undefined;
    return (host, params, peer) => {
      if (bind !== undefined) return command(host, bind(params, bounds, host), peer);
      throw refused(
        `may not use ${method}; it has the tools of its toolsets and \`agent runs show ${bounds.runId}\`, and a person does the rest outside of it`,
      );
    };
  };
}

/** @param chosen the parameters that the program may set */
function ofTools(...chosen: readonly string[]): Bind {
  return (params, bounds, host) => {
    const { runId, profile, toolsets, traceparent } = bounds;
    const { profile: askedProfile = profile, toolsets: asked = '' } = params;
    if (askedProfile !== profile) {
      throw refused(
        `is of profile "${profile}" and has no tool of profile ${JSON.stringify(askedProfile)}; leave the profile out`,
      );
    }
    if (typeof asked !== 'string' || reachBeyond(asked, bounds, host)) {
      throw refused(
        `may not widen its toolsets to ${JSON.stringify(asked)}; ask for some of ${toolsets.join(', ') || 'none'}, or add to the toolsets of its route`,
      );
    }
    return {
      ...Object.fromEntries(chosen.flatMap((name) => (params[name] === undefined ? [] : [[name, params[name]]]))),
      ...(asked === '' ? {} : { toolsets: asked }),
      ...(traceparent === undefined ? {} : { traceparent }),
      lent: toolsets,
      profile,
      run: runId,
      caller: 'run',
    };
  };
}

/** Whether the requested toolsets exceed those of the run. */
function reachBeyond(asked: string, { profile, toolsets }: RunBounds, host: CommandHost): boolean {
  if (asked === '') return false;
  const tools = mcpOf(host).tools(profile).filter(toolFilter(toolsets));
  return !splitGlobs(asked).every((name) => isWithin(name, toolsets, tools));
}

function ofOwnRun({ id, transcript = false }: JsonObject, { runId }: RunBounds): JsonObject {
  if (id !== runId) throw refused(`may not see run ${JSON.stringify(id ?? null)}; its own is "${runId}"`);
  return { id, transcript };
}

function refused(what: string): Refusal {
  return new Refusal('run-refused', `a run ${what}`);
}
