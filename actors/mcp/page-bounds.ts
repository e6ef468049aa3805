/**
 * Bounds the answer with one page of a listing while it is read over HTTP: a body, an event of the stream that answers the
 * request, or one of a stream that the server resumes for it. Reads of a request whether it lists, and of such a stream the
 * ids by which it may be resumed.
 * @see LIF-14 in docs/specification.md
 */

import { maxPageBytes } from '../../machines/mcp/listing-limits.ts';
import type { BodyBounds } from './bounded-body.ts';

export interface PageBounds {
  /**
   * The bounds for the answer to a request that lists, or that resumes the stream of one; undefined for any other, and
   * `over` where the answer was cut off before and would be again.
   */
  of(init: RequestInit): Pick<BodyBounds, 'maxBytes' | 'exceeded' | 'passes'> | 'over' | undefined;
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
/** The ids of events that are remembered; a stream is resumed by its latest. */
const mostEventIds = 64;
const longestEventId = 1_024;
const idLine = /[\r\n]id: ?([^\r\n]*)(?=[\r\n])/g;

export function createPageBounds(): PageBounds {
  const cut = new Set<string | number>();
  /** By the id of an event, the request on whose stream it came. */
  const resumable = new Map<string, string | number>();

  const boundsOf = (request: string | number) => ({
    maxBytes: maxPageBytes,
    exceeded: () => void cut.add(request),
    passes: eventIds((event) => {
      resumable.delete(event);
      resumable.set(event, request);
      const [oldest] = resumable.keys();
      if (resumable.size > mostEventIds && oldest !== undefined) resumable.delete(oldest);
    }),
  });

  return {
    of({ body, headers }) {
      const event = new Headers(headers).get('last-event-id');
      const resumed = event === null ? undefined : resumable.get(event);
      if (resumed !== undefined) return cut.has(resumed) ? 'over' : boundsOf(resumed);
      if (typeof body !== 'string') return undefined;
      const method = firstMethod.exec(body.slice(0, methodPlace))?.[1];
      if (method === undefined || !listings.has(method)) return undefined;
      const { id } = JSON.parse(body) as { readonly id: string | number };
      return boundsOf(id);
    },
    isCut: (id) => cut.delete(id),
  };
}

/** Finds the ids of the events of a stream, whatever the chunks it comes in. */
function eventIds(found: (id: string) => void): (chunk: Uint8Array) => void {
  /** The line that has no end yet, with the end of the one before; of a long one, which is no id, a character of it. */
  let rest = '\n';
  return (chunk) => {
    const text = rest + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
    for (const [, id = ''] of text.matchAll(idLine)) if (id !== '' && id.length <= longestEventId) found(id);
    const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'));
    const line = text.slice(Math.max(0, end));
    rest = end === -1 || line.length > longestEventId + 8 ? 'x' : line;
  };
}
