/**
 * A real MCP server over stdio that offers what it is given, with a tool `change` that adds a resource and a prompt and
 * says so: `node dist/spec/support/mcp/offering-peer.js <offer as JSON>`.
 */

import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../../../machines/base/json.ts';

export interface Offer {
  readonly instructions?: string;
  readonly resources?: readonly JsonObject[];
  readonly resourceTemplates?: readonly JsonObject[];
  readonly prompts?: readonly JsonObject[];
}

/** The entry of a server that offers so; its name is in all that it reads out. */
export function offeringPeer(name: string, offer: Offer, more: JsonObject = {}): JsonObject {
  const args = [fileURLToPath(import.meta.url), name, JSON.stringify(offer)];
  return { command: process.execPath, args, ...more };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(process.argv[2] ?? '', JSON.parse(process.argv[3] ?? '{}') as Offer);
}

async function main(name: string, { instructions, ...offer }: Offer): Promise<void> {
  const { Server } = await import('@modelcontextprotocol/sdk/server/index.js');
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const types = await import('@modelcontextprotocol/sdk/types.js');
  const lists = { listChanged: true };
  const server = new Server(
    { name: 'offering', version: '1' },
    {
      capabilities: { tools: {}, resources: lists, prompts: lists },
      ...(instructions === undefined ? {} : { instructions }),
    },
  );
  const resources = [...(offer.resources ?? [])];
  const prompts = [...(offer.prompts ?? [])];
  server.setRequestHandler(types.ListToolsRequestSchema, () => ({
    tools: [{ name: 'change', inputSchema: { type: 'object' as const } }],
  }));
  server.setRequestHandler(types.CallToolRequestSchema, async () => {
    resources.push({ uri: `late://${name}`, name: 'late' });
    await server.sendResourceListChanged();
    prompts.push({ name: 'late' });
    await server.sendPromptListChanged();
    return { content: [] };
  });
  server.setRequestHandler(types.ListResourcesRequestSchema, () => ({ resources }) as never);
  server.setRequestHandler(
    types.ListResourceTemplatesRequestSchema,
    () => ({ resourceTemplates: offer.resourceTemplates ?? [] }) as never,
  );
  server.setRequestHandler(types.ReadResourceRequestSchema, ({ params: { uri } }) => ({
    contents: [
      { uri, mimeType: 'text/plain', text: `${name} reads ${uri}`, _meta: { 'example/of': name } },
      { uri, mimeType: 'image/png', blob: 'iVBORw0KGgo=' },
    ],
  }));
  server.setRequestHandler(types.ListPromptsRequestSchema, () => ({ prompts }) as never);
  server.setRequestHandler(types.GetPromptRequestSchema, ({ params }) => {
    if (params.arguments?.who === '') throw Object.assign(new Error('who is empty'), { code: -32602 });
    return {
      description: `${params.name} of ${name}`,
      messages: [{ role: 'user' as const, content: { type: 'text' as const, text: JSON.stringify(params.arguments) } }],
    };
  });
  await server.connect(new StdioServerTransport());
}
