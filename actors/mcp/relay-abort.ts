/**
 * Passes a session's abort on to one request while it is open. undici keeps its listener on the signal until garbage
 * collection, and a session's signal lives as long as the session.
 * @see LIF-3 in docs/specification.md
 */

import { setMaxListeners } from 'node:events';

interface Relay {
  readonly signal: AbortSignal;
  /** The request has ended: an abort is no longer passed on. */
  end(): void;
}

export function relayAbort(source: AbortSignal): Relay {
  const own = new AbortController();
  const stop = (): void => own.abort(source.reason);
  if (source.aborted) stop();
  else {
    // One listener per open request, each removed at its end.
    setMaxListeners(0, source);
    source.addEventListener('abort', stop, { once: true });
  }
  return { signal: own.signal, end: () => source.removeEventListener('abort', stop) };
}
