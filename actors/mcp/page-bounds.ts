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

/** Where the SDK writes the method; a call has no quotes in the way of its own. */
const methodPlace = 200;
const listing = /"method":"(?:tools|resources|resources\/templates|prompts)\/list"/;

export function createPageBounds(): PageBounds {
  const cut = new Set<string | number>();
  return {
    of({ body }) {
      if (typeof body !== 'string' || !listing.test(body.slice(0, methodPlace))) return undefined;
      const { id } = JSON.parse(body) as { readonly id: string | number };
      return { maxBytes: maxPageBytes, exceeded: () => void cut.add(id) };
    },
    isCut: (id) => cut.delete(id),
  };
}
