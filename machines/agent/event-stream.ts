/**
 * Splits a stream of server-sent events into the data of the events, at any chunk boundaries. Does not parse the data.
 * @see [HTML §9.2.6](https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation)
 * @see DIS-3 in docs/specification.md
 */

/** Reads each character once, so that a line in a thousand chunks costs no more than one in a single chunk. */
export function createEventReader() {
  let line = '';
  let id = '';
  let lastId = '';
  let data: string[] = [];
  let afterReturn = false;
  let first = true;

  function endLine(events: string[]): void {
    const whole = first ? line.replace(/^\uFEFF/, '') : line;
    first = false;
    line = '';
    if (whole === '') {
      // An event without data is ignored.
      if (data.length > 0) {
        events.push(data.join('\n'));
        if (id !== '') lastId = id;
      }
      id = '';
      data = [];
      return;
    }
    const colon = whole.indexOf(':');
    const field = colon === -1 ? whole : whole.slice(0, colon);
    const value = colon === -1 ? '' : whole.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'id') id = value;
  }

  return {
    /** Returns the data of the events that the chunk completed. */
    read(chunk: string): readonly string[] {
      const events: string[] = [];
      let from = 0;
      for (const { index, 0: end } of chunk.matchAll(/[\r\n]/g)) {
        // CR LF is one line end, and a chunk may end between the two.
        const isSecondHalf = end === '\n' && afterReturn && index === from && line === '';
        if (!isSecondHalf) {
          line += chunk.slice(from, index);
          endLine(events);
        }
        afterReturn = end === '\r';
        from = index + 1;
      }
      if (from < chunk.length) {
        line += chunk.slice(from);
        afterReturn = false;
      }
      return events;
    },
    /** Returns the id of the last event that had one; empty before. */
    lastId: (): string => lastId,
  };
}
