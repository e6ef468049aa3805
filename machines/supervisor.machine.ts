/**
 * The root: starts the journal and the servers, then the work in the journal, then the HTTP server; stops in reverse. A
 * gateway that crashes is restarted within a budget; when the budget is spent, the daemon ends with the reason instead of a
 * crash loop.
 * @see INS-1, CON-2 and DUR-1 in docs/specification.md
 */

import { assign, forwardTo, sendTo, setup } from 'xstate';
import { effect, effectOf, logicPlaceholder, promisePlaceholder } from './base/declare.ts';
import { causeOf } from './base/fault.ts';
import { crashRestarts, freshBudget, type RestartBudget, spendRestart } from './base/restart.ts';
import type { ServersEvent, ServersFact } from './mcp/servers.machine.ts';
import type { ListenerPlan, ReloadInput, ReloadOutcome, ReloadRequest } from './reload.machine.ts';
import type { GatewayEvent, GatewayFact } from './webhook/gateway.machine.ts';
import type { JournalFact } from './webhook/journal.machine.ts';

export interface SupervisorInput {
  /** False while the webhook adapter is disabled. */
  readonly listens: boolean;
  /** Why the adapter must not start; null if it may. */
  readonly blocked: string | null;
}

export interface SupervisorContext {
  readonly listens: boolean;
  readonly blocked: string | null;
  readonly budget: RestartBudget;
  /** The delay before the next restart. */
  readonly restartDelayMs: number;
  /** The journal became writable again during another step. */
  readonly recovers: boolean;
  /** A reload was requested during another step. */
  readonly reloads: boolean;
  readonly reloading: boolean;
  /** A stop was requested, so that a gateway that crashes is not started again. */
  readonly stops: boolean;
  /** Why the configuration on disk is not the one in force; null if it is. */
  readonly refusal: string | null;
  /** Why the daemon failed; null otherwise. */
  readonly fault: string | null;
}

type SupervisorEvent =
  | { readonly type: 'daemon.stop' }
  | { readonly type: 'config.reload' }
  /** When the crash was detected, and a number in [0, 1) that spreads restarts. */
  | { readonly type: 'crash.reported'; readonly fault: string; readonly atMs: number; readonly jitter: number }
  | GatewayFact
  | ServersFact
  | ReloadRequest
  | JournalFact;

/**
 * How long closing waits: a child that survives SIGKILL hangs in the kernel. Longer than a token renewal that a session's
 * last request started (15 s for its lock, 12 s for its answer), because that returns the only valid refresh token.
 */
const closeLimitMs = 30_000;

export const supervisorMachine = setup({
  types: { input: {} as SupervisorInput, context: {} as SupervisorContext, events: {} as SupervisorEvent },
  actors: {
    journal: logicPlaceholder('journal'),
    servers: logicPlaceholder('servers'),
    gateway: logicPlaceholder('gateway'),
    resumeWork: promisePlaceholder<undefined, undefined>('resumeWork'),
    reload: logicPlaceholder<ReloadOutcome, ReloadInput>('reload'),
  },
  actions: {
    reportCrash: effect('reportCrash'),
    reportReload: effectOf<ReloadOutcome>('reportReload'),
    /** Rejects the reloads that were requested but cannot begin any more. */
    refuseReloads: effect('refuseReloads'),
    openGateway: sendTo(
      'gateway',
      ({ context }): GatewayEvent => ({ type: 'gateway.open', enabled: context.listens, fault: context.blocked }),
    ),
    reopenGateway: sendTo(
      'gateway',
      (_, { plan }: { plan: ListenerPlan }): GatewayEvent => ({
        type: 'gateway.reopen',
        enabled: plan.listens,
        fault: plan.blocked,
      }),
    ),
    reconcileServers: sendTo('servers', (): ServersEvent => ({ type: 'servers.reconcile' })),
    stopServers: sendTo('servers', (): ServersEvent => ({ type: 'servers.stop' })),
    drainGateway: sendTo('gateway', (): GatewayEvent => ({ type: 'gateway.drain' })),
    rememberListening: assign((_, params: { url: string | null }) => ({ listens: params.url !== null, blocked: null })),
    rememberFault: assign((_, params: { fault: string }) => ({ fault: params.fault })),
    noteReload: assign({ reloads: true }),
    beginReload: assign({ reloads: false, reloading: true }),
    forwardToReload: forwardTo('reload'),
    rememberOutcome: assign((_, { inForce, fault }: ReloadOutcome) => ({
      reloading: false,
      refusal: inForce ? null : fault,
    })),
    noteInterruption: assign(({ context }) =>
      context.reloading ? { reloads: false, reloading: false, refusal: interrupted } : { reloads: false },
    ),
    noteStop: assign({ stops: true }),
    noteRecovery: assign({ recovers: true }),
    forgetRecovery: assign({ recovers: false }),
    spendRestart: assign(({ context }, params: { atMs: number; jitter: number }) => {
      const spent = spendRestart(context.budget, params.atMs, params.jitter);
      return spent.kind === 'restart' ? { budget: spent.budget, restartDelayMs: spent.delayMs } : {};
    }),
  },
  guards: {
    hasBudget: ({ context }, params: { atMs: number; jitter: number }) =>
      spendRestart(context.budget, params.atMs, params.jitter).kind === 'restart',
    mustRecover: ({ context }) => context.recovers,
    mustReload: ({ context }) => context.reloads,
    isStopping: ({ context }) => context.stops,
  },
  delays: { restartDelay: ({ context }) => context.restartDelayMs, closeLimit: closeLimitMs },
}).createMachine({
  id: 'supervisor',
  context: ({ input }) => ({
    listens: input.listens,
    blocked: input.blocked,
    budget: freshBudget(crashRestarts),
    restartDelayMs: 0,
    recovers: false,
    reloads: false,
    reloading: false,
    stops: false,
    refusal: null,
    fault: null,
  }),
  invoke: [
    { id: 'journal', src: 'journal', systemId: 'journal' },
    {
      id: 'servers',
      src: 'servers',
      systemId: 'servers',
      // Ends only on `servers.stop`.
      onDone: '.stopped',
      onError: { target: '.failed', actions: { type: 'rememberFault', params: ({ event }) => crashOf(event) } },
    },
  ],
  initial: 'booting',
  states: {
    booting: {
      description: 'Waits until the journal is open, or is known not to open.',
      meta: { rule: 'DUR-1' },
      tags: ['working'],
      on: { 'journal.ready': 'up', 'journal.unavailable': 'up', 'daemon.stop': 'closing' },
    },
    up: {
      description: 'The gateway runs.',
      meta: { rule: 'INS-1' },
      invoke: {
        id: 'gateway',
        src: 'gateway',
        systemId: 'gateway',
        onDone: 'closing',
        onError: 'crashed',
      },
      on: { 'journal.ready': { actions: 'noteRecovery' }, 'config.reload': { actions: 'noteReload' } },
      initial: 'resuming',
      states: {
        resuming: {
          description: 'Takes up the work that the journal remembers before anything new can come in.',
          meta: { rule: 'DUR-1' },
          tags: ['working'],
          invoke: { id: 'resumeWork', src: 'resumeWork', input: undefined, onDone: 'opening', onError: 'opening' },
          on: { 'daemon.stop': 'draining' },
        },
        opening: {
          description: 'The HTTP server binds its address.',
          meta: { rule: 'CON-2' },
          tags: ['working'],
          entry: 'openGateway',
          on: {
            'gateway.opened': 'running',
            'gateway.refused': {
              target: '#supervisor.failed',
              actions: { type: 'rememberFault', params: ({ event }) => event },
            },
            'daemon.stop': 'draining',
          },
        },
        running: {
          description: 'Normal operation: events, runs, deliveries and cron jobs are handled.',
          meta: { rule: 'CON-2' },
          tags: ['resting', 'serving'],
          always: [
            { guard: 'mustRecover', target: 'recovering' },
            { guard: 'mustReload', target: 'reloading' },
          ],
          on: {
            'config.reload': 'reloading',
            'journal.ready': 'recovering',
            'daemon.stop': 'draining',
          },
        },
        recovering: {
          description: 'The journal can write again; the work it remembers is taken up.',
          meta: { rule: 'DUR-1' },
          tags: ['working', 'retrying'],
          entry: 'forgetRecovery',
          invoke: { id: 'resumeWork', src: 'resumeWork', input: undefined, onDone: 'running', onError: 'running' },
          on: { 'daemon.stop': 'draining' },
        },
        reloading: {
          description: 'A reload is under way: what it asks of the gateway and of the servers is passed on to them.',
          meta: { rule: 'CFG-2' },
          tags: ['working', 'serving'],
          entry: 'beginReload',
          invoke: {
            id: 'reload',
            src: 'reload',
            systemId: 'reload',
            input: ({ context }) => ({ wasBlocked: context.blocked !== null }),
            onDone: {
              target: 'running',
              actions: [
                { type: 'rememberOutcome', params: ({ event }) => event.output },
                { type: 'reportReload', params: ({ event }) => event.output },
              ],
            },
            onError: {
              target: 'running',
              actions: [
                { type: 'rememberOutcome', params: ({ event }) => crashedReload(event) },
                { type: 'reportReload', params: ({ event }) => crashedReload(event) },
              ],
            },
          },
          on: {
            'listener.wanted': { actions: { type: 'reopenGateway', params: ({ event }) => event } },
            'gateway.opened': {
              actions: [{ type: 'rememberListening', params: ({ event }) => event }, 'forwardToReload'],
            },
            'gateway.refused': { actions: 'forwardToReload' },
            'servers.outdated': { actions: 'reconcileServers' },
            'servers.reconciled': { actions: 'forwardToReload' },
            'daemon.stop': 'draining',
          },
        },
        draining: {
          description:
            'The gateway drains: it answers open requests, starts the runs of waiting batches, and finishes or parks runs.',
          meta: { rule: 'CON-2' },
          tags: ['working'],
          entry: ['noteStop', 'drainGateway', 'refuseReloads'],
          // Reloads no longer start.
          on: { 'config.reload': {} },
        },
      },
    },
    crashed: {
      description: 'The gateway failed; what it left behind is ended and the restart budget is asked.',
      meta: { rule: 'INS-1' },
      tags: ['working', 'failed'],
      entry: ['noteInterruption', 'reportCrash'],
      on: {
        'crash.reported': [
          { guard: 'isStopping', target: 'closing' },
          {
            guard: { type: 'hasBudget', params: ({ event }) => event },
            target: 'restarting',
            actions: { type: 'spendRestart', params: ({ event }) => event },
          },
          { target: 'failed', actions: { type: 'rememberFault', params: ({ event }) => event } },
        ],
        'daemon.stop': 'closing',
      },
    },
    restarting: {
      description: 'Waits before the gateway is started again.',
      meta: { rule: 'INS-1' },
      tags: ['working', 'retrying'],
      on: { 'daemon.stop': 'closing' },
      after: { restartDelay: 'up' },
    },
    closing: {
      description:
        'The HTTP server is closed and its work has ended; sessions are closed and the processes of MCP servers ended.',
      meta: { rule: 'LIF-9' },
      tags: ['working'],
      entry: 'stopServers',
      after: { closeLimit: 'stopped' },
    },
    stopped: {
      description: 'Everything was stopped in order.',
      meta: { rule: 'CON-2' },
      tags: ['ended'],
      type: 'final',
    },
    failed: {
      description: 'The address cannot be bound, or the gateway crashes again and again; the reason is in the context.',
      meta: { rule: 'CON-2' },
      tags: ['ended', 'failed'],
      entry: 'refuseReloads',
      type: 'final',
    },
  },
  output: ({ context }) => ({ fault: context.fault }),
});

function crashOf(event: { readonly error: unknown }): { fault: string } {
  return { fault: `the servers' half crashed: ${causeOf(event.error)}` };
}

function crashedReload(event: { readonly error: unknown }): ReloadOutcome {
  return { inForce: false, hasFindings: false, fault: `the reload crashed: ${causeOf(event.error)}` };
}

const interrupted =
  'the gateway crashed during a reload; `agent gateway reload` applies the configuration on disk again';
