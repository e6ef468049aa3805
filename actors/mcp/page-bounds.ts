/**
 * Bounds the answer with one page of a listing while it is read over HTTP, be it a body or an event of the stream that
 * answers the request. Reads of a request whether it lists.
 * @see LIF-14 in docs/specification.md
 */

import { maxPageBytes } from '../../machines/mcp/listing-limits.ts';
import type { BodyBounds } from './bounded-body.ts';

export interface PageBounds {
  /** The bounds for the answer to a request that lists; undefined for any other. */
  of(init: RequestInit): Pick<BodyBounds, 'maxBytes' | 'exceeded'> | undefined;
  /** Whether the answer to the request with this id was cut off; says so once. */
  isCut(id: string | number): boolean;
}

/** The method stands before the params in all that is sent, so the first that is read is the request's own. */
const methodPlace = 200;
const firstMethod = /"method":"([^"]*)"/;
const listings: ReadonlySet<string> = new Set([
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
]);

export function createPageBounds(): PageBounds {
  const cut = new Set<string | number>();
  return {
    of({ body }) {
      if (typeof body !== 'string') return undefined;
      const method = firstMethod.exec(body.slice(0, methodPlace))?.[1];
      if (method === undefined || !listings.has(method)) return undefined;
      const { id } = JSON.parse(body) as { readonly id: string | number };
      return { maxBytes: maxPageBytes, exceeded: () => void cut.add(id) };
    },
    isCut: (id) => cut.delete(id),
  };
}
