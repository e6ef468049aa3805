/**
 * One reload: reads the home again, moves the listener if the settings require it, adopts the configuration and reconciles
 * the MCP servers with it. No setting changes before `adopting`, so the last good configuration stays in force after a
 * refusal; `inForce` is reached only when all parts use the new one.
 * @see CFG-2, ADP-1 and LIF-12 in docs/specification.md
 */

import { assign, sendParent, setup } from 'xstate';
import { promisePlaceholder } from './base/declare.ts';
import { faultOfError } from './base/fault.ts';
import type { ServersFact } from './mcp/servers.machine.ts';
import type { GatewayFact } from './webhook/gateway.machine.ts';

export interface ReloadInput {
  /** Whether findings have kept the adapter from starting: then it has no last good configuration to keep. */
  readonly wasBlocked: boolean;
}

/** What the new configuration requires of the listener. */
export interface ListenerPlan {
  readonly listens: boolean;
  /** True if the listener must open, move or close. */
  readonly listenerChanged: boolean;
  /** Why the adapter must not start; null if it may. */
  readonly blocked: string | null;
}

export interface ReloadContext extends ReloadInput {
  readonly plan: ListenerPlan | null;
  readonly hasFindings: boolean;
  readonly adopted: boolean;
  readonly fault: string | null;
}

export type ReadVerdict = Pick<ReloadContext, 'plan' | 'fault'>;

type ReloadEvent = GatewayFact | ServersFact;

/** What a reload requests of its supervisor, which passes it to the gateway or the servers. */
export type ReloadRequest =
  | { readonly type: 'listener.wanted'; readonly plan: ListenerPlan }
  | { readonly type: 'servers.outdated' };

export interface ReloadOutcome {
  /** Whether the configuration that was read is now in force. */
  readonly inForce: boolean;
  /** Whether findings prevented that; the fault names the first. */
  readonly hasFindings: boolean;
  /** What prevented it, or a part that does not work with it; null if there is nothing to report. */
  readonly fault: string | null;
}

export const reloadMachine = setup({
  types: {
    input: {} as ReloadInput,
    context: {} as ReloadContext,
    events: {} as ReloadEvent,
    output: {} as ReloadOutcome,
  },
  actors: {
    readHome: promisePlaceholder<ReadVerdict, ReloadInput>('readHome'),
    adoptHome: promisePlaceholder<undefined, undefined>('adoptHome'),
  },
  actions: {
    rememberReading: assign((_, { plan, fault }: ReadVerdict) => ({ plan, fault, hasFindings: fault !== null })),
    rememberFault: assign((_, { fault }: Pick<ReloadContext, 'fault'>) => ({ fault })),
    rememberAdoption: assign({ adopted: true }),
    requestMove: sendParent(
      ({ context }): ReloadRequest => ({ type: 'listener.wanted', plan: context.plan ?? noPlan }),
    ),
    requestReconciling: sendParent((): ReloadRequest => ({ type: 'servers.outdated' })),
  },
  guards: {
    isRefused: (_, { fault }: ReadVerdict) => fault !== null,
    movesListener: (_, { plan }: ReadVerdict) => plan?.listenerChanged === true,
    isBlocked: ({ context }) => context.plan?.blocked != null,
  },
}).createMachine({
  id: 'reload',
  context: ({ input }) => ({ ...input, plan: null, hasFindings: false, adopted: false, fault: null }),
  initial: 'reading',
  states: {
    reading: {
      description: 'The files of the home are read and checked.',
      meta: { rule: 'CFG-2' },
      tags: ['working'],
      invoke: {
        id: 'readHome',
        src: 'readHome',
        input: ({ context }) => ({ wasBlocked: context.wasBlocked }),
        onDone: [
          {
            guard: { type: 'isRefused', params: ({ event }) => event.output },
            target: 'refused',
            actions: { type: 'rememberReading', params: ({ event }) => event.output },
          },
          {
            guard: { type: 'movesListener', params: ({ event }) => event.output },
            target: 'moving',
            actions: { type: 'rememberReading', params: ({ event }) => event.output },
          },
          { target: 'adopting', actions: { type: 'rememberReading', params: ({ event }) => event.output } },
        ],
        onError: { target: 'refused', actions: { type: 'rememberFault', params: faultOfError } },
      },
    },
    moving: {
      description: 'The listener opens, moves or closes; if the new address cannot be bound, the reload is refused.',
      meta: { rule: 'ADP-1' },
      tags: ['working'],
      entry: 'requestMove',
      on: {
        'gateway.opened': 'adopting',
        'gateway.refused': [
          {
            guard: 'isBlocked',
            target: 'adopting',
            actions: { type: 'rememberFault', params: ({ event }) => event },
          },
          { target: 'refused', actions: { type: 'rememberFault', params: ({ event }) => event } },
        ],
      },
    },
    adopting: {
      description: 'Settings, routes, targets and the inspector go by the new configuration from one moment on.',
      meta: { rule: 'CFG-2' },
      tags: ['working'],
      invoke: {
        id: 'adoptHome',
        src: 'adoptHome',
        input: undefined,
        onDone: { target: 'reconciling', actions: 'rememberAdoption' },
        onError: { target: 'refused', actions: { type: 'rememberFault', params: faultOfError } },
      },
    },
    reconciling: {
      description:
        'Added MCP servers begin to connect, removed ones are stopped, and changed ones are stopped and begun again.',
      meta: { rule: 'LIF-12' },
      tags: ['working'],
      entry: 'requestReconciling',
      on: {
        'servers.reconciled': [
          {
            guard: ({ event }) => event.fault !== null,
            target: 'inForce',
            actions: { type: 'rememberFault', params: ({ event }) => event },
          },
          { target: 'inForce' },
        ],
      },
    },
    inForce: {
      description: 'All parts of the gateway go by the configuration that was read.',
      meta: { rule: 'CFG-2' },
      tags: ['ended'],
      type: 'final',
    },
    refused: {
      description: 'The configuration that was read is not adopted; the last good one stays in force.',
      meta: { rule: 'CFG-2' },
      tags: ['ended', 'failed'],
      type: 'final',
    },
  },
  output: ({ context }) => ({ inForce: context.adopted, hasFindings: context.hasFindings, fault: context.fault }),
});

const noPlan: ListenerPlan = { listens: false, listenerChanged: false, blocked: null };
