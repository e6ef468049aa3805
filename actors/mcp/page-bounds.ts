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
/** Requests whose streams may still be resumed: the pages of one listing of each kind. */
const mostRequests = 256;
/** Of one request. */
const mostEventIds = 16;
const longestEventId = 1_024;
/** The parser of the SDK may drop a byte order mark more than the decoder does. */
const idLine = /[\r\n]\ufeff?id: ?([^\r\n]*)(?=[\r\n])/g;
const idStart = /^[\r\n]\ufeff?id:/;

export function createPageBounds(): PageBounds {
  const cut = new Set<string | number>();
  /** By request, the ids of events on its stream. All of them: which of them the client takes, only its parser decides. */
  const resumable = new Map<string | number, Set<string>>();
  /** The latest request with more or longer ids than are kept: from then on each unknown id may be one of its. */
  let unkept: string | number | undefined;

  const keep = (request: string | number, event: string): void => {
    const events = resumable.get(request) ?? new Set();
    if (event.length > longestEventId || (events.size >= mostEventIds && !events.has(event))) {
      unkept = request;
      return;
    }
    resumable.set(request, events.add(event));
    const [oldest] = resumable.keys();
    if (resumable.size > mostRequests && oldest !== undefined) resumable.delete(oldest);
  };

  const boundsOf = (request: string | number) => ({
    maxBytes: maxPageBytes,
    exceeded: () => void cut.add(request),
    passes: eventIds((event) => keep(request, event)),
  });

  const requestOf = (event: string): string | number | undefined =>
    [...resumable].findLast(([, events]) => events.has(event))?.[0] ?? unkept;

  return {
    of({ body, headers }) {
      const event = new Headers(headers).get('last-event-id');
      const resumed = event === null ? undefined : requestOf(event);
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

/**
 * Finds the ids of the events of a stream, whatever the chunks it comes in, as `Headers` returns them: without blanks at
 * either end. Of one that is too long only the beginning is given, which is too long as well.
 */
function eventIds(found: (id: string) => void): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  /** The line that has no end yet, with the end of the one before; of a long one a character that begins no id. */
  let rest = '\n';
  return (chunk) => {
    const text = rest + decoder.decode(chunk, { stream: true });
    for (const [, id = ''] of text.matchAll(idLine)) if (id !== '') found(withoutBlanks(id));
    const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'));
    const line = text.slice(Math.max(0, end));
    const isLong = line.length > longestEventId + 8;
    if (isLong && idStart.test(line)) found(line);
    rest = end === -1 || isLong ? 'x' : line;
  };
}

function withoutBlanks(id: string): string {
  return id.replace(/^[\t ]+/, '').replace(/(?<![\t ])[\t ]+$/, '');
}
