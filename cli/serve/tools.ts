/**
 * The tools of `agent mcp serve`: listed and called by the gateway, so that trust, filters and supervision apply.
 * @see CLI-5 in docs/specification.md
 */

import type { Server, Tool } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../machines/base/json.ts';
import { type CallFault, gatewayLost } from '../../machines/mcp/call-faults.ts';
import type { ToolRow } from '../../runtime/control/contract.ts';
import { callTool, NotRunning } from '../call.ts';
import { type ServedGateway, withGateway } from './gateway.ts';

export function serveTools(server: Server, gateway: ServedGateway): void {
  server.setRequestHandler('tools/list', async (_, { mcpReq }) => {
    const rows = await withGateway(gateway, mcpReq, (client) => client.ask('mcp.tools', gateway.bounds));
    if (rows === undefined) throw new NotRunning(gateway.place);
    return { tools: rows.map(toolOf) };
  });
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, { mcpReq }) => {
    const params = { ...gateway.bounds, name, arguments: args as JsonObject, caller: 'serve' };
    const answer = await withGateway(gateway, mcpReq, (client) => callTool(client, params));
    if (answer === undefined) return failure(gatewayLost(name, false));
    return 'error' in answer ? failure(answer.error) : (answer as never);
  });
}

function toolOf({ name, description, input_schema, output_schema, title, icons, annotations, _meta }: ToolRow): Tool {
  return {
    name,
    description,
    inputSchema: input_schema as Tool['inputSchema'],
    ...(output_schema === undefined ? {} : { outputSchema: output_schema as NonNullable<Tool['outputSchema']> }),
    ...(title === undefined ? {} : { title: title as string }),
    ...(icons === undefined ? {} : { icons: icons as NonNullable<Tool['icons']> }),
    ...(annotations === undefined ? {} : { annotations: annotations as NonNullable<Tool['annotations']> }),
    ...(_meta === undefined ? {} : { _meta: _meta as JsonObject }),
  };
}

/** A tool error, because a model can read it and react; a protocol error would end its turn. */
function failure({ code, message }: CallFault) {
  return { content: [{ type: 'text' as const, text: `${message} [${code}]` }], isError: true };
}
