/**
 * The calls that wait for a connection: wakes a sleeping connection for them, and notifies them when it is connected or
 * why it is not.
 * @see LIF-6, LIF-7 and LIF-8 in docs/specification.md
 */

import type { ServerTool } from '../../machines/agent/toolset.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { ChartPool } from '../../machines/base/pool.ts';
import type { CallFault } from '../../machines/mcp/call-faults.ts';
import { type Connections, isDown } from '../../machines/mcp/connection-state.ts';
import { refusedForMs, refusedWords } from '../../machines/mcp/retry-plan.ts';
import type { ConnectionContext } from '../../machines/mcp/server-connection.machine.ts';
import type { CallEvent, toolCallMachine } from '../../machines/mcp/tool-call.machine.ts';
import { toolPrefix } from '../../machines/mcp/tool-name.ts';
import { serverCommand } from '../../machines/oauth/login-hint.ts';

export interface Reach {
  /** Whether a call may be sent at once. */
  isReached(key: string): boolean;
  /** Sends the call `server.reached` or `server.unreachable`, at once or later. */
  wait(key: string, call: WaitingCall): void;
  /**
   * The server that may have an unknown tool name, because it has listed nothing yet; undefined if there is none whose
   * tool the caller may use.
   */
  absentFor(profile: string, name: string, allows?: (tool: ServerTool) => boolean): AbsentServer | undefined;
  /** Whether a call waits for a connection. */
  isAwaited(key: string): boolean;
  reached(key: string): void;
  /** The connection has ended: its calls wait for that of the changed entry, if there is one. */
  ended(key: string): void;
  /** @param code `server_unavailable` unless given */
  unreachable(key: string, why: string, code?: CallFault['code']): void;
}

interface AbsentServer {
  readonly server: string;
  /** It is connecting for the first time. */
  readonly comes: boolean;
  readonly why: string;
  readonly code?: CallFault['code'];
}

type ReachEvent = Extract<CallEvent, { readonly type: 'server.reached' | 'server.unreachable' }>;

interface WaitingCall {
  readonly id: string;
  /** It was sent before, so it waits for no connection of a changed entry. */
  readonly isSentAgain?: boolean;
  readonly send: (event: ReachEvent) => void;
}

interface ReachPorts {
  readonly connections: Connections;
  readonly calls: () => ChartPool<typeof toolCallMachine>;
  /** Whether the configuration has the entry of a connection. */
  readonly configured: (key: string) => boolean;
  /** Milliseconds that only rise, by which the breakers open and close. */
  readonly steadyMs: () => number;
}

export function createReach({ connections, calls, configured, steadyMs }: ReachPorts): Reach {
  const waiting = new Map<string, Set<string>>();

  function reportAll(key: string, event: ReachEvent): void {
    const ids = waiting.get(key);
    waiting.delete(key);
    for (const id of ids ?? []) calls().get(id)?.send(event);
  }

  function unreachable(key: string, why: string, code?: CallFault['code']): void {
    reportAll(key, { type: 'server.unreachable', why, ...(code === undefined ? {} : { code }) });
  }

  /** Its chart crashed, or its entry was removed. */
  function goneWords(key: string): string {
    const how = configured(key) ? 'is starting anew; call it again' : 'is not configured any more';
    return `mcp server "${key}": ${how}`;
  }

  return {
    isReached(key) {
      const snapshot = connections().get(key)?.getSnapshot();
      return snapshot?.value === 'connected' && refusedForMs(snapshot.context.breaker, steadyMs()) === undefined;
    },
    wait(key, { id, send, isSentAgain = false }) {
      const connection = connections().get(key);
      if (connection === undefined) {
        send({ type: 'server.unreachable', why: goneWords(key) });
        return;
      }
      const snapshot = connection.getSnapshot();
      const isStopping = snapshot.value === 'stopping';
      if (isStopping && isSentAgain) {
        send({ type: 'server.unreachable', why: `mcp server "${key}": ${snapshot.context.closing}` });
        return;
      }
      // The changed entry has a breaker of its own.
      const waitMs = isStopping ? undefined : refusedForMs(snapshot.context.breaker, steadyMs());
      if (waitMs !== undefined) {
        const why = `mcp server "${key}": ${refusedWords(waitMs)}`;
        send({ type: 'server.unreachable', why });
        return;
      }
      if (snapshot.value === 'connected') {
        send({ type: 'server.reached' });
        return;
      }
      getOrMake(waiting, key, () => new Set()).add(id);
      connection.send({ type: 'server.wake' });
    },
    absentFor(profile, name, allows = () => true) {
      let found: AbsentServer | undefined;
      for (const [key, connection] of connections()) {
        const { value, context } = connection.getSnapshot();
        // The changed entry has listed nothing.
        const isChanging = value === 'stopping' && configured(key);
        if (context.profile !== profile || (context.tools > 0 && !isChanging)) continue;
        if (value !== 'connecting' && value !== 'disabled' && !isDown(value) && !isChanging) continue;
        if (!name.startsWith(toolPrefix(context.server)) || !allows({ server: context.server, name })) continue;
        found = { server: context.server, comes: value === 'connecting' || isChanging, ...absenceOf(value, context) };
        if (found.comes) break;
      }
      return found;
    },
    isAwaited: (key) => waiting.has(key),
    reached: (key) => reportAll(key, { type: 'server.reached' }),
    ended(key) {
      const next = connections().get(key);
      const { value, context } = next?.getSnapshot() ?? {};
      if (context === undefined) unreachable(key, goneWords(key));
      else if (value === 'disabled') unreachable(key, disabledWords(context), 'unknown_tool');
      else if (waiting.has(key)) next?.send({ type: 'server.wake' });
    },
    unreachable,
  };
}

function disabledWords({ server, profile }: Pick<ConnectionContext, 'server' | 'profile'>): string {
  return `mcp server "${server}" is disabled; \`${serverCommand('enable', server, profile)}\` connects it`;
}

function absenceOf(
  state: string,
  context: Pick<ConnectionContext, 'server' | 'profile' | 'why'>,
): Pick<AbsentServer, 'why' | 'code'> {
  if (state === 'disabled') return { why: disabledWords(context), code: 'unknown_tool' };
  const words = context.why ?? `mcp server "${context.server}" is not connected`;
  return state === 'needsLogin' ? { why: words, code: 'needs_login' } : { why: words };
}
