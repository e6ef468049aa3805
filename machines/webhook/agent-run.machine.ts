/**
 * One run of the agent: waits for a slot, records its start, runs, stores the response, delivers it, closes. Every step that
 * a crash must not repeat is on disk before it is taken.
 * @see DIS-3, DIS-4 and DUR-1 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import type { Spending } from '../agent/spending.ts';
import { effect, itself, itsOutput, promisePlaceholder } from '../base/declare.ts';
import { changed } from '../base/json.ts';
import type { RunOutcome, RunRecord } from './record.ts';

export interface RunInput {
  readonly key: string;
  readonly record: RunRecord;
}

export interface RunContext extends RunInput {
  readonly cancelledBy: string | null;
  /** Whether the outcome has changed since it was sent to the journal. */
  readonly hasNews: boolean;
  /** How often system resources were missing at its start. */
  readonly unbegun: number;
}

export type RunResult = RunOutcome & {
  /** What it used, if the runner reports that. */
  readonly spending?: Spending;
};

export type RunEvent =
  | { readonly type: 'place.granted'; readonly atMs: number }
  /** `isLeft`: the run has closed, and the gateway that sends delivers its response. */
  | { readonly type: 'journal.written'; readonly isLeft?: true }
  | { readonly type: 'journal.refused'; readonly reason: string }
  /** The response depends only on the prompt, so no attempt is recorded. */
  | { readonly type: 'run.answered'; readonly response: string }
  /** A person ends it without a response. */
  | { readonly type: 'run.cancel'; readonly by: string }
  /** Another gateway has adopted the work, or it was left to the others. */
  | { readonly type: 'work.lost' }
  | {
      readonly type: 'delivery.settled';
      /** `delivering` if the delivery continues separately and is retried. */
      readonly status: 'delivered' | 'failed' | 'unknown' | 'delivering';
      readonly reason?: string;
    };

type Settled = Pick<Extract<RunEvent, { type: 'delivery.settled' }>, 'status' | 'reason'>;

const retryJournalMs = 1_000;
/** Pauses grow from the first to the longest: about half an hour in total. */
const firstPauseMs = 1_000;
const maxPauseMs = 60_000;
const maxUnbegun = 35;
/** A process group that ignores SIGTERM is killed well before this. */
const stopPatienceMs = 15_000;

const noteCancel = { type: 'noteCancel', params: itself<{ by: string }> } as const;
const endCancelled = { type: 'rememberCancel', params: {} } as const;
/** The agent does not have the prompt: a cancel ends the run at once. */
const whileItWaits = {
  'work.lost': 'lost',
  'run.cancel': { target: 'recording', actions: [noteCancel, endCancelled] },
} as const;
/** A cancel counts once the journal has answered. */
const whileItIsWritten = { 'work.lost': 'lost', 'run.cancel': { actions: noteCancel } } as const;
const afterSetBack = [
  { guard: 'isToBeCancelled', target: 'recording', actions: endCancelled },
  { target: 'unbegun' },
] as const;
const rememberDelivery = { type: 'rememberDelivery', params: itself<Settled> } as const;
const news = { guard: { type: 'isNews', params: itself<Settled> }, actions: rememberDelivery } as const;

export const agentRunMachine = setup({
  types: { input: {} as RunInput, context: {} as RunContext, events: {} as RunEvent, output: {} as RunRecord },
  actors: {
    runAgent: promisePlaceholder<RunResult, RunContext>('runAgent'),
    /** Resolves with the runner's result after it was stopped. */
    awaitStopped: promisePlaceholder<RunResult, RunContext>('awaitStopped'),
  },
  actions: {
    awaitPlace: effect('awaitPlace'),
    leavePlace: effect('leavePlace'),
    writeRun: effect('writeRun'),
    openDelivery: effect('openDelivery'),
    closeRun: effect('closeRun'),
    openNotice: effect('openNotice'),
    openResponses: effect('openResponses'),
    begin: assign(({ context }, { atMs }: { atMs: number }) => ({ record: begun(context.record, atMs) })),
    withdraw: assign(({ context }) => ({ record: waitingAgain(context.record) })),
    setBack: assign(({ context }, { reason }: { reason: string }) => ({
      record: { ...waitingAgain(context.record), reason },
      unbegun: context.unbegun + 1,
    })),
    rememberResult: assign(({ context }, result: RunResult) => ({ record: withResult(context.record, result) })),
    noteCancel: assign((_, { by }: { by: string }) => ({ cancelledBy: by })),
    rememberCancel: assign(({ context }, { spending }: { spending?: Spending }) => ({
      record: {
        ...context.record,
        ...spending,
        status: 'cancelled' as const,
        reason: `cancelled by ${context.cancelledBy ?? 'nobody'}`,
      },
    })),
    rememberDelivery: assign(({ context }, settled: Settled) => ({
      record: withSettled(context.record, settled),
      hasNews: true,
    })),
    offer: assign({ hasNews: false }),
    /** Its end is not on disk: the gateway that has it reports how it ends. */
    leaveOpen: assign(({ context: { record } }) => ({ record: record.status === 'queued' ? record : left(record) })),
  },
  guards: {
    isQueued: ({ context }) => context.record.status === 'queued',
    isDelivering: ({ context }) => context.record.status === 'delivering',
    isDelivered: ({ context }) => context.record.status === 'delivered',
    isLeft: (_, { isLeft }: { isLeft?: true }) => isLeft === true,
    /** The delivery that was to continue separately has ended before that was on disk. */
    isNews: ({ context }, { status }: Settled) => context.record.status === 'delivering' && status !== 'delivering',
    hasNews: ({ context }) => context.hasNews,
    mayBeginLater: ({ context }, { kind }: RunResult) => kind === 'notBegun' && context.unbegun < maxUnbegun,
    isToBeCancelled: ({ context }) => context.cancelledBy !== null,
    isCancelled: ({ context }) => context.record.status === 'cancelled',
  },
  delays: {
    retryJournal: retryJournalMs,
    stopPatience: stopPatienceMs,
    pause: ({ context }) => Math.min(maxPauseMs, firstPauseMs * 2 ** (context.unbegun - 1)),
  },
}).createMachine({
  id: 'agentRun',
  context: ({ input: { key, record } }) => ({ key, record, cancelledBy: null, hasNews: false, unbegun: 0 }),
  initial: 'resuming',
  output: ({ context }) => context.record,
  states: {
    resuming: {
      description: 'Chooses where to begin: a new run waits for a slot, one whose response is known delivers it.',
      meta: { rule: 'DUR-1' },
      tags: ['working'],
      always: [
        { guard: 'isQueued', target: 'queued' },
        { guard: 'isDelivering', target: 'delivering' },
        { target: 'closing' },
      ],
    },
    queued: {
      description:
        'Waits for a slot among the runs at the same time, of its route and of all. A run that kept its slot begins at once, except during a drain.',
      meta: { rule: 'DIS-3' },
      tags: ['resting'],
      entry: 'awaitPlace',
      on: {
        'place.granted': { target: 'starting', actions: { type: 'begin', params: itself } },
        ...whileItWaits,
      },
    },
    starting: {
      description:
        'Writes to disk which attempt begins, before the agent sees the prompt. Where no program or model is asked, nothing is written before the response.',
      meta: { rule: 'DUR-1' },
      tags: ['working', 'underWay', 'holdsSlot'],
      entry: 'writeRun',
      on: {
        'run.answered': {
          target: 'recording',
          actions: {
            type: 'rememberResult',
            params: ({ event: { response } }) => ({ kind: 'responded' as const, response }),
          },
        },
        'journal.written': [
          { guard: 'isToBeCancelled', target: 'recording', actions: ['withdraw', endCancelled] },
          { target: 'running' },
        ],
        'journal.refused': [
          { guard: 'isToBeCancelled', target: 'recording', actions: ['withdraw', endCancelled] },
          { target: 'postponed', actions: 'withdraw' },
        ],
        ...whileItIsWritten,
      },
    },
    postponed: {
      description: 'The journal cannot write; the run keeps its slot and begins when it can.',
      meta: { rule: 'DUR-1' },
      tags: ['resting', 'retrying', 'holdsSlot'],
      after: { retryJournal: { target: 'queued' } },
      on: whileItWaits,
    },
    running: {
      description: 'The agent has the prompt.',
      meta: { rule: 'DIS-3' },
      tags: ['working', 'underWay', 'holdsSlot'],
      invoke: {
        id: 'runAgent',
        src: 'runAgent',
        input: ({ context }) => context,
        onDone: [
          {
            guard: { type: 'mayBeginLater', params: itsOutput },
            target: 'settingBack',
            actions: { type: 'setBack', params: ({ event }) => event.output as { reason: string } },
          },
          { target: 'recording', actions: { type: 'rememberResult', params: itsOutput } },
        ],
        onError: {
          target: 'recording',
          actions: { type: 'rememberResult', params: { kind: 'failed', reason: 'the runner crashed' } },
        },
      },
      on: {
        'run.cancel': { target: 'cancelling', actions: noteCancel },
        'work.lost': 'stopping',
      },
    },
    stopping: {
      description: 'Another gateway has adopted the run: the agent here is stopped, and nothing is written.',
      meta: { rule: 'SCA-2' },
      tags: ['working', 'underWay', 'holdsSlot'],
      invoke: {
        id: 'awaitStopped',
        src: 'awaitStopped',
        input: ({ context }) => context,
        onDone: 'lost',
        onError: 'lost',
      },
      after: { stopPatience: 'lost' },
    },
    settingBack: {
      description: 'The agent could not be started yet: writes down that it waits again.',
      meta: { rule: 'LIM-5' },
      tags: ['working', 'underWay', 'holdsSlot'],
      entry: 'writeRun',
      on: {
        'journal.written': afterSetBack,
        'journal.refused': afterSetBack,
        ...whileItIsWritten,
      },
    },
    unbegun: {
      description: 'Keeps its slot and asks to begin after a pause, which grows each time.',
      meta: { rule: 'LIM-5' },
      tags: ['resting', 'retrying', 'holdsSlot'],
      after: { pause: { target: 'queued' } },
      on: whileItWaits,
    },
    cancelling: {
      description: 'The agent is being stopped; what it began ends before the slot is free again.',
      meta: { rule: 'DIS-3' },
      tags: ['working', 'underWay', 'holdsSlot'],
      invoke: {
        id: 'awaitStopped',
        src: 'awaitStopped',
        input: ({ context }) => context,
        onDone: { target: 'recording', actions: { type: 'rememberCancel', params: itsOutput } },
        onError: { target: 'recording', actions: endCancelled },
      },
      after: { stopPatience: { target: 'recording', actions: endCancelled } },
    },
    recording: {
      description: 'Writes the response down together with the delivery it asks for.',
      meta: { rule: 'DUR-1' },
      tags: ['working', 'underWay'],
      entry: ['leavePlace', 'writeRun'],
      on: {
        'journal.written': [
          { guard: { type: 'isLeft', params: itself }, target: 'handedOver' },
          { guard: 'isDelivering', target: 'delivering' },
          { guard: 'isCancelled', target: 'cancelled' },
          { target: 'failed' },
        ],
        'journal.refused': 'unrecorded',
        'work.lost': 'lost',
      },
    },
    unrecorded: {
      description: 'The response is known but the journal cannot write; it is offered again.',
      meta: { rule: 'DUR-1' },
      // In memory alone: a drain that left it would have the agent run again.
      tags: ['resting', 'retrying', 'underWay'],
      after: { retryJournal: { target: 'recording' } },
    },
    delivering: {
      description: 'The response is on its way, an empty one or SKIP too.',
      meta: { rule: 'DIS-4' },
      tags: ['working'],
      entry: 'openDelivery',
      on: {
        'delivery.settled': { target: 'closing', actions: rememberDelivery },
      },
    },
    closing: {
      description: 'Writes the outcome of the run down.',
      meta: { rule: 'DUR-2' },
      tags: ['working', 'underWay'],
      entry: ['offer', 'closeRun'],
      on: {
        'journal.written': [
          // Only the outcome sent to the journal was written; later changes need another write.
          { guard: 'hasNews', target: 'closing', reenter: true },
          { guard: 'isDelivered', target: 'delivered' },
          { guard: 'isDelivering', target: 'handedOver' },
          { target: 'failed' },
        ],
        'journal.refused': 'unclosed',
        'work.lost': 'lost',
        'delivery.settled': news,
      },
    },
    unclosed: {
      description: 'The outcome is known but the journal cannot write; it is offered again.',
      meta: { rule: 'DUR-2' },
      tags: ['resting', 'retrying'],
      after: { retryJournal: { target: 'closing' } },
      on: { 'delivery.settled': news },
    },
    delivered: {
      description: 'The run responded and its response was delivered.',
      meta: { rule: 'DIS-3' },
      tags: ['ended'],
      type: 'final',
    },
    handedOver: {
      description:
        'The run responded; its response waits for another try, has several deliveries, or is left to another gateway.',
      meta: { rule: 'DLV-4' },
      tags: ['ended'],
      type: 'final',
      entry: 'openResponses',
    },
    failed: {
      description: 'The run failed, was interrupted for good, or its response could not be delivered.',
      meta: { rule: 'DIS-4' },
      tags: ['ended', 'failed'],
      type: 'final',
      // Written with the end of a failed run if its route or job has `on_failure`.
      entry: 'openNotice',
    },
    cancelled: {
      description: 'A person ended the run; nothing is delivered.',
      meta: { rule: 'DIS-3' },
      tags: ['ended'],
      type: 'final',
    },
    lost: {
      description: 'Another gateway has adopted the work, or may adopt it; this one releases it.',
      meta: { rule: 'DUR-1' },
      tags: ['ended'],
      type: 'final',
      entry: ['leavePlace', 'leaveOpen'],
    },
  },
});

/** The reason of an earlier failed attempt does not apply to a delivered response. */
function withSettled(record: RunRecord, { status, reason }: Settled): RunRecord {
  return reason === undefined ? changed(reasonless(record), { status }) : changed(record, { status, reason });
}

/** Most records have no reason, and leaving out a member costs more than copying all of them. */
function reasonless(record: RunRecord): RunRecord {
  if (record.reason === undefined) return record;
  const { reason: _, ...rest } = record;
  return rest;
}

function left(record: RunRecord): RunRecord {
  return changed(reasonless(record), { status: 'running' });
}

/** The reason of an earlier failed start does not apply to a new attempt. */
function begun(run: RunRecord, atMs: number): RunRecord {
  return changed(reasonless(run), { startedAtMs: atMs, status: 'running', attempt: run.attempt + 1 });
}

/** The agent never had the prompt: the attempt does not count, and the time until the next one is not running time. */
function waitingAgain({ startedAtMs: _, ...record }: RunRecord): RunRecord {
  return { ...record, status: 'queued', attempt: record.attempt - 1 };
}

function withResult(record: RunRecord, { spending, ...result }: RunResult): RunRecord {
  switch (result.kind) {
    case 'responded':
      return changed(record, { ...spending, status: 'delivering', response: result.response });
    case 'failed':
      return { ...record, ...spending, status: 'failed', reason: result.reason };
    case 'notBegun':
      return { ...waitingAgain(record), ...spending, status: 'failed', reason: result.reason };
  }
}
