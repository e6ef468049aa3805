/**
 * The four utility tools for a server's resources and prompts: their schemas, requests and results.
 * @see NAM-1 and FLT-2 in docs/specification.md
 */

import type { Client, RequestOptions } from '@modelcontextprotocol/client';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { OfferMethod } from '../../machines/mcp/offers.ts';
import type { Utility } from '../../machines/mcp/tool-name.ts';

const text = { type: 'string' } as const;
const readOnly = { annotations: { readOnlyHint: true } } as const;

/** The utilities as tools, listed in addition to the server's own. */
export const utilityTools: Readonly<Record<Utility, JsonObject>> = {
  list_resources: {
    name: 'list_resources',
    description: 'Lists the resources of this server.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    ...readOnly,
  },
  read_resource: {
    name: 'read_resource',
    description: 'Reads one resource of this server.',
    inputSchema: { type: 'object', properties: { uri: text }, required: ['uri'], additionalProperties: false },
    ...readOnly,
  },
  list_prompts: {
    name: 'list_prompts',
    description: 'Lists the prompts of this server.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    ...readOnly,
  },
  get_prompt: {
    name: 'get_prompt',
    description: 'Gets one prompt of this server, filled with the given arguments.',
    inputSchema: {
      type: 'object',
      properties: { name: text, arguments: { type: 'object', additionalProperties: text } },
      required: ['name'],
      additionalProperties: false,
    },
    ...readOnly,
  },
};

/** Sends the request behind a utility. Rejects with the SDK's error. */
export async function askOffer(
  client: Client,
  method: OfferMethod,
  args: JsonObject,
  options: RequestOptions,
): Promise<JsonObject> {
  switch (method) {
    case 'resources/list': {
      const { resources } = await client.listResources(undefined, options);
      return { resources } as JsonObject;
    }
    case 'resources/templates/list': {
      const { resourceTemplates } = await client.listResourceTemplates(undefined, options);
      return { resourceTemplates } as JsonObject;
    }
    case 'resources/read':
      return (await client.readResource({ uri: String(args.uri) }, options)) as JsonObject;
    case 'prompts/list': {
      const { prompts } = await client.listPrompts(undefined, options);
      return { prompts } as JsonObject;
    }
    case 'prompts/get': {
      const given = (args.arguments ?? {}) as Record<string, string>;
      const params = { name: String(args.name), arguments: given };
      return (await client.getPrompt(params, options)) as JsonObject;
    }
  }
}

/** The request of each utility. */
export const methodOf: Readonly<Record<Utility, OfferMethod>> = {
  list_resources: 'resources/list',
  read_resource: 'resources/read',
  list_prompts: 'prompts/list',
  get_prompt: 'prompts/get',
};

export function asToolResult(utility: Utility, answer: JsonObject): Json {
  if (utility !== 'read_resource') return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
  const contents = answer.contents as readonly Json[];
  return { content: contents.map((resource) => ({ type: 'resource', resource })) };
}
