/**
 * The webhook gateway: opens the HTTP server, moves it when its address changes, and on drain closes it, flushes every group
 * and waits for the runs. Requests, groups, runs, deliveries, platform connections and cron jobs have separate pools, so
 * that many of one kind never slow down another.
 * @see ADP-1, CON-2, COA-1 and CRN-1 in docs/specification.md
 */

import { assign, sendParent, setup } from 'xstate';
import { effect, itself, itsOutput, logicPlaceholder, promisePlaceholder } from '../base/declare.ts';
import { faultOfError } from '../base/fault.ts';

export interface GatewayContext {
  /** The base URL while it listens; else null. */
  readonly url: string | null;
  /** Why the HTTP server does not listen as configured; null while it does. */
  readonly fault: string | null;
}

export type GatewayEvent =
  /** Opens the HTTP server, or keeps it closed if the adapter is disabled or its routes are broken. */
  | { readonly type: 'gateway.open'; readonly enabled: boolean; readonly fault: string | null }
  /** The listener's settings changed. */
  | { readonly type: 'gateway.reopen'; readonly enabled: boolean; readonly fault: string | null }
  | { readonly type: 'gateway.drain' };

/** Reported to the supervisor. */
export type GatewayFact =
  | { readonly type: 'gateway.opened'; readonly url: string | null }
  | { readonly type: 'gateway.refused'; readonly fault: string };

const unbound = {
  target: 'closed',
  actions: [{ type: 'rememberFault', params: faultOfError }, 'reportRefused'],
} as const;

export const gatewayMachine = setup({
  types: { context: {} as GatewayContext, events: {} as GatewayEvent },
  actors: {
    requests: logicPlaceholder('requests'),
    groups: logicPlaceholder('groups'),
    runs: logicPlaceholder('runs'),
    deliveries: logicPlaceholder('deliveries'),
    platforms: logicPlaceholder('platforms'),
    cronJobs: logicPlaceholder('cronJobs'),
    openHttpServer: promisePlaceholder<GatewayContext, undefined>('openHttpServer'),
    /** Resolves with the new address, with the old one and a fault, or with the fault alone. */
    moveHttpServer: promisePlaceholder<GatewayContext, undefined>('moveHttpServer'),
    closeHttpServer: promisePlaceholder<undefined, undefined>('closeHttpServer'),
    finishWork: promisePlaceholder<undefined, undefined>('finishWork'),
  },
  actions: {
    startSchedule: effect('startSchedule'),
    stopSchedule: effect('stopSchedule'),
    flushGroups: effect('flushGroups'),
    settleGroups: effect('settleGroups'),
    retireHttpServer: effect('retireHttpServer'),
    rememberHttpServer: assign((_, { url, fault }: GatewayContext) => ({ url, fault })),
    rememberFault: assign((_, { fault }: Pick<GatewayContext, 'fault'>) => ({ url: null, fault })),
    forgetUrl: assign({ url: null, fault: null }),
    reportOpened: sendParent(({ context }): GatewayFact => ({ type: 'gateway.opened', url: context.url })),
    reportRefused: sendParent(({ context }): GatewayFact => ({ type: 'gateway.refused', fault: context.fault ?? '' })),
  },
  guards: {
    asksToListen: (_, params: { enabled: boolean }) => params.enabled,
    isBlocked: (_, params: { fault: string | null }) => params.fault !== null,
    hasMoved: (_, { fault }: GatewayContext) => fault === null,
    hasStayed: (_, { url }: GatewayContext) => url !== null,
  },
}).createMachine({
  id: 'gateway',
  context: { url: null, fault: null },
  invoke: [
    { id: 'platforms', src: 'platforms', systemId: 'platforms' },
    { id: 'deliveries', src: 'deliveries', systemId: 'deliveries' },
    { id: 'runs', src: 'runs', systemId: 'runs' },
    { id: 'groups', src: 'groups', systemId: 'groups' },
    { id: 'requests', src: 'requests', systemId: 'requests' },
    { id: 'cronJobs', src: 'cronJobs', systemId: 'cronJobs' },
  ],
  initial: 'closed',
  states: {
    closed: {
      description: 'Nothing listens; work from the journal may already continue.',
      meta: { rule: 'ADP-1' },
      tags: ['resting'],
      on: {
        // Cron jobs are fired even if the adapter stays closed.
        'gateway.open': [
          {
            guard: { type: 'isBlocked', params: itself },
            actions: [{ type: 'rememberFault', params: itself }, 'startSchedule', 'reportOpened'],
          },
          { guard: { type: 'asksToListen', params: itself }, target: 'opening' },
          { actions: ['startSchedule', 'reportOpened'] },
        ],
        'gateway.reopen': [
          {
            guard: { type: 'isBlocked', params: itself },
            actions: [{ type: 'rememberFault', params: itself }, 'reportRefused'],
          },
          { guard: { type: 'asksToListen', params: itself }, target: 'opening' },
          { actions: ['forgetUrl', 'reportOpened'] },
        ],
        'gateway.drain': 'draining',
      },
    },
    opening: {
      description: 'Binds the address.',
      meta: { rule: 'CON-2' },
      tags: ['working'],
      invoke: {
        id: 'openHttpServer',
        src: 'openHttpServer',
        input: undefined,
        onDone: {
          target: 'listening',
          actions: [{ type: 'rememberHttpServer', params: itsOutput }, 'startSchedule', 'reportOpened'],
        },
        onError: unbound,
      },
      on: { 'gateway.drain': 'draining' },
    },
    listening: {
      description: 'Requests come in.',
      meta: { rule: 'CON-2' },
      tags: ['resting', 'serving'],
      on: {
        'gateway.reopen': [
          { guard: { type: 'asksToListen', params: itself }, target: 'reopening' },
          { target: 'closed', actions: ['retireHttpServer', 'settleGroups', 'forgetUrl', 'reportOpened'] },
        ],
        'gateway.drain': 'draining',
      },
    },
    reopening: {
      description: 'The new address is bound before the old HTTP server closes; if that fails, the old one stays.',
      meta: { rule: 'ADP-1' },
      tags: ['working', 'serving'],
      invoke: {
        id: 'moveHttpServer',
        src: 'moveHttpServer',
        input: undefined,
        onDone: [
          {
            guard: { type: 'hasMoved', params: itsOutput },
            target: 'listening',
            actions: ['settleGroups', { type: 'rememberHttpServer', params: itsOutput }, 'reportOpened'],
          },
          {
            guard: { type: 'hasStayed', params: itsOutput },
            target: 'listening',
            actions: [{ type: 'rememberHttpServer', params: itsOutput }, 'reportRefused'],
          },
          {
            target: 'closed',
            actions: ['settleGroups', { type: 'rememberHttpServer', params: itsOutput }, 'reportRefused'],
          },
        ],
        onError: unbound,
      },
      on: { 'gateway.drain': 'draining' },
    },
    draining: {
      description:
        'No job is fired any more and the runs of waiting batches start at once; the HTTP server closes: open requests are answered, nothing new is taken.',
      meta: { rule: 'CON-2' },
      tags: ['working'],
      entry: ['forgetUrl', 'stopSchedule', 'flushGroups'],
      invoke: {
        id: 'closeHttpServer',
        src: 'closeHttpServer',
        input: undefined,
        onDone: 'finishing',
        onError: 'finishing',
      },
    },
    finishing: {
      description: 'What joined a batch meanwhile becomes a run too; runs finish in their time or stay in the journal.',
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
