/**
 * One entity's batches: the events of a route with the same coalescing key. Waits for quiet or the cap, then opens one run
 * for the newest event; during that run the next batch collects events and waits. The context has only numbers and keys:
 * events are in the journal, and each event brings the time.
 * @see COA-1, COA-3 and DUR-1 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import type { LaidOut } from '../base/compile.ts';
import { effect, itself } from '../base/declare.ts';
import { waitMs } from '../base/timer.ts';
import type { Batch } from './coalesce.ts';

export interface GroupInput {
  /** The journal's key of the group: profile, route and rendered coalescing key. */
  readonly key: string;
  readonly profile: string;
  readonly route: string;
  /** The batch being collected; absent if only a current run was found at start. */
  readonly burst?: Batch;
  /** The key of the current run, if one was found at start. */
  readonly inFlight?: string;
  /** When the last event came, in Unix milliseconds: waits are measured from here. */
  readonly atMs: number;
}

interface GroupContext extends Omit<GroupInput, 'burst' | 'inFlight'> {
  /** The batch being collected; null if there is none. */
  readonly burst: Batch | null;
  readonly opening: Batch | null;
  /** The current run; null if there is none. */
  readonly inFlight: string | null;
}

export type GroupEvent =
  | { readonly type: 'event.joined'; readonly burst: Batch; readonly atMs: number }
  | { readonly type: 'run.opened'; readonly run: string; readonly atMs: number }
  | { readonly type: 'run.refused'; readonly atMs: number }
  /** Another gateway has opened the batch's run. */
  | { readonly type: 'batch.gone'; readonly atMs: number }
  | { readonly type: 'run.finished'; readonly run: string; readonly atMs: number }
  | { readonly type: 'group.drain'; readonly atMs: number }
  /** A person has cancelled the batch, by its id. */
  | { readonly type: 'batch.cancelled'; readonly batch: string }
  /** The batch is left to other gateways. */
  | { readonly type: 'batch.left' };

/** Delay before a batch that the journal refused is offered again: a full disk takes a person to clear. */
const reopenDelayMs = 1_000;

const gather = { type: 'gather', params: itself<{ burst: Batch; atMs: number }> } as const;
const isOwnRun = { type: 'isOwnRun', params: itself<{ run: string }> } as const;
const forgetRun = { type: 'forgetRun', params: itself<{ atMs: number }> } as const;
const stampTime = { type: 'stampTime', params: itself<{ atMs: number }> } as const;
const ownRunEnds = { guard: isOwnRun, actions: forgetRun } as const;
const isOwnBatch = { type: 'isOwnBatch', params: itself<{ batch: string }> } as const;
const cancelled = { guard: isOwnBatch, target: 'resuming', actions: 'dropBatch' } as const;
const drain = { target: 'opening', actions: [stampTime, 'settle'] } as const;
/** While a run is opened: when the listener moves, the run before it may still be in progress. */
const meanwhile = { 'event.joined': { actions: gather }, 'run.finished': ownRunEnds } as const;

export const coalescingGroupMachine = setup({
  types: { input: {} as GroupInput, context: {} as GroupContext, events: {} as GroupEvent },
  actions: {
    openRun: effect('openRun'),
    gather: assign((_, params: { burst: Batch; atMs: number }) => ({ burst: params.burst, atMs: params.atMs })),
    dropBatch: assign({ burst: null }),
    settle: assign(({ context }) => ({ opening: context.burst, burst: null })),
    rememberRun: assign(({ context }, params: { run: string; atMs: number }) => ({
      inFlight: params.run,
      opening: null,
      atMs: later(context, params),
    })),
    forgetRun: assign(({ context }, params: { atMs: number }) => ({ inFlight: null, atMs: later(context, params) })),
    forgetOpening: assign(({ context }, params: { atMs: number }) => ({
      opening: null,
      atMs: later(context, params),
    })),
    stampTime: assign(({ context }, params: { atMs: number }) => ({ atMs: later(context, params) })),
  },
  guards: {
    hasBatch: ({ context }) => context.burst !== null,
    runInFlight: ({ context }) => context.inFlight !== null,
    isOwnBatch: ({ context }, params: { batch: string }) => context.burst?.id === params.batch,
    isOwnRun: ({ context }, params: { run: string }) => context.inFlight === params.run,
  },
  delays: {
    untilSettled: ({ context: { burst, atMs } }) =>
      burst === null ? 0 : waitMs({ dueAtMs: burst.dueAtMs, sinceMs: burst.firstAtMs, nowMs: atMs }),
    reopenDelay: reopenDelayMs,
  },
}).createMachine({
  id: 'coalescingGroup',
  context: ({ input: { key, profile, route, burst = null, inFlight = null, atMs } }) =>
    groupContext({ key, profile, route, burst, opening: null, inFlight, atMs }),
  initial: 'resuming',
  states: {
    resuming: {
      description: 'Chooses the state of the group by its input: a batch, a run in progress, or both.',
      meta: { rule: 'DUR-1' },
      tags: ['working'],
      always: [
        { guard: 'hasBatch', target: 'pending' },
        { guard: 'runInFlight', target: 'dispatched' },
        { target: 'closed' },
      ],
    },
    pending: {
      description: 'A batch gathers: the newest event replaces the pending one and the quiet window restarts.',
      meta: { rule: 'COA-1' },
      tags: ['resting', 'underWay'],
      on: {
        'batch.left': 'closed',
        'batch.cancelled': cancelled,
        'event.joined': { target: 'pending', reenter: true, actions: gather },
        'run.finished': { ...ownRunEnds, target: 'pending', reenter: true },
        'group.drain': drain,
      },
      after: {
        untilSettled: [
          { guard: 'runInFlight', target: 'settled' },
          { target: 'opening', actions: 'settle' },
        ],
      },
    },
    settled: {
      description: 'The batch is complete but the run before it is still in progress: at most one runs at a time.',
      meta: { rule: 'COA-3' },
      tags: ['resting', 'underWay'],
      on: {
        'batch.left': 'closed',
        'batch.cancelled': cancelled,
        'event.joined': { target: 'pending', actions: gather },
        'run.finished': { guard: isOwnRun, target: 'opening', actions: [forgetRun, 'settle'] },
        'group.drain': drain,
      },
    },
    opening: {
      description: "The group's record becomes a run in one commit; what arrives meanwhile begins the next batch.",
      meta: { rule: 'COA-1' },
      tags: ['working', 'underWay'],
      entry: 'openRun',
      on: {
        ...meanwhile,
        'run.opened': {
          target: 'resuming',
          actions: { type: 'rememberRun', params: itself },
        },
        'batch.gone': { target: 'resuming', actions: { type: 'forgetOpening', params: itself } },
        'run.refused': { target: 'refused', actions: stampTime },
      },
    },
    refused: {
      description: 'The journal could not write the run; the batch stays on disk and is offered again.',
      meta: { rule: 'DUR-1' },
      tags: ['resting', 'retrying'],
      on: meanwhile,
      after: { reopenDelay: { target: 'opening' } },
    },
    dispatched: {
      description: 'The run of the last batch is in progress and no other batch gathers.',
      meta: { rule: 'COA-3' },
      tags: ['resting'],
      on: {
        'event.joined': { target: 'pending', actions: gather },
        'run.finished': { guard: isOwnRun, target: 'closed' },
      },
    },
    closed: {
      description: 'Nothing gathers and nothing runs: the group is over.',
      meta: { rule: 'COA-1' },
      tags: ['ended'],
      type: 'final',
    },
  },
});

/** A clock that is set back during a batch must not lengthen the quiet window. */
function later(context: GroupContext, { atMs }: { readonly atMs: number }): number {
  return Math.max(context.atMs, atMs);
}

/** Copies a context field by field, the engine's fastest way. */
export function groupContext({
  key,
  profile,
  route,
  burst,
  opening,
  inFlight,
  atMs,
}: GroupContext): LaidOut<GroupContext> {
  return { key, profile, route, burst, opening, inFlight, atMs };
}
