/**
 * Takes a stream of events apart that comes in pieces: `event:` and `data:` lines, a blank line after each.
 * @see [Server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation)
 */

export interface StreamedEvent {
  readonly name: string;
  readonly data: string;
}

/** Takes the next piece of text; gives the events that are whole with it. */
export type BlockReader = (piece: string) => readonly StreamedEvent[];

export function createBlockReader(): BlockReader {
  /** Pieces of an event that continues: joined once, since a snapshot is long and comes in many. */
  let begun: string[] = [];
  return (piece) => {
    const last = begun.at(-1) ?? '';
    // The blank line itself may lie across two pieces.
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

/** None where it carries nothing, as the line that says when to try again. */
function eventOf(block: string): StreamedEvent[] {
  let name = 'message';
  let data: string | undefined;
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) name = line.slice('event: '.length);
    else if (line.startsWith('data: ')) data = `${data === undefined ? '' : `${data}\n`}${line.slice('data: '.length)}`;
  }
  return data === undefined ? [] : [{ name, data }];
}
