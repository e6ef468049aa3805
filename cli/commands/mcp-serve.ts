/**
 * `agent mcp serve`: the supervised, filtered tools as one MCP server over standard input and output, both eras, for any
 * other agent program. Every call goes through the daemon, so trust, filters and supervision hold.
 * @see CLI-5 in docs/specification.md
 */

import { setTimeout as wait } from 'node:timers/promises';
import { Server, type Tool } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { JsonObject } from '../../machines/base/json.ts';
import { backoffMs } from '../../machines/base/restart.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { type CallFault, gatewayLost } from '../../machines/mcp/call-faults.ts';
import { type ControlClient, connectControl } from '../../runtime/control/client.ts';
import { callTool, NotRunning } from '../call.ts';
import type { ExitCode } from '../catalogue.ts';
import { type CommandContext, textFlag } from '../context.ts';
import { version } from '../version.ts';
import { profileOf } from './mcp.ts';

interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

interface ToolRow {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonObject;
  readonly output_schema?: JsonObject;
  readonly title?: string;
  readonly icons?: Tool['icons'];
  readonly annotations?: Tool['annotations'];
  readonly _meta?: JsonObject;
}

/** Between two tries to connect to the gateway again. */
const reconnects = { baseDelayMs: 250, longestDelayMs: 5_000 };

export async function serveTools(context: CommandContext): Promise<ExitCode> {
  const socket = homePaths(context.home).socket;
  const first = await connectControl(socket);
  if (first === undefined) throw new NotRunning(context.home);
  const toolsets = textFlag(context, 'toolsets');
  const bounds = { ...profileOf(context), ...(toolsets === undefined ? {} : { toolsets }) };
  // Before anything is read: the input may be over at once.
  const end = new AbortController();
  const ended = new Promise<void>((resolve) => end.signal.addEventListener('abort', () => resolve(), { once: true }));
  process.stdin.once('end', () => end.abort());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end.abort());
  let offered: Server | undefined;
  const served = serveStdio(() => {
    offered = createServer(context, socket, { ...bounds, ...runOf(context.env) });
    return offered;
  });
  const announceChange = (): void => {
    // There may be no client yet.
    offered?.sendToolListChanged().catch(() => {});
  };
  const watch = async (client: ControlClient): Promise<void> => {
    client.onNotification((method) => {
      if (method === 'mcp.toolsChanged') announceChange();
    });
    await client.call('mcp.watch', bounds);
  };
  await watch(first);
  let client: ControlClient | undefined = first;
  while (client !== undefined && !end.signal.aborted) {
    await Promise.race([client.closed, ended]);
    client.close();
    client = await connectAgain(socket, end.signal, watch);
    announceChange();
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
      client?.close();
    }
    await wait(backoffMs(reconnects, failures), undefined, { signal }).catch(() => {});
  }
  return undefined;
}

/** The run that this program was started by, and its trace: its calls are found with it. */
function runOf({ AGENT_RUN_ID: run, TRACEPARENT: traceparent }: CommandContext['env']) {
  return { ...(run === undefined ? {} : { run }), ...(traceparent === undefined ? {} : { traceparent }) };
}

function createServer({ call }: CommandContext, socket: string, bounds: JsonObject): Server {
  const server = new Server(
    { name: 'agent-gateway', version: version() },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler('tools/list', async () => {
    const rows = (await call('mcp.tools', bounds)) as unknown as readonly ToolRow[];
    return { tools: rows.map(toolOf) };
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    // A connection of its own: closing it is how a call is cancelled, be it before the connection stands.
    const caller = await connectControl(socket, mcpReq.signal);
    if (caller === undefined) return failure(gatewayLost(params.name, false));
    const { progressToken } = mcpReq._meta ?? {};
    if (progressToken !== undefined) {
      const report = reporter((progress) =>
        mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }),
      );
      caller.onNotification((method, told) => report(method, told));
    }
    try {
      const given = {
        ...bounds,
        name: params.name,
        arguments: (params.arguments ?? {}) as JsonObject,
        caller: 'serve',
      };
      const answer = await callTool(caller, given);
      const { error } = answer as { readonly error?: CallFault };
      return error === undefined ? (answer as never) : failure(error);
    } finally {
      caller.close();
    }
  });
  return server;
}

function toolOf({ name, description, input_schema, output_schema, title, icons, annotations, _meta }: ToolRow): Tool {
  return {
    name,
    description,
    inputSchema: input_schema as Tool['inputSchema'],
    ...(output_schema === undefined ? {} : { outputSchema: output_schema as NonNullable<Tool['outputSchema']> }),
    ...(title === undefined ? {} : { title }),
    ...(icons === undefined ? {} : { icons }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(_meta === undefined ? {} : { _meta }),
  };
}

/** As small as may be: a wait is no step of the work. The protocol wants a progress that rises with each notification. */
const leastStep = 1e-6;

/** Makes notifications of progress of what the gateway reports of a call. */
function reporter(notify: (progress: Progress) => Promise<void>): (method: string, told: JsonObject) => void {
  let last = 0;
  return (method, told) => {
    const least = last + leastStep;
    if (method === 'mcp.waiting') last = least;
    else if (method === 'mcp.progress' && typeof told.progress === 'number') last = Math.max(least, told.progress);
    else return;
    notify({
      progress: last,
      ...(typeof told.total === 'number' ? { total: told.total } : {}),
      ...(typeof told.message === 'string' ? { message: told.message } : {}),
    }).catch(() => {});
  };
}

/** A model reads an error of a tool and can act on it; an error of the protocol ends its turn. */
function failure({ code, message }: CallFault) {
  return { content: [{ type: 'text' as const, text: `${message} [${code}]` }], isError: true };
}
