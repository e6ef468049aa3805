/**
 * Waits for servers that connect for the first time, so that a run right after the daemon's start has their tools. A
 * server that was connected before keeps its tools and is not waited for.
 * @see DIS-3 and LIF-7 in docs/specification.md
 */

import { waitFor } from 'xstate';
import type { ConnectionSnapshot, Connections } from '../../machines/mcp/connection-state.ts';

/** Resolves when no first connection is in progress, at the time limit, or when the signal aborts; never rejects. */
type Settled = (profile: string, limitMs: number, signal: AbortSignal) => Promise<void>;

export function createSettled(connections: Connections): Settled {
  return async (profile, limitMs, signal) => {
    const waits: Promise<unknown>[] = [];
    for (const [, connection] of connections()) {
      const standing = connection.getSnapshot();
      if (standing.context.profile === profile && isFirstOnItsWay(standing))
        waits.push(
          waitFor(connection, (seen: ConnectionSnapshot) => !isFirstOnItsWay(seen), { timeout: limitMs, signal }),
        );
    }
    await Promise.allSettled(waits);
  };
}

function isFirstOnItsWay({ value, context }: ConnectionSnapshot): boolean {
  return value === 'connecting' && context.tools === 0;
}
