/**
 * Limits the answer with one page of a listing while it is read over HTTP: a body, an event of the stream that answers
 * the request, or one of a stream that is resumed for it. Remembers which answers were cut off, those of calls too. Reads
 * from a request whether it lists, and from its stream the event ids by which it may be resumed.
 * @see LIF-14 in docs/specification.md
 */

import { maxPageBytes } from '../../machines/mcp/listing-limits.ts';
import { methodIn } from './adapt-transport.ts';
import type { BodyBounds } from './bounded-body.ts';

export interface PageBounds {
  /**
   * The limits for the answer to a listing request, or to a request that resumes its stream; the usual ones for any other,
   * and `over` if the answer was already cut off and would be again.
   */
  of(init: RequestInit): Partial<Pick<BodyBounds, 'maxBytes' | 'exceeded' | 'passes'>> | 'over' | undefined;
  /** Whether the answer to the listing or call with this id was cut off; true only once. */
  isCut(id: string | number): boolean;
}

const listings: ReadonlySet<string> = new Set([
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
]);
/** The latest requests, whose streams may still be resumed. */
const maxRequests = 256;
/** Limit per request. */
const maxEventIds = 16;
const maxEventIdLength = 1_024;
/** The SDK's parser may drop one byte order mark more than the decoder. */
const idLine = /[\r\n]\ufeff?id: ?([^\r\n]*)(?=[\r\n])/g;
const idStart = /^[\r\n]\ufeff?id:/;

export function createPageBounds(): PageBounds {
  const cut = new Set<string | number>();
  /** Event ids by request. All ids are kept, because only the SDK's parser decides which one the client uses. */
  const resumable = new Map<string | number, Set<string>>();
  /** The latest request with more or longer ids than are kept: from then on any unknown id may belong to it. */
  let unkept: string | number | undefined;

  const keep = (request: string | number, event: string): void => {
    const events = resumable.get(request) ?? new Set();
    if (event.length > maxEventIdLength || (events.size >= maxEventIds && !events.has(event))) {
      unkept = request;
      return;
    }
    resumable.set(request, events.add(event));
    const [oldest] = resumable.keys();
    if (resumable.size > maxRequests && oldest !== undefined) resumable.delete(oldest);
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
      const method = methodIn(body) ?? '';
      if (listings.has(method)) return boundsOf(idOf(body));
      return method === 'tools/call' ? { exceeded: () => void cut.add(idOf(body)) } : undefined;
    },
    isCut: (id) => cut.delete(id),
  };
}

function idOf(body: RequestInit['body']): string | number {
  return (JSON.parse(String(body)) as { readonly id: string | number }).id;
}

/**
 * Finds the event ids of a stream, however it is chunked, in the form that `Headers` returns: without surrounding blanks.
 * Of an id that is too long only the beginning is reported, which is too long as well.
 */
function eventIds(found: (id: string) => void): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  /** The unfinished line, with the line end before it; for a long line a character that starts no id. */
  let rest = '\n';
  return (chunk) => {
    const text = rest + decoder.decode(chunk, { stream: true });
    for (const [, id = ''] of text.matchAll(idLine)) if (id !== '') found(withoutBlanks(id));
    const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'));
    const line = text.slice(Math.max(0, end));
    const isLong = line.length > maxEventIdLength + 8;
    if (isLong && idStart.test(line)) found(line);
    rest = end === -1 || isLong ? 'x' : line;
  };
}

function withoutBlanks(id: string): string {
  return id.replace(/^[\t ]+/, '').replace(/(?<![\t ])[\t ]+$/, '');
}
