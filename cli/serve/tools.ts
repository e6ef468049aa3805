/**
 * The tools of `agent mcp serve`: listed and called by the gateway, so that trust, filters and supervision apply.
 * @see CLI-5 in docs/specification.md
 */

import { fromJsonSchema, isSpecType, type Server, type Tool } from '@modelcontextprotocol/server';
import { withoutAlternatives } from '../../machines/agent/offered-schema.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import { withoutFormats, withPropertyObjects } from '../../machines/base/property-schemas.ts';
import { gatewayLost } from '../../machines/mcp/call-faults.ts';
import { servedMeta } from '../../machines/mcp/served-gateways.ts';
import { wireName } from '../../machines/mcp/wire-name.ts';
import type { ControlClient } from '../../runtime/control/client.ts';
import type { ToolRow } from '../../runtime/control/contract/servers.ts';
import { callTool, NotRunning } from '../call.ts';
import { type ServedGateway, withGateway } from './gateway.ts';
import { pageAt } from './page.ts';

/**
 * Clients put the name that they have for this server before that of a tool, as Claude Code does `mcp__agent__`, and models
 * refuse a request if one name has more than 64 characters.
 */
const maxNameLength = 64 - 'mcp__agent__'.length;

/** @param isLegacy whether the client is of the era of handshakes */
export function serveTools(server: Server, gateway: ServedGateway, isLegacy: boolean): void {
  /**
   * The last listing, by the name that the client gets: the name of each call is looked up in it, and a client of the era of
   * handshakes gets output schemas, and their results, as objects.
   */
  let offered: ReadonlyMap<string, ToolRow> | undefined;
  const withUsableSchema = usableSchemas(isLegacy);
  const readTools = async (client: ControlClient): Promise<ReadonlyMap<string, ToolRow>> => {
    const rows = (await client.ask('mcp.tools', gateway.bounds)).map(withoutOutputFormats);
    const usable = (isLegacy ? rows.map(withObjects) : rows).map(withUsableSchema);
    offered = new Map(usable.map((row) => [wireName(row.name, maxNameLength), row]));
    return offered;
  };
  server.setRequestHandler('tools/list', async ({ params }, { mcpReq }) => {
    const listed = await withGateway(gateway, mcpReq, async (client) => ({
      tools: [...(await readTools(client))],
      // After an upgrade, a gateway of the release before may still run.
      gateways: await client.ask('mcp.gateways', gateway.bounds).catch(() => []),
    }));
    if (listed === undefined) throw new NotRunning(gateway.place);
    const { rows: tools, ...next } = pageAt(
      listed.tools.map(([name, row]) => toolOf({ ...row, name })),
      params?.cursor,
    );
    return { tools, ...next, _meta: servedMeta(listed.gateways) };
  });
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, { mcpReq }) => {
    const answer = await withGateway(gateway, mcpReq, async (client) => {
      // A client may know the names from another process.
      const row = offered?.get(name) ?? (await readTools(client)).get(name);
      const params = { ...gateway.bounds, name: row?.name ?? name, arguments: args as JsonObject, caller: 'serve' };
      return await callTool(client, params);
    }).catch(refused);
    if (answer === undefined) return failure(gatewayLost(name, false));
    if ('error' in answer) return failure(answer.error);
    const { structuredContent: structure, ...rest } = answer;
    const schema = offered?.get(name)?.output_schema as JsonObject | undefined;
    // The SDK's first line of clients holds the structure of an error against the schema too, and hides the error then.
    const isHeld = isLegacy && answer.isError && schema !== undefined && structure !== undefined;
    const result = isHeld ? { ...rest, content: withText(answer.content, structure) } : answer;
    return server.projectCallToolResult({ ...result, content: result.content.map(fitting) } as never, schema);
  });
}

/**
 * Clients refuse a result for a format that it does not have, although the tool has run: Python writes times without a zone
 * as `date-time`.
 */
function withoutOutputFormats({ output_schema, ...row }: ToolRow): ToolRow {
  return output_schema === undefined ? row : { ...row, output_schema: withoutFormats(output_schema) };
}

/**
 * Leaves out an output schema that cannot be compiled, such as one with a reference to what it does not define. The SDK's
 * first line of clients compiles all of a listing, and has no tools at all if one fails; the second does not call the tool.
 */
function usableSchemas(isLegacy: boolean): (row: ToolRow) => ToolRow {
  const known = new Map<string, boolean>();
  return (row) => {
    const { output_schema, ...rest } = row;
    if (output_schema === undefined) return row;
    const text = JSON.stringify(output_schema);
    return getOrMake(known, text, () => compiles(text, isLegacy)) ? row : rest;
  };
}

/** The protocol of the handshake permits objects alone there. */
function withObjects({ input_schema, output_schema, ...row }: ToolRow): ToolRow {
  return {
    ...row,
    input_schema: withPropertyObjects(input_schema),
    ...(output_schema === undefined ? {} : { output_schema: withPropertyObjects(output_schema) }),
  };
}

/** The draft as which the first line reads every schema. */
const firstDraft = 'http://json-schema.org/draft-07/schema#';

function compiles(text: string, isLegacy: boolean): boolean {
  try {
    fromJsonSchema({ ...JSON.parse(text), ...(isLegacy ? { $schema: firstDraft } : {}) });
    return true;
  } catch {
    return false;
  }
}

function toolOf({ name, description, input_schema, output_schema, title, icons, annotations, _meta }: ToolRow): Tool {
  return {
    name,
    ...(description === '' ? {} : { description }),
    inputSchema: withoutAlternatives(input_schema as Json) as Tool['inputSchema'],
    ...(output_schema === undefined ? {} : { outputSchema: output_schema as NonNullable<Tool['outputSchema']> }),
    ...(title === undefined ? {} : { title: title as string }),
    ...(icons === undefined ? {} : { icons: icons as NonNullable<Tool['icons']> }),
    ...(annotations === undefined ? {} : { annotations: annotations as NonNullable<Tool['annotations']> }),
    ...(_meta === undefined ? {} : { _meta: _meta as JsonObject }),
  };
}

/** The content, with the structure as a text unless it is one already. */
function withText(content: readonly JsonObject[], structure: Json): readonly JsonObject[] {
  const text = JSON.stringify(structure);
  const bare = (given: unknown): string => String(given).replace(/\s/g, '');
  return content.some((block) => bare(block.text) === bare(text)) ? content : [...content, { type: 'text', text }];
}

/** A client refuses the complete result for one block that violates the protocol, although the tool has run. */
function fitting(block: JsonObject): object {
  const { annotations: _annotations, icons: _icons, _meta, ...bare } = block;
  const named = { name: bare.uri ?? null, ...bare };
  const text = `[content of type ${JSON.stringify(block.type)} left out: it violates the protocol]`;
  return [block, bare, named].find((each) => isSpecType.ContentBlock(each)) ?? { type: 'text', text };
}

type Coded = Readonly<Record<'code' | 'message', string>>;

/** A tool error, because a model can read it and react; a protocol error would end its turn. */
function failure({ code, message }: Coded) {
  return { content: [{ type: 'text' as const, text: `${message} [${code}]` }], isError: true };
}

/** What the socket itself refuses, such as a call that is too long, is a fault of the call too. */
function refused(thrown: unknown): { readonly error: Coded } {
  if (!(thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string')) throw thrown;
  return { error: { code: thrown.code, message: thrown.message } };
}
