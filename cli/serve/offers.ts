/**
 * The resources and prompts of `agent mcp serve`: listed, read and completed by the gateway, with the filters and limits of
 * the utility tools. A failure is a protocol error with its code and remedy, and an error of a server is passed on as it is.
 * @see CLI-5 in docs/specification.md
 */

import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError, type Server } from '@modelcontextprotocol/server';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { CallFault } from '../../machines/mcp/call-faults.ts';
import { NotRunning } from '../call.ts';
import { type ClientRequest, type ServedGateway, withGateway } from './gateway.ts';
import { pageAt } from './page.ts';

/** Codes that another request could avoid. The others are faults of the servers or the gateway. */
const ofParams: ReadonlySet<CallFault['code']> = new Set(['ambiguous_resource', 'unknown_prompt', 'invalid_arguments']);

export function serveOffers(server: Server, gateway: ServedGateway): void {
  const ask = async (method: string, request: ClientRequest, params: JsonObject = {}): Promise<Json> => {
    const given = { ...gateway.bounds, ...params, caller: 'serve' };
    const answer = await withGateway(gateway, request, (client) => client.call(method, given));
    if (answer === undefined) throw new NotRunning(gateway.place);
    return answer;
  };
  const resultOf = async (method: string, request: ClientRequest, params: JsonObject): Promise<never> => {
    const answer = (await ask(method, request, params)) as { readonly error?: CallFault };
    if (answer.error !== undefined) throw errorOf(answer.error, params);
    return answer as never;
  };

  const pageOf = async (method: string, request: ClientRequest, cursor: string | undefined) =>
    pageAt((await ask(method, request)) as readonly Json[], cursor);

  server.setRequestHandler('resources/list', async ({ params }, { mcpReq }) => {
    const { rows: resources, ...next } = await pageOf('mcp.resources', mcpReq, params?.cursor);
    return { resources, ...next } as never;
  });
  server.setRequestHandler('resources/templates/list', async ({ params }, { mcpReq }) => {
    const { rows: resourceTemplates, ...next } = await pageOf('mcp.resourceTemplates', mcpReq, params?.cursor);
    return { resourceTemplates, ...next } as never;
  });
  server.setRequestHandler('resources/read', ({ params: { uri } }, { mcpReq }) =>
    resultOf('mcp.readResource', mcpReq, { uri }),
  );
  server.setRequestHandler('prompts/list', async ({ params }, { mcpReq }) => {
    const { rows: prompts, ...next } = await pageOf('mcp.prompts', mcpReq, params?.cursor);
    return { prompts, ...next } as never;
  });
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: args = {} } }, { mcpReq }) =>
    resultOf('mcp.getPrompt', mcpReq, { name, arguments: args }),
  );
}

function errorOf({ code, message, rpc }: CallFault, { uri }: JsonObject): ProtocolError {
  if (rpc !== undefined) return new ProtocolError(rpc.code, rpc.message);
  const words = `${message} [${code}]`;
  if (code === 'unknown_resource') return new ResourceNotFoundError(String(uri), words);
  return new ProtocolError(
    ofParams.has(code) ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
    words,
  );
}
