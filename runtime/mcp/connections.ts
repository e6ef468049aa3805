/**
 * Provides the effects of the connection chart: its session, its pings, the calls that wait for it, and its log lines.
 * @see LIF-1 and OBS-1 in docs/specification.md
 */

import { fromPromise } from 'xstate';
import type { Logger } from '../../actors/ports.ts';
import {
  type CloseInput,
  type ConnectInput,
  type ConnectionContext,
  type ConnectVerdict,
  serverConnectionMachine,
} from '../../machines/mcp/server-connection.machine.ts';
import type { Reach } from './reach.ts';
import { connectionKey, type Sessions } from './sessions.ts';

interface ConnectionPorts {
  readonly sessions: Sessions;
  readonly reach: Reach;
  readonly log: Logger;
}

export function wireConnection({ sessions, reach, log }: ConnectionPorts) {
  /**
   * The last logged text of each: repeated sleeping and waking, or a lasting outage, is one line and not one per attempt.
   */
  const said = new WeakMap<object, string>();
  const keyOf = ({ profile, server }: ConnectionContext): string => connectionKey(profile, server);
  function say(self: object, context: ConnectionContext, why: string): void {
    const before = said.get(self);
    if (before === why) return;
    said.set(self, why);
    const { server, profile, tools } = context;
    const fields = { server, profile, actor: `connections/${keyOf(context)}` };
    const name = `mcp server "${server}"`;
    // A call or a ping reports only what it found.
    if (why !== '') log.log('warn', why.startsWith(name) ? why : `${name}: ${why}`, fields);
    else
      log.log('info', `${name} is connected${before === undefined ? '' : ' again'}`, {
        ...fields,
        tools,
      });
  }

  return serverConnectionMachine.provide({
    actors: {
      connectServer: fromPromise<ConnectVerdict, ConnectInput>(({ input, signal }) => sessions.connect(input, signal)),
      closeSession: fromPromise<undefined, CloseInput>(async ({ input }) => {
        await sessions.close(input);
        return undefined;
      }),
    },
    actions: {
      ping: ({ context }) => sessions.ping(keyOf(context)),
      reportReached: ({ context, self }) => {
        say(self, context, '');
        reach.reached(keyOf(context));
      },
      reportUnreachable: ({ context, self }, unreached) => {
        if (context.why !== null) say(self, context, context.why);
        reach.unreachable(keyOf(context), context.why ?? `mcp server "${context.server}": stopped`, unreached?.code);
      },
    },
  });
}
