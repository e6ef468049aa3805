/** Fills the holes of the connection chart: its session, its pings, and the calls that wait for it. */

import { fromPromise } from 'xstate';
import {
  type ConnectInput,
  type ConnectionContext,
  type ConnectVerdict,
  serverConnectionMachine,
} from '../../machines/mcp/server-connection.machine.ts';
import type { Reach } from '../mcp/reach.ts';
import { connectionKey, type Sessions } from '../mcp/sessions.ts';

export interface ConnectionPorts {
  readonly sessions: Sessions;
  readonly reach: Reach;
}

export function wireConnection({ sessions, reach }: ConnectionPorts) {
  const keyOf = ({ profile, server }: ConnectionContext): string => connectionKey(profile, server);
  return serverConnectionMachine.provide({
    actors: {
      connectServer: fromPromise<ConnectVerdict, ConnectInput>(({ input, signal }) => sessions.connect(input, signal)),
      closeSession: fromPromise<undefined, ConnectInput>(async ({ input }) => {
        await sessions.close(input);
        return undefined;
      }),
    },
    actions: {
      ping: ({ context }) => sessions.ping(keyOf(context)),
      tellReached: ({ context }) => reach.reached(keyOf(context)),
      tellUnreachable: ({ context }) =>
        reach.unreachable(keyOf(context), context.why ?? `mcp server "${context.server}": stopped`),
    },
  });
}
