/**
 * The health of the journal: opens it, keeps its session alive, removes old history, and retries every two seconds while it
 * cannot write. While it is unavailable nothing is acknowledged, and nothing ends because of it.
 * @see DUR-1 in docs/specification.md
 */

import { assign, sendParent, setup } from 'xstate';
import { effect, promisePlaceholder } from '../base/declare.ts';
import { faultOfError } from '../base/fault.ts';

export interface JournalContext {
  /** Why the journal cannot write; null if it can. */
  readonly fault: string | null;
  /** Consecutive failed attempts. */
  readonly tries: number;
}

type JournalEvent =
  /** A commit was refused, or work could not be taken. */
  | { readonly type: 'journal.refused'; readonly fault: string }
  /** The connection to the store has ended. */
  | { readonly type: 'journal.cut' };

/** Reported to the supervisor. */
export type JournalFact =
  | { readonly type: 'journal.ready' }
  | { readonly type: 'journal.unavailable'; readonly fault: string };

/** A third of the session's lifetime: two heartbeats may be missed. */
export const heartbeatMs = 20_000;
const firstRetryMs = 500;
/** A database is back at any moment, and until then events are refused. */
const maxRetryMs = 2_000;

const whileOpen = {
  'journal.refused': {
    target: 'unavailable',
    actions: { type: 'rememberFault', params: ({ event }: { readonly event: { readonly fault: string } }) => event },
  },
  'journal.cut': 'opening',
} as const;

export const journalMachine = setup({
  types: { context: {} as JournalContext, events: {} as JournalEvent },
  actors: {
    openJournal: promisePlaceholder<undefined, undefined>('openJournal'),
    keepJournal: promisePlaceholder<undefined, undefined>('keepJournal'),
  },
  actions: {
    reportFault: effect('reportFault'),
    reportRestored: effect('reportRestored'),
    rememberFault: assign(({ context }, params: { fault: string }) => ({
      fault: params.fault,
      tries: context.tries + 1,
    })),
    forgetFault: assign({ fault: null, tries: 0 }),
    reportReady: sendParent((): JournalFact => ({ type: 'journal.ready' })),
    reportUnavailable: sendParent(
      ({ context }): JournalFact => ({
        type: 'journal.unavailable',
        fault: context.fault ?? '',
      }),
    ),
  },
  guards: { hasFailed: ({ context }) => context.fault !== null },
  delays: {
    heartbeat: heartbeatMs,
    patience: ({ context }) => Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(context.tries, 10)),
  },
}).createMachine({
  id: 'journal',
  context: { fault: null, tries: 0 },
  initial: 'opening',
  states: {
    opening: {
      description: 'Opens the store and begins a session, or finds out what prevents it.',
      meta: { rule: 'DUR-1' },
      tags: ['working'],
      invoke: {
        id: 'openJournal',
        src: 'openJournal',
        input: undefined,
        onDone: [
          { guard: 'hasFailed', target: 'ready', actions: ['reportRestored', 'forgetFault', 'reportReady'] },
          { target: 'ready', actions: ['reportReady'] },
        ],
        onError: { target: 'unavailable', actions: { type: 'rememberFault', params: faultOfError } },
      },
    },
    ready: {
      description: 'Commits reach the disk.',
      meta: { rule: 'DUR-1' },
      tags: ['resting', 'serving'],
      on: whileOpen,
      after: { heartbeat: { target: 'keeping' } },
    },
    keeping: {
      description: 'Renews the session and forgets history that is too old or too large.',
      meta: { rule: 'DUR-2' },
      tags: ['working', 'serving'],
      invoke: {
        id: 'keepJournal',
        src: 'keepJournal',
        input: undefined,
        onDone: { target: 'ready' },
        onError: { target: 'unavailable', actions: { type: 'rememberFault', params: faultOfError } },
      },
      on: whileOpen,
    },
    unavailable: {
      description: 'Nothing can be acknowledged; the store is tried again after a while.',
      meta: { rule: 'DUR-1' },
      tags: ['resting', 'failed'],
      entry: ['reportFault', 'reportUnavailable'],
      after: { patience: { target: 'opening' } },
    },
  },
});
