/**
 * The root of everything: starts the journal and the servers' half, then the work that the journal remembers, then the
 * front; stops in reverse. A gateway that crashes is started again inside a restart budget; one that spends it ends the
 * daemon with a clear word instead of a crash loop.
 * @see INS-1, CON-2 and DUR-1 in docs/specification.md
 */

import { assign, sendTo, setup } from 'xstate';
import { effect, logicHole, promiseHole } from './base/declare.ts';
import { causeOf } from './base/fault.ts';
import { freshBudget, type RestartBudget, spendRestart } from './base/restart.ts';
import type { ServersEvent } from './mcp/servers.machine.ts';
import type { GatewayEvent, GatewayFact } from './webhook/gateway.machine.ts';
import type { JournalFact } from './webhook/journal.machine.ts';

export interface SupervisorInput {
  /** False while the webhook adapter is switched off. */
  readonly listens: boolean;
  /** Why the adapter must not start; null where it may. */
  readonly blocked: string | null;
}

export interface SupervisorContext {
  readonly listens: boolean;
  readonly blocked: string | null;
  readonly budget: RestartBudget;
  /** How long the next restart waits. */
  readonly restartDelayMs: number;
  /** The journal could write again while something else was under way. */
  readonly recovers: boolean;
  /** Why the daemon ended, where it ended badly; null otherwise. */
  readonly fault: string | null;
}

export type SupervisorEvent =
  | { readonly type: 'daemon.stop' }
  | { readonly type: 'config.reload' }
  /** When the crash was seen and a number in [0, 1) that spreads restarts. */
  | { readonly type: 'crash.reported'; readonly fault: string; readonly atMs: number; readonly jitter: number }
  | GatewayFact
  | JournalFact;

export interface ReloadVerdict {
  readonly listens: boolean;
  /** True where the front must open, move or close. */
  readonly listenerChanged: boolean;
  /** Why the adapter must not start; null where it may. */
  readonly blocked: string | null;
}

/** A gateway that crashes more than five times in a minute has a cause that a restart does not mend. */
export const gatewayRestarts = { intensity: 5, periodMs: 60_000, baseDelayMs: 200, longestDelayMs: 5_000 } as const;

/**
 * A child that outlives its SIGKILL hangs in the kernel; nobody waits for it longer than this. Longer than a renewal of
 * tokens may take that was begun by a session's last word, 15 s for its lock and 12 s for its answer: what it brings home is
 * the only good refresh token.
 */
const closeLimitMs = 30_000;

export const supervisorMachine = setup({
  types: { input: {} as SupervisorInput, context: {} as SupervisorContext, events: {} as SupervisorEvent },
  actors: {
    journal: logicHole('journal'),
    servers: logicHole('servers'),
    gateway: logicHole('gateway'),
    resumeWork: promiseHole<undefined, undefined>('resumeWork'),
    applyConfig: promiseHole<ReloadVerdict, undefined>('applyConfig'),
  },
  actions: {
    reportCrash: effect('reportCrash'),
    reportRefusal: effect('reportRefusal'),
    reportReloaded: effect('reportReloaded'),
    openGateway: sendTo(
      'gateway',
      ({ context }): GatewayEvent => ({ type: 'gateway.open', enabled: context.listens, fault: context.blocked }),
    ),
    reopenGateway: sendTo(
      'gateway',
      (_, verdict: ReloadVerdict): GatewayEvent => ({
        type: 'gateway.reopen',
        enabled: verdict.listens,
        fault: verdict.blocked,
      }),
    ),
    reconcileServers: sendTo('servers', (): ServersEvent => ({ type: 'servers.reconcile' })),
    stopServers: sendTo('servers', (): ServersEvent => ({ type: 'servers.stop' })),
    drainGateway: sendTo('gateway', (): GatewayEvent => ({ type: 'gateway.drain' })),
    rememberListening: assign((_, params: { url: string | null }) => ({ listens: params.url !== null, blocked: null })),
    rememberFault: assign((_, params: { fault: string }) => ({ fault: params.fault })),
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
    listenerMoved: (_, verdict: ReloadVerdict) => verdict.listenerChanged,
  },
  delays: { restartDelay: ({ context }) => context.restartDelayMs, closeLimit: closeLimitMs },
}).createMachine({
  id: 'supervisor',
  context: ({ input }) => ({
    listens: input.listens,
    blocked: input.blocked,
    budget: freshBudget(gatewayRestarts),
    restartDelayMs: 0,
    recovers: false,
    fault: null,
  }),
  invoke: [
    { id: 'journal', src: 'journal', systemId: 'journal' },
    {
      id: 'servers',
      src: 'servers',
      systemId: 'servers',
      // It ends only where it was told to.
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
      description: 'The gateway lives.',
      meta: { rule: 'INS-1' },
      invoke: {
        id: 'gateway',
        src: 'gateway',
        systemId: 'gateway',
        onDone: 'closing',
        onError: 'crashed',
      },
      on: { 'journal.ready': { actions: 'noteRecovery' } },
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
          description: 'The front binds its address.',
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
          description: 'The main job.',
          meta: { rule: 'CON-2' },
          tags: ['resting'],
          always: { guard: 'mustRecover', target: 'recovering' },
          on: {
            'config.reload': 'reloading',
            'journal.ready': 'recovering',
            'daemon.stop': 'draining',
          },
        },
        recovering: {
          description: 'The journal can write again; the work it remembers is taken up.',
          meta: { rule: 'DUR-1' },
          tags: ['working'],
          entry: 'forgetRecovery',
          invoke: { id: 'resumeWork', src: 'resumeWork', input: undefined, onDone: 'running', onError: 'running' },
          on: { 'daemon.stop': 'draining' },
        },
        reloading: {
          description: 'Reads the configuration again; one with findings changes nothing.',
          meta: { rule: 'CFG-2' },
          tags: ['working'],
          invoke: {
            id: 'applyConfig',
            src: 'applyConfig',
            input: undefined,
            onDone: [
              {
                guard: { type: 'listenerMoved', params: ({ event }) => event.output },
                target: 'relistening',
                actions: { type: 'reopenGateway', params: ({ event }) => event.output },
              },
              { target: 'running', actions: ['reconcileServers', 'reportReloaded'] },
            ],
            onError: 'running',
          },
          on: { 'daemon.stop': 'draining' },
        },
        relistening: {
          description:
            'The front opens, moves or closes; the new configuration comes into force with it or not at all.',
          meta: { rule: 'CFG-2' },
          tags: ['working'],
          on: {
            'gateway.opened': {
              target: 'running',
              actions: [
                { type: 'rememberListening', params: ({ event }) => event },
                'reconcileServers',
                'reportReloaded',
              ],
            },
            'gateway.refused': { target: 'running', actions: ['reconcileServers', 'reportRefusal'] },
            'daemon.stop': 'draining',
          },
        },
        draining: {
          description: 'The gateway drains: answers what it took, flushes bursts, finishes or parks runs.',
          meta: { rule: 'CON-2' },
          tags: ['working'],
          entry: 'drainGateway',
        },
      },
    },
    crashed: {
      description: 'The gateway failed; what it left behind is ended and the restart budget is asked.',
      meta: { rule: 'INS-1' },
      tags: ['working'],
      entry: 'reportCrash',
      on: {
        'crash.reported': [
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
      tags: ['working'],
      on: { 'daemon.stop': 'closing' },
      after: { restartDelay: 'up' },
    },
    closing: {
      description: 'The front and its work are gone; sessions are closed and the children of the servers ended.',
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
      tags: ['ended'],
      type: 'final',
    },
  },
  output: ({ context }) => ({ fault: context.fault }),
});

function crashOf(event: { readonly error: unknown }): { fault: string } {
  return { fault: `the servers' half crashed: ${causeOf(event.error)}` };
}
