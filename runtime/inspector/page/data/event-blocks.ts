/**
 * Parses a stream of events that arrives in pieces: `event:` and `data:` lines, a blank line after each event.
 * @see [Server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation)
 */

export interface StreamedEvent {
  readonly name: string;
  readonly data: string;
}

/** Takes the next piece of text and returns the events that are complete with it. */
export type BlockReader = (piece: string) => readonly StreamedEvent[];

export function createBlockReader(): BlockReader {
  /** Pieces of an incomplete event. Joined once, since a snapshot is long and arrives in many pieces. */
  let begun: string[] = [];
  return (piece) => {
    const last = begun.at(-1) ?? '';
    // The blank line itself may be split across two pieces.
    if (!piece.includes('\n\n') && !(last.endsWith('\n') && piece.startsWith('\n'))) {
      if (piece !== '') begun.push(piece);
      return [];
    }
    const blocks = (begun.join('') + piece).split('\n\n');
    const rest = blocks.pop() ?? '';
    begun = rest === '' ? [] : [rest];
    return blocks.flatMap(eventOf);
  };
}

/** Returns nothing for a block without data, such as the `retry:` line. */
function eventOf(block: string): StreamedEvent[] {
  let name = 'message';
  let data: string | undefined;
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) name = line.slice('event: '.length);
    else if (line.startsWith('data: ')) data = `${data === undefined ? '' : `${data}\n`}${line.slice('data: '.length)}`;
  }
  return data === undefined ? [] : [{ name, data }];
}
