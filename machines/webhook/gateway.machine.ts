/**
 * The webhook gateway: opens the front when told to, and on drain closes it, flushes every group and waits for the runs.
 * The requests, groups, runs and deliveries themselves live in four wards of their own, so that a burst of one kind
 * never slows another down.
 * @see ADP-1, CON-2 and COA-1 in docs/specification.md
 */

import { assign, sendParent, setup } from 'xstate';
import { effect, logicHole, promiseHole } from '../base/declare.ts';
import { causeOf } from '../base/fault.ts';

export interface GatewayContext {
  /** The base URL while it listens; null otherwise. */
  readonly url: string | null;
  /** Why the front could not open; null while it could. */
  readonly fault: string | null;
}

export type GatewayEvent =
  /** Opens the front, or leaves it closed where the adapter is switched off. */
  | { readonly type: 'gateway.open'; readonly enabled: boolean }
  /** The listener's settings changed: the old front closes, then the new one opens. */
  | { readonly type: 'gateway.reopen'; readonly enabled: boolean }
  | { readonly type: 'gateway.drain' };

/** What the gateway tells its supervisor. */
export type GatewayFact =
  | { readonly type: 'gateway.opened'; readonly url: string | null }
  | { readonly type: 'gateway.refused'; readonly fault: string };

export const gatewayMachine = setup({
  types: { context: {} as GatewayContext, events: {} as GatewayEvent },
  actors: {
    requests: logicHole('requests'),
    groups: logicHole('groups'),
    runs: logicHole('runs'),
    deliveries: logicHole('deliveries'),
    openFront: promiseHole<{ readonly url: string }, undefined>('openFront'),
    closeFront: promiseHole<undefined, undefined>('closeFront'),
    finishWork: promiseHole<undefined, undefined>('finishWork'),
  },
  actions: {
    flushGroups: effect('flushGroups'),
    rememberUrl: assign((_, params: { url: string }) => ({ url: params.url, fault: null })),
    rememberFault: assign((_, params: { fault: string }) => ({ url: null, fault: params.fault })),
    forgetUrl: assign({ url: null }),
    tellOpened: sendParent(({ context }): GatewayFact => ({ type: 'gateway.opened', url: context.url })),
    tellRefused: sendParent(({ context }): GatewayFact => ({ type: 'gateway.refused', fault: context.fault ?? '' })),
  },
  guards: { asksToListen: (_, params: { enabled: boolean }) => params.enabled },
}).createMachine({
  id: 'gateway',
  context: { url: null, fault: null },
  invoke: [
    { id: 'deliveries', src: 'deliveries', systemId: 'deliveries' },
    { id: 'runs', src: 'runs', systemId: 'runs' },
    { id: 'groups', src: 'groups', systemId: 'groups' },
    { id: 'requests', src: 'requests', systemId: 'requests' },
  ],
  initial: 'closed',
  states: {
    closed: {
      description: 'Nothing listens; work from the journal may already go on.',
      meta: { rule: 'ADP-1' },
      tags: ['resting'],
      on: {
        'gateway.open': [
          { guard: { type: 'asksToListen', params: ({ event }) => event }, target: 'opening' },
          { actions: 'tellOpened' },
        ],
        'gateway.reopen': {
          guard: { type: 'asksToListen', params: ({ event }) => event },
          target: 'opening',
        },
        'gateway.drain': 'draining',
      },
    },
    opening: {
      description: 'Binds the address.',
      meta: { rule: 'CON-2' },
      tags: ['working'],
      invoke: {
        id: 'openFront',
        src: 'openFront',
        input: undefined,
        onDone: { target: 'listening', actions: { type: 'rememberUrl', params: ({ event }) => event.output } },
        onError: {
          target: 'closed',
          actions: [{ type: 'rememberFault', params: ({ event }) => ({ fault: causeOf(event.error) }) }, 'tellRefused'],
        },
      },
      on: { 'gateway.drain': 'draining' },
    },
    listening: {
      description: 'Requests come in.',
      meta: { rule: 'CON-2' },
      tags: ['resting'],
      entry: 'tellOpened',
      exit: 'forgetUrl',
      on: {
        'gateway.reopen': [
          { guard: { type: 'asksToListen', params: ({ event }) => event }, target: 'reopening' },
          { target: 'shutting' },
        ],
        'gateway.drain': 'draining',
      },
    },
    reopening: {
      description: 'The old front finishes its exchanges before the new address is bound.',
      meta: { rule: 'ADP-1' },
      tags: ['working'],
      invoke: { id: 'closeFront', src: 'closeFront', input: undefined, onDone: 'opening', onError: 'opening' },
      on: { 'gateway.drain': 'draining' },
    },
    shutting: {
      description: 'The adapter was switched off: the front finishes its exchanges and closes.',
      meta: { rule: 'ADP-1' },
      tags: ['working'],
      invoke: {
        id: 'closeFront',
        src: 'closeFront',
        input: undefined,
        onDone: { target: 'closed', actions: 'tellOpened' },
        onError: { target: 'closed', actions: 'tellOpened' },
      },
      on: { 'gateway.drain': 'draining' },
    },
    draining: {
      description: 'The front closes: what is being answered is answered, nothing new is taken.',
      meta: { rule: 'CON-2' },
      tags: ['working'],
      invoke: { id: 'closeFront', src: 'closeFront', input: undefined, onDone: 'finishing', onError: 'finishing' },
    },
    finishing: {
      description: 'Every pending burst is flushed into a run; runs finish in their time or stay in the journal.',
      meta: { rule: 'COA-1' },
      tags: ['working'],
      entry: 'flushGroups',
      invoke: { id: 'finishWork', src: 'finishWork', input: undefined, onDone: 'drained', onError: 'drained' },
    },
    drained: {
      description: 'Nothing listens and nothing runs.',
      meta: { rule: 'CON-2' },
      tags: ['ended'],
      type: 'final',
    },
  },
});
