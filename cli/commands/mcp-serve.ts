/**
 * `agent mcp serve`: the supervised, filtered tools as one MCP server over standard input and output, both eras, for any
 * other agent program. Every call goes through the daemon, so trust, filters and supervision hold.
 * @see CLI-5 in docs/specification.md
 */

import { Server, type Tool } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { JsonObject } from '../../machines/base/json.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { type ControlClient, connectControl } from '../../runtime/control/client.ts';
import { NotRunning } from '../call.ts';
import type { ExitCode } from '../catalogue.ts';
import { type CommandContext, textFlag } from '../context.ts';
import { version } from '../version.ts';
import { profileOf } from './mcp.ts';

interface ToolRow {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonObject;
  readonly output_schema?: JsonObject;
  readonly annotations?: JsonObject;
}

export async function serveTools(context: CommandContext): Promise<ExitCode> {
  const socket = homePaths(context.home).socket;
  const client = await connectControl(socket);
  if (client === undefined) throw new NotRunning(context.home);
  const toolsets = textFlag(context, 'toolsets');
  const bounds = { ...profileOf(context), ...(toolsets === undefined ? {} : { toolsets }) };
  let offered: Server | undefined;
  const served = serveStdio(() => {
    offered = createServer(client, socket, { ...bounds, ...runOf(context.env) });
    return offered;
  });
  client.onNotification((method) => {
    if (method !== 'mcp.toolsChanged') return;
    // Nobody may have come yet to be told.
    offered?.sendToolListChanged().catch(() => {});
  });
  await client.call('mcp.watch', bounds);
  process.stdin.once('end', () => client.close());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => client.close());
  await client.closed;
  await served.close();
  return 0;
}

/** The run that this program was started by, and its trace: its calls are found with it. */
function runOf({ AGENT_RUN_ID: run, TRACEPARENT: traceparent }: CommandContext['env']) {
  return { ...(run === undefined ? {} : { run }), ...(traceparent === undefined ? {} : { traceparent }) };
}

function createServer(client: ControlClient, socket: string, bounds: JsonObject): Server {
  const server = new Server(
    { name: 'agent-gateway', version: version() },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler('tools/list', async () => {
    const rows = (await client.call('mcp.tools', bounds)) as unknown as readonly ToolRow[];
    return { tools: rows.map(toolOf) };
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    // A connection of its own: closing it is how a call is cancelled, be it before the connection stands.
    const caller = await connectControl(socket, mcpReq.signal);
    if (caller === undefined) return failure('the gateway is not running');
    try {
      const given = {
        ...bounds,
        name: params.name,
        arguments: (params.arguments ?? {}) as JsonObject,
        caller: 'serve',
      };
      const answer = (await caller.call('mcp.call', given)) as JsonObject;
      const { error } = answer as { readonly error?: { readonly code: string; readonly message: string } };
      return error === undefined ? (answer as never) : failure(`${error.message} [${error.code}]`);
    } finally {
      caller.close();
    }
  });
  return server;
}

function toolOf({ name, description, input_schema, output_schema, annotations }: ToolRow): Tool {
  return {
    name,
    description,
    inputSchema: input_schema as Tool['inputSchema'],
    ...(output_schema === undefined ? {} : { outputSchema: output_schema as NonNullable<Tool['outputSchema']> }),
    ...(annotations === undefined ? {} : { annotations: annotations as NonNullable<Tool['annotations']> }),
  };
}

/** A model reads an error of a tool and can act on it; an error of the protocol ends its turn. */
function failure(text: string) {
  return { content: [{ type: 'text' as const, text }], isError: true };
}
