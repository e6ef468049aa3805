/**
 * Passes a session's abort on to one request, while that is under way. The fetch below leaves its listener on the signal
 * until the garbage is collected, and a session's signal lives as long as the session. Knows no request.
 * @see LIF-3 in docs/specification.md
 */

import { setMaxListeners } from 'node:events';

export interface Relay {
  readonly signal: AbortSignal;
  /** The request is over: nothing is passed on any more. */
  end(): void;
}

export function relayAbort(source: AbortSignal): Relay {
  const own = new AbortController();
  const stop = (): void => own.abort(source.reason);
  if (source.aborted) stop();
  else {
    // As many as there are requests under way, each taken off at its end.
    setMaxListeners(0, source);
    source.addEventListener('abort', stop, { once: true });
  }
  return { signal: own.signal, end: () => source.removeEventListener('abort', stop) };
}
