/**
 * `agent mcp serve`: the supervised, filtered tools, resources and prompts as one MCP server over standard input and
 * output, both eras, for any other agent program. Keeps the connection by which the gateway reports changes, and makes it
 * anew when it is lost.
 * @see CLI-5 in docs/specification.md
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { JsonObject } from '../../machines/base/json.ts';
import { backoffMs } from '../../machines/base/restart.ts';
import { type ControlClient, connectControl } from '../../runtime/control/client.ts';
import { connectGateway } from '../call.ts';
import type { ExitCode } from '../context.ts';
import { type CommandContext, textFlag } from '../context.ts';
import { serveOffers } from '../serve/offers.ts';
import { serveTools } from '../serve/tools.ts';
import { version } from '../version.ts';
import { profileOf } from './mcp.ts';

/** Between two tries to connect to the gateway again. */
const reconnects = { baseDelayMs: 250, longestDelayMs: 5_000 };

/** What the gateway notifies of, and how the client is. */
const changes: Readonly<Record<string, (server: Server) => Promise<void>>> = {
  'mcp.toolsChanged': (server) => server.sendToolListChanged(),
  'mcp.resourcesChanged': (server) => server.sendResourceListChanged(),
  'mcp.promptsChanged': (server) => server.sendPromptListChanged(),
};

export async function serve(context: CommandContext): Promise<ExitCode> {
  const { gateway } = context;
  const first = await connectGateway(gateway);
  const toolsets = textFlag(context, 'toolsets');
  const bounds = { ...profileOf(context), ...(toolsets === undefined ? {} : { toolsets }) };
  // Before anything is read: the input may be over at once.
  const end = new AbortController();
  const ended = new Promise<void>((resolve) => end.signal.addEventListener('abort', () => resolve(), { once: true }));
  process.stdin.once('end', () => end.abort());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end.abort());
  // Each request has a connection of its own, so these do not show which program asks.
  const program = randomUUID();
  let offered: Server | undefined;
  const served = serveStdio(async () => {
    offered = await createServer(context, { ...bounds, ...runOf(context.env), program });
    return offered;
  });
  const announceChange = (method: string): void => {
    // There may be no client yet.
    if (offered !== undefined && Object.hasOwn(changes, method)) changes[method]?.(offered).catch(() => {});
  };
  const watch = async (client: ControlClient): Promise<void> => {
    client.onNotification(announceChange);
    try {
      await client.ask('mcp.watch', bounds);
    } catch (thrown) {
      client.close();
      throw thrown;
    }
  };
  await watch(first);
  let client: ControlClient | undefined = first;
  while (client !== undefined && !end.signal.aborted) {
    await Promise.race([client.closed, ended]);
    client.close();
    client = await connectAgain(gateway.socket, end.signal, watch);
    for (const method of Object.keys(changes)) announceChange(method);
  }
  client?.close();
  await served.close();
  return 0;
}

/** Tries until the gateway listens and lets its tools be watched; undefined once the signal is aborted. */
async function connectAgain(
  socket: string,
  signal: AbortSignal,
  watch: (client: ControlClient) => Promise<void>,
): Promise<ControlClient | undefined> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    const client = await connectControl(socket);
    try {
      if (client !== undefined) await watch(client);
      if (client !== undefined) return client;
    } catch {
      // A gateway whose configuration is broken just now refuses; its next answer may be another.
    }
    await wait(backoffMs(reconnects, failures), undefined, { signal }).catch(() => {});
  }
  return undefined;
}

/** The run that this program was started by, and its trace: its calls are found with it. */
function runOf({ AGENT_RUN_ID: run, TRACEPARENT: traceparent }: CommandContext['env']) {
  return { ...(run === undefined ? {} : { run }), ...(traceparent === undefined ? {} : { traceparent }) };
}

async function createServer(context: CommandContext, bounds: JsonObject): Promise<Server> {
  const instructions = await instructionsOf(context, bounds);
  const lists = { listChanged: true } as const;
  const server = new Server(
    { name: 'agent-gateway', version: version() },
    {
      capabilities: { tools: lists, resources: lists, prompts: lists },
      ...(instructions === undefined ? {} : { instructions }),
    },
  );
  const gateway = { place: context.gateway, bounds };
  serveTools(server, gateway);
  serveOffers(server, gateway);
  return server;
}

/** A gateway that is gone for now has none, and the client is served when it is back. */
async function instructionsOf({ ask }: CommandContext, bounds: JsonObject): Promise<string | undefined> {
  const answer = await ask('mcp.instructions', bounds).catch(() => undefined);
  return answer?.instructions;
}
