/**
 * The tools of `agent mcp serve`: listed and called at the gateway, so that trust, filters and supervision hold.
 * @see CLI-5 in docs/specification.md
 */

import type { Server, Tool } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../machines/base/json.ts';
import { type CallFault, gatewayLost } from '../../machines/mcp/call-faults.ts';
import { callTool, NotRunning } from '../call.ts';
import { type ServedGateway, withGateway } from './gateway.ts';

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

export function serveTools(server: Server, gateway: ServedGateway): void {
  server.setRequestHandler('tools/list', async (_, { mcpReq }) => {
    const rows = await withGateway(gateway, mcpReq, (client) => client.call('mcp.tools', gateway.bounds));
    if (rows === undefined) throw new NotRunning(gateway.place);
    return { tools: (rows as unknown as readonly ToolRow[]).map(toolOf) };
  });
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, { mcpReq }) => {
    const params = { ...gateway.bounds, name, arguments: args as JsonObject, caller: 'serve' };
    const answer = await withGateway(gateway, mcpReq, (client) => callTool(client, params));
    if (answer === undefined) return failure(gatewayLost(name, false));
    const { error } = answer as { readonly error?: CallFault };
    return error === undefined ? (answer as never) : failure(error);
  });
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

/** A model reads an error of a tool and can act on it; an error of the protocol ends its turn. */
function failure({ code, message }: CallFault) {
  return { content: [{ type: 'text' as const, text: `${message} [${code}]` }], isError: true };
}
