/**
 * The servers' part below the supervisor: its pools hold the connections, calls, questions to people, servers' own requests,
 * logins and chats. On stop it closes every session, and ends when none is left or the grace period is over; child processes
 * are first asked to end and then killed.
 * @see LIF-9 and LIF-12 in docs/specification.md
 */

import { sendParent, setup } from 'xstate';
import { logicPlaceholder, promisePlaceholder } from '../base/declare.ts';
import { causeOf } from '../base/fault.ts';

export type ServersEvent =
  /** The configuration changed: connect added servers, retire removed ones, restart changed ones. */
  { readonly type: 'servers.reconcile' } | { readonly type: 'servers.stop' };

/** Reported to the supervisor: the fault says why the connections were not changed. */
export type ServersFact = { readonly type: 'servers.reconciled'; readonly fault: string | null };

export const serversMachine = setup({
  types: { events: {} as ServersEvent },
  actors: {
    connections: logicPlaceholder('connections'),
    calls: logicPlaceholder('calls'),
    approvals: logicPlaceholder('approvals'),
    serverRequests: logicPlaceholder('serverRequests'),
    chats: logicPlaceholder('chats'),
    browserLogins: logicPlaceholder('browserLogins'),
    deviceLogins: logicPlaceholder('deviceLogins'),
    reconcile: promisePlaceholder<undefined, undefined>('reconcile'),
    closeAll: promisePlaceholder<undefined, undefined>('closeAll'),
  },
  actions: {
    reportReconciled: sendParent(
      (_, { fault }: { fault: string | null }): ServersFact => ({ type: 'servers.reconciled', fault }),
    ),
  },
}).createMachine({
  id: 'servers',
  context: {},
  invoke: [
    { id: 'approvals', src: 'approvals', systemId: 'approvals' },
    { id: 'serverRequests', src: 'serverRequests', systemId: 'serverRequests' },
    { id: 'browserLogins', src: 'browserLogins', systemId: 'browserLogins' },
    { id: 'deviceLogins', src: 'deviceLogins', systemId: 'deviceLogins' },
    { id: 'connections', src: 'connections', systemId: 'connections' },
    { id: 'calls', src: 'calls', systemId: 'calls' },
    { id: 'chats', src: 'chats', systemId: 'chats' },
  ],
  // At once, since the pools start before it: who asks as soon as the control socket is open finds the servers.
  initial: 'reconciling',
  states: {
    reconciling: {
      description:
        'Each added server gets a connection, that of a removed one is stopped, and a changed one gets another.',
      meta: { rule: 'LIF-12' },
      tags: ['working', 'serving'],
      invoke: {
        id: 'reconcile',
        src: 'reconcile',
        input: undefined,
        onDone: { target: 'keeping', actions: { type: 'reportReconciled', params: { fault: null } } },
        onError: {
          target: 'keeping',
          actions: { type: 'reportReconciled', params: ({ event }) => ({ fault: causeOf(event.error) }) },
        },
      },
      on: { 'servers.reconcile': { target: 'reconciling', reenter: true }, 'servers.stop': 'closing' },
    },
    keeping: {
      description: 'Every enabled server has a connection.',
      meta: { rule: 'LIF-12' },
      tags: ['resting', 'serving'],
      on: { 'servers.reconcile': 'reconciling', 'servers.stop': 'closing' },
    },
    closing: {
      description: 'Sessions are closed and children ended.',
      meta: { rule: 'LIF-9' },
      tags: ['working'],
      invoke: { id: 'closeAll', src: 'closeAll', input: undefined, onDone: 'closed', onError: 'closed' },
    },
    closed: {
      description: 'No session and no child is left.',
      meta: { rule: 'LIF-9' },
      tags: ['ended'],
      type: 'final',
    },
  },
});
