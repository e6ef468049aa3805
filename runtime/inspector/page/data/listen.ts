/**
 * Reads the daemon's stream of events once, until it ends, and closes it. Does not interpret the events.
 * @see INS-1 and INS-2 in docs/specification.md
 * @see [Server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation)
 */

export interface StreamedEvent {
  readonly name: string;
  readonly data: string;
}

interface Listening {
  readonly open: (signal: AbortSignal) => Promise<Response>;
  readonly take: (event: StreamedEvent) => void;
  /** Gets what `take` throws: an error in a view must not end the stream for all others. */
  readonly failed: (error: unknown) => void;
}

/** The daemon sends its health every 3 s; two missing messages are a daemon that hangs or a connection that is dead. */
const silenceMs = 8_000;

/**
 * Resolves with `refused` if there is no such session, and with `lost` if the daemon is not there, the stream ended or was
 * silent for 8 s.
 */
export async function listenOnce({ open, take, failed }: Listening): Promise<'refused' | 'lost'> {
  // Aborted in any case: a stream left open beside the next one would fill up and waste the daemon's deltas.
  const over = new AbortController();
  let silence: ReturnType<typeof setTimeout> | undefined;
  const limitSilence = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => over.abort(), silenceMs);
  };
  try {
    limitSilence();
    const response = await open(over.signal);
    if (response.status === 401 || response.status === 403) return 'refused';
    if (!response.ok) return 'lost';
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const eventsOf = createBlockReader();
    for (;;) {
      limitSilence();
      const read = await reader?.read();
      if (read === undefined || read.done) return 'lost';
      for (const event of eventsOf(read.value)) guarded(() => take(event), failed);
    }
  } catch {
    return 'lost';
  } finally {
    clearTimeout(silence);
    over.abort();
  }
}

export function guarded(act: () => void, failed: (error: unknown) => void): void {
  try {
    act();
  } catch (error) {
    failed(error);
  }
}

/** Parses a stream that arrives in pieces: `event:` and `data:` lines, a blank line after each event. */
export function createBlockReader(): (piece: string) => readonly StreamedEvent[] {
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
