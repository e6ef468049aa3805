/**
 * The servers' half under the supervisor: its wards hold the connections, the calls, the questions to people, the
 * servers' own requests, the logins and the chats that use their tools. On stop it closes every session, children first
 * told and then killed, and ends when none is left or the grace is over.
 * @see LIF-9 and LIF-12 in docs/specification.md
 */

import { setup } from 'xstate';
import { effect, logicHole, promiseHole } from '../base/declare.ts';

export type ServersEvent =
  /** The configuration changed: connect what was added, retire what was removed, restart what changed. */
  { readonly type: 'servers.reconcile' } | { readonly type: 'servers.stop' };

export const serversMachine = setup({
  types: { events: {} as ServersEvent },
  actors: {
    connections: logicHole('connections'),
    calls: logicHole('calls'),
    approvals: logicHole('approvals'),
    serverRequests: logicHole('serverRequests'),
    chats: logicHole('chats'),
    browserLogins: logicHole('browserLogins'),
    deviceLogins: logicHole('deviceLogins'),
    closeAll: promiseHole<undefined, undefined>('closeAll'),
  },
  actions: { reconcile: effect('reconcile') },
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
  initial: 'opening',
  states: {
    opening: {
      description: 'The wards come to life before anything is spawned into them.',
      meta: { rule: 'LIF-1' },
      tags: ['working'],
      after: { 0: { target: 'keeping' } },
      on: { 'servers.stop': 'closing' },
    },
    keeping: {
      description: 'Every enabled server has a connection; what changed in the configuration is carried over.',
      meta: { rule: 'LIF-12' },
      tags: ['resting'],
      entry: 'reconcile',
      on: { 'servers.reconcile': { actions: 'reconcile' }, 'servers.stop': 'closing' },
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
