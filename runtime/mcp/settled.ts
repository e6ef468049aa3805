/**
 * Waits for servers that connect for the first time, so that a run right after the daemon's start has their tools. A
 * server that was connected before keeps its tools and is not waited for.
 * @see DIS-3 and LIF-7 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import type { WardHandle } from '../../machines/base/ward.ts';
import type { ConnectionContext, ConnectionInput } from '../../machines/mcp/server-connection.machine.ts';

/** Resolves when no first connection is in progress, at the time limit, or when the signal aborts; never rejects. */
export type Settled = (profile: string, limitMs: number, signal: AbortSignal) => Promise<void>;

interface Seen {
  readonly value: unknown;
  readonly context: ConnectionContext;
}

export function createSettled(connections: () => WardHandle<ConnectionInput>): Settled {
  return async (profile, limitMs, signal) => {
    const waited: AnyActorRef[] = [];
    connections().each((_, connection) => {
      const seen = connection.getSnapshot() as Seen;
      if (seen.context.profile === profile && isFirstOnItsWay(seen)) waited.push(connection);
      return true;
    });
    if (waited.length === 0 || signal.aborted) return;
    const ends: (() => void)[] = [];
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      const onAbort = (): void => resolve();
      signal.addEventListener('abort', onAbort, { once: true });
      ends.push(
        () => clearTimeout(timer),
        () => signal.removeEventListener('abort', onAbort),
      );
      let left = waited.length;
      const arrived = (): void => {
        left -= 1;
        if (left === 0) resolve();
      };
      for (const connection of waited) ends.push(whenSettled(connection, arrived));
    });
    for (const end of ends) end();
  };
}

function isFirstOnItsWay({ value, context }: Seen): boolean {
  return value === 'connecting' && context.tools === 0;
}

/** Calls back once; the returned function cancels this. */
function whenSettled(connection: AnyActorRef, arrived: () => void): () => void {
  let isOver = false;
  const settle = (): void => {
    if (isOver) return;
    isOver = true;
    arrived();
  };
  const watch = connection.subscribe({
    next: (snapshot: Seen) => {
      if (!isFirstOnItsWay(snapshot)) settle();
    },
    complete: settle,
    error: settle,
  });
  return () => watch.unsubscribe();
}
