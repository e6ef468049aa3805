/**
 * `agent mcp serve`: serves the supervised, filtered tools, resources and prompts as one MCP server over standard input and
 * output, in both eras, to any other agent program. Keeps the connection on which the gateway reports changes, and
 * reconnects when it is lost.
 * @see CLI-5 in docs/specification.md
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { JsonObject } from '../../machines/base/json.ts';
import { backoffMs } from '../../machines/base/restart.ts';
import { type ControlClient, connectControl } from '../../runtime/control/client.ts';
import { connectGateway } from '../call.ts';
import { type CommandContext, type ExitCode, textFlags } from '../context.ts';
import type { ServedGateway } from '../serve/gateway.ts';
import { completeLines } from '../serve/input.ts';
import { serveOffers } from '../serve/offers.ts';
import { serveTools } from '../serve/tools.ts';
import { oneLine } from '../terminal.ts';
import { version } from '../version.ts';
import { runOf } from './mcp.ts';

/** Delays between attempts to reconnect to the gateway. */
const reconnects = { baseDelayMs: 250, maxDelayMs: 5_000 };

/** Changes within this time are one. Less than a person notices. */
const mergedWithinMs = 250;

/** The gateway's notifications, and how each is passed to the client. */
const changes: Readonly<Record<string, (server: Server) => Promise<void>>> = {
  'mcp.toolsChanged': (server) => server.sendToolListChanged(),
  'mcp.resourcesChanged': (server) => server.sendResourceListChanged(),
  'mcp.promptsChanged': (server) => server.sendPromptListChanged(),
};

export async function serve(context: CommandContext): Promise<ExitCode> {
  const { gateway } = context;
  const first = await connectGateway(gateway, true);
  const bounds = textFlags(context, 'profile', 'toolsets');
  // Set up before anything is read: the input may end at once.
  const end = new AbortController();
  const ended = new Promise<void>((resolve) => end.signal.addEventListener('abort', () => resolve(), { once: true }));
  for (const event of ['end', 'error'] as const) process.stdin.once(event, () => end.abort());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end.abort());
  // Requests have several connections, so connections do not identify the program.
  const program = randomUUID();
  const idle: ControlClient[] = [];
  let offered: Server | undefined;
  const input = process.stdin.pipe(completeLines());
  input.once('error', ({ message }) => {
    context.out.complain(`agent: ${message}\n`);
    end.abort();
  });
  const transport = new StdioServerTransport(input, process.stdout, { maxBufferSize: Number.POSITIVE_INFINITY });
  const served = serveStdio(
    async ({ era }) => {
      offered = await createServer(
        context,
        { idle, bounds: { ...bounds, ...runOf(context.env), program } },
        era === 'legacy',
      );
      return offered;
    },
    { transport },
  );
  const announceChange = mergeChanges((method) => {
    // There may be no client yet.
    if (offered !== undefined && Object.hasOwn(changes, method)) changes[method]?.(offered).catch(() => {});
  });
  const watch = async (client: ControlClient): Promise<void> => {
    client.onNotification(announceChange);
    try {
      const { unknown_toolsets: unknown = [] } = await client.ask('mcp.watch', bounds);
      for (const name of unknown)
        context.out.complain(`agent: --toolsets: no toolset or server is named "${oneLine(name)}" now\n`);
    } catch (thrown) {
      client.close();
      throw thrown;
    }
  };
  try {
    await watch(first);
    let client: ControlClient | undefined = first;
    while (client !== undefined && !end.signal.aborted) {
      await Promise.race([client.closed, ended]);
      client.close();
      client = await connectAgain(gateway.socket, end.signal, watch);
      for (const method of Object.keys(changes)) announceChange(method);
    }
    client?.close();
    return 0;
  } finally {
    await served.close();
    for (const client of idle) client.close();
    // What is still read keeps the process alive.
    process.stdin.unpipe(input);
  }
}

/**
 * Returns a function that reports each kind of change once, a moment after the first of them: a reload or a start changes a
 * list once for every server, and a client lists everything anew each time.
 */
export function mergeChanges(report: (change: string) => void): (change: string) => void {
  const waiting = new Set<string>();
  return (change) => {
    const isFirst = waiting.size === 0;
    waiting.add(change);
    if (!isFirst) return;
    setTimeout(() => {
      const changes = [...waiting];
      waiting.clear();
      for (const each of changes) report(each);
    }, mergedWithinMs).unref();
  };
}

/** Retries until the gateway listens and accepts the watch; undefined once the signal is aborted. */
async function connectAgain(
  socket: string,
  signal: AbortSignal,
  watch: (client: ControlClient) => Promise<void>,
): Promise<ControlClient | undefined> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      const client = await connectControl(socket);
      if (client !== undefined) {
        await watch(client);
        return client;
      }
    } catch {
      // A gateway that hangs, or has a broken configuration, refuses for now; retry.
    }
    await wait(backoffMs(reconnects, failures), undefined, { signal }).catch(() => {});
  }
  return undefined;
}

async function createServer(
  context: CommandContext,
  given: Omit<ServedGateway, 'place'>,
  isLegacy: boolean,
): Promise<Server> {
  const instructions = await instructionsOf(context, given.bounds);
  const lists = { listChanged: true } as const;
  const server = new Server(
    { name: 'agent-gateway', version: version() },
    {
      capabilities: { tools: lists, resources: lists, prompts: lists },
      ...(instructions === undefined ? {} : { instructions }),
    },
  );
  const gateway = { place: context.gateway, ...given };
  serveTools(server, gateway, isLegacy);
  serveOffers(server, gateway);
  return server;
}

/** No instructions while the gateway is gone; the client is still served when it is back. */
async function instructionsOf({ ask }: CommandContext, bounds: JsonObject): Promise<string | undefined> {
  const answer = await ask('mcp.instructions', bounds).catch(() => undefined);
  return answer?.instructions;
}
