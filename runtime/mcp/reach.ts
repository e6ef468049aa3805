/**
 * The calls that wait for a connection, by connection: wakes a sleeping one for them, and tells them when it is there or
 * why it is not.
 * @see LIF-6, LIF-7 and LIF-8 in docs/specification.md
 */

import type { WardHandle } from '../../machines/base/ward.ts';
import { refusedForMs } from '../../machines/mcp/retry-plan.ts';
import type { ConnectionContext, ConnectionInput } from '../../machines/mcp/server-connection.machine.ts';
import type { CallInput } from '../../machines/mcp/tool-call.machine.ts';

export interface Reach {
  /** Whether a call may be sent at once. */
  isReached(key: string): boolean;
  /** The call hears `server.reached` or `server.unreachable`, at once or later. */
  wait(key: string, call: WaitingCall): void;
  reached(key: string): void;
  unreachable(key: string, why: string): void;
}

export interface WaitingCall {
  readonly id: string;
  readonly send: (
    event: { readonly type: 'server.reached' } | { readonly type: 'server.unreachable'; readonly why: string },
  ) => void;
}

interface ConnectionSnapshot {
  readonly value: string;
  readonly context: ConnectionContext;
}

export interface ReachPorts {
  readonly connections: () => WardHandle<ConnectionInput>;
  readonly calls: () => WardHandle<CallInput>;
  readonly nowMs: () => number;
}

export function createReach({ connections, calls, nowMs }: ReachPorts): Reach {
  const waiting = new Map<string, Set<string>>();

  function tellAll(key: string, event: { readonly type: string }): void {
    const ids = waiting.get(key);
    waiting.delete(key);
    for (const id of ids ?? []) calls().get(id)?.send(event);
  }

  return {
    isReached(key) {
      const snapshot = connections().get(key)?.getSnapshot() as ConnectionSnapshot | undefined;
      return snapshot?.value === 'connected' && refusedForMs(snapshot.context.breaker, nowMs()) === undefined;
    },
    wait(key, { id, send }) {
      const connection = connections().get(key);
      if (connection === undefined) {
        send({ type: 'server.unreachable', why: `mcp server "${key}": is not configured any more` });
        return;
      }
      const snapshot = connection.getSnapshot() as ConnectionSnapshot;
      const waitMs = refusedForMs(snapshot.context.breaker, nowMs());
      if (waitMs !== undefined) {
        const why = `mcp server "${key}": its last calls all failed in transport; calls are tried again in ${Math.ceil(waitMs / 1_000)} s`;
        send({ type: 'server.unreachable', why });
        return;
      }
      if (snapshot.value === 'connected') {
        send({ type: 'server.reached' });
        return;
      }
      const ids = waiting.get(key) ?? new Set();
      waiting.set(key, ids.add(id));
      connection.send({ type: 'server.wake' });
    },
    reached: (key) => tellAll(key, { type: 'server.reached' }),
    unreachable: (key, why) => tellAll(key, { type: 'server.unreachable', why } as { readonly type: string }),
  };
}
