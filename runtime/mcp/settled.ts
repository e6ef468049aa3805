/**
 * Waits for servers that connect for the first time, so that a run right after the daemon's start has their tools. A
 * server that was connected before keeps its tools and is not waited for.
 * @see DIS-3 and LIF-7 in docs/specification.md
 */

import { type AnyActorRef, waitFor } from 'xstate';
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
    const waits: Promise<unknown>[] = [];
    connections().each((_, connection: AnyActorRef) => {
      const standing = connection.getSnapshot() as Seen;
      if (standing.context.profile === profile && isFirstOnItsWay(standing))
        waits.push(waitFor(connection, (seen: Seen) => !isFirstOnItsWay(seen), { timeout: limitMs, signal }));
      return true;
    });
    await Promise.allSettled(waits);
  };
}

function isFirstOnItsWay({ value, context }: Seen): boolean {
  return value === 'connecting' && context.tools === 0;
}
