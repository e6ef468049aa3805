/**
 * The four utility tools over a server's resources and prompts: what they take, and how they are asked and answered.
 * @see NAM-1 and FLT-2 in docs/specification.md
 */

import type { Client, RequestOptions } from '@modelcontextprotocol/client';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { Utility } from '../../machines/mcp/tool-name.ts';

const text = { type: 'string' } as const;
const readOnly = { annotations: { readOnlyHint: true } } as const;

/** The utilities as tools, to be listed beside the server's own. */
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

/** Answers in the shape of a tool's result. Rejects with what the SDK throws. */
export async function callUtility(
  client: Client,
  utility: Utility,
  args: JsonObject,
  options: RequestOptions,
): Promise<Json> {
  switch (utility) {
    case 'list_resources': {
      const { resources } = await client.listResources(undefined, options);
      return asText({ resources });
    }
    case 'read_resource': {
      const { contents } = await client.readResource({ uri: String(args.uri) }, options);
      return { content: contents.map((resource) => ({ type: 'resource', resource })) } as unknown as Json;
    }
    case 'list_prompts': {
      const { prompts } = await client.listPrompts(undefined, options);
      return asText({ prompts });
    }
    case 'get_prompt': {
      const given = (args.arguments ?? {}) as Record<string, string>;
      const prompt = await client.getPrompt({ name: String(args.name), arguments: given }, options);
      return asText(prompt);
    }
  }
}

function asText(value: unknown): Json {
  return { content: [{ type: 'text', text: JSON.stringify(value) }] };
}
