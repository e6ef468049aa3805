/** Provides the effects of the servers' chart: its pools, the reconciliation with a changed configuration, and the end. */

import { type AnyActorLogic, fromPromise } from 'xstate';
import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { serversMachine } from '../../machines/mcp/servers.machine.ts';
import type { Logins } from '../oauth/logins.ts';
import type { Calls } from './calls.ts';
import type { Reconcile } from './reconcile.ts';

export type ServersPool =
  | ('connections' | 'calls' | 'approvals' | 'serverRequests' | 'chats')
  | ('browserLogins' | 'deviceLogins');

interface ServersPorts {
  readonly pools: Readonly<Record<ServersPool, AnyActorLogic>>;
  readonly reconcile: Reconcile;
  readonly live: Pick<Calls, 'stop'>;
  readonly logins: Pick<Logins, 'stop'>;
  readonly closeFiles: () => Promise<void>;
  readonly log: Logger;
}

export function wireServers(ports: ServersPorts) {
  return serversMachine.provide({
    actors: {
      ...ports.pools,
      reconcile: fromPromise<undefined, undefined>(async () => {
        try {
          ports.reconcile.run();
        } catch (thrown) {
          const fault = `mcp servers: the configuration cannot be applied, so they stay as they are: ${causeOf(thrown)}`;
          ports.log.log('error', fault);
          throw new Error(fault);
        }
        return undefined;
      }),
      closeAll: fromPromise<undefined, undefined>(async () => {
        ports.live.stop();
        const stored = ports.logins.stop();
        await ports.reconcile.retireAll();
        await stored;
        await ports.closeFiles();
        return undefined;
      }),
    },
  });
}
