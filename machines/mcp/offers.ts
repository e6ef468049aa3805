/**
 * The resources and prompts that a server offers in addition to tools: their requests, and the utility tool for each. A
 * caller that may not use the utility tool may not make the request.
 * @see CLI-5 and FLT-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../base/json.ts';
import type { Utility } from './tool-name.ts';

/** The lists of a server that may change. */
export type ListName = 'tools' | 'resources' | 'prompts';
export const listNames: readonly ListName[] = ['tools', 'resources', 'prompts'];

export type OfferList = 'resources/list' | 'resources/templates/list' | 'prompts/list';
export type OfferMethod = OfferList | 'resources/read' | 'prompts/get';

/** The rows of each list in the last answer to a client. */
export type Offered = Readonly<Partial<Record<OfferList, readonly JsonObject[]>>>;

/** The utility tool whose name, schema and filters apply to a request. */
export const utilityOf: Readonly<Record<OfferMethod, Utility>> = {
  'resources/list': 'list_resources',
  'resources/templates/list': 'list_resources',
  'resources/read': 'read_resource',
  'prompts/list': 'list_prompts',
  'prompts/get': 'get_prompt',
};

/** The key of the rows in a list's result, and the field that identifies a row. */
export const offerRows = {
  'resources/list': { key: 'resources', id: 'uri' },
  'resources/templates/list': { key: 'resourceTemplates', id: 'uriTemplate' },
  'prompts/list': { key: 'prompts', id: 'name' },
} as const satisfies Readonly<Record<OfferList, { readonly key: string; readonly id: string }>>;

export function isOfferList(method: OfferMethod | undefined): method is OfferList {
  return method !== undefined && method in offerRows;
}

/**
 * The address of the resource that shows a tool's results, if its definition names one. Its server need not list it.
 * @see [MCP Apps](https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx)
 */
export function viewOf({ _meta }: JsonObject): string | undefined {
  const meta = isJsonObject(_meta) ? _meta : {};
  const uri = isJsonObject(meta.ui) ? meta.ui.resourceUri : meta['ui/resourceUri'];
  return typeof uri === 'string' ? uri : undefined;
}
