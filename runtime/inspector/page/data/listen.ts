/**
 * Listens to the daemon's stream of events once, until it ends, and leaves nothing of it open. Knows nothing of what the
 * events say.
 * @see INS-1 and INS-2 in docs/specification.md
 */

import { createBlockReader, type StreamedEvent } from './event-blocks.ts';

export interface Listening {
  readonly open: (signal: AbortSignal) => Promise<Response>;
  readonly take: (event: StreamedEvent) => void;
  /** Told of what `take` throws: a view that fails is no fault of the stream, which continues for all the others. */
  readonly failed: (error: unknown) => void;
}

/** Tells a session that is not known (any more) from a daemon that is not there, or is no more. */
export async function listenOnce({ open, take, failed }: Listening): Promise<'refused' | 'lost'> {
  // However it ends: a stream that stayed open beside the next one would fill up, and cost the daemon its deltas.
  const over = new AbortController();
  try {
    const response = await open(over.signal);
    if (response.status === 401 || response.status === 403) return 'refused';
    if (!response.ok) return 'lost';
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const eventsOf = createBlockReader();
    for (;;) {
      const read = await reader?.read();
      if (read === undefined || read.done) return 'lost';
      for (const event of eventsOf(read.value)) guarded(() => take(event), failed);
    }
  } catch {
    return 'lost';
  } finally {
    over.abort();
  }
}

/** What it throws is told, and goes no further. */
export function guarded(act: () => void, failed: (error: unknown) => void): void {
  try {
    act();
  } catch (error) {
    failed(error);
  }
}
