/**
 * One text on its way to one target. Says on disk that it is about to send before it sends, so that a crash between the
 * two is known as an unknown outcome and not sent again blindly. Knows no platform: the target is named, the effect
 * finds it.
 * @see DUR-1, DIS-2 and DLV-2 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect, promiseHole } from '../base/declare.ts';
import type { DeliveryRecord } from './record.ts';

export interface DeliveryInput {
  readonly key: string;
  readonly record: DeliveryRecord;
}

export interface DeliveryContext {
  readonly key: string;
  readonly record: DeliveryRecord;
}

/** What came of a sending; `unknown` where the request went out and no answer came. */
export type SendingResult =
  | { readonly kind: 'delivered'; readonly messageId?: string }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string };

export type DeliveryEvent =
  | { readonly type: 'journal.written' }
  | { readonly type: 'journal.refused'; readonly reason: string }
  /** Another gateway has taken the work over. */
  | { readonly type: 'work.lost' };

const retryJournalMs = 1_000;

export const deliveryMachine = setup({
  types: {
    input: {} as DeliveryInput,
    context: {} as DeliveryContext,
    events: {} as DeliveryEvent,
    output: {} as DeliveryRecord,
  },
  actors: { sendText: promiseHole<SendingResult, DeliveryRecord>('sendText') },
  actions: {
    writeDelivery: effect('writeDelivery'),
    reportResult: effect('reportResult'),
    markSending: assign(({ context }) => ({ record: { ...context.record, status: 'sending' as const } })),
    rememberResult: assign(({ context }, result: SendingResult) => ({ record: settledRecord(context.record, result) })),
  },
  guards: {
    isQueued: ({ context }) => context.record.status === 'queued',
    isSending: ({ context }) => context.record.status === 'sending',
    isDelivered: ({ context }) => context.record.status === 'delivered',
    isUnknown: ({ context }) => context.record.status === 'unknown',
  },
  delays: { retryJournal: retryJournalMs },
}).createMachine({
  id: 'delivery',
  context: ({ input }) => ({ key: input.key, record: input.record }),
  initial: 'queued',
  output: ({ context }) => context.record,
  states: {
    queued: {
      description: 'Chooses where to begin: a delivery already marked on disk is sent at once.',
      meta: { rule: 'DUR-1' },
      tags: ['working'],
      always: [
        { guard: 'isQueued', target: 'marking' },
        { guard: 'isSending', target: 'sending' },
        { target: 'recording' },
      ],
    },
    marking: {
      description: 'Says on disk that sending begins, before it does.',
      meta: { rule: 'DUR-1' },
      tags: ['working'],
      entry: ['markSending', 'writeDelivery'],
      on: { 'journal.written': 'sending', 'journal.refused': 'postponed', 'work.lost': 'lost' },
    },
    postponed: {
      description: 'The journal cannot write; nothing is sent until it can.',
      meta: { rule: 'DUR-1' },
      tags: ['resting'],
      after: { retryJournal: { target: 'marking' } },
    },
    sending: {
      description: 'The target has the text; its answer is awaited.',
      meta: { rule: 'DIS-2' },
      tags: ['working'],
      invoke: {
        id: 'sendText',
        src: 'sendText',
        input: ({ context }) => context.record,
        onDone: { target: 'recording', actions: { type: 'rememberResult', params: ({ event }) => event.output } },
        onError: {
          target: 'recording',
          actions: { type: 'rememberResult', params: { kind: 'unknown', reason: 'the sending effect crashed' } },
        },
      },
    },
    recording: {
      description: 'Writes the outcome down; it is not reported before it is on disk.',
      meta: { rule: 'DUR-2' },
      tags: ['working'],
      entry: 'writeDelivery',
      on: {
        'journal.written': [
          { guard: 'isDelivered', target: 'delivered' },
          { guard: 'isUnknown', target: 'unknown' },
          { target: 'failed' },
        ],
        'journal.refused': 'unrecorded',
        'work.lost': 'lost',
      },
    },
    unrecorded: {
      description: 'The outcome is known and whoever waits is told, but the journal cannot write; it is offered again.',
      meta: { rule: 'DUR-2' },
      tags: ['resting'],
      entry: 'reportResult',
      after: { retryJournal: { target: 'recording' } },
    },
    delivered: {
      description: 'The target took the text.',
      meta: { rule: 'DIS-2' },
      tags: ['ended'],
      type: 'final',
    },
    failed: {
      description: 'The target refused the text or was not reached; nothing was delivered.',
      meta: { rule: 'DLV-2' },
      tags: ['ended'],
      type: 'final',
    },
    unknown: {
      description: 'Whether the target took the text is not known; it is not sent again blindly.',
      meta: { rule: 'DUR-1' },
      tags: ['ended'],
      type: 'final',
    },
    lost: {
      description: 'Another gateway has taken the work over; this one lets go of it.',
      meta: { rule: 'DUR-1' },
      tags: ['ended'],
      type: 'final',
    },
  },
});

function settledRecord(record: DeliveryRecord, result: SendingResult): DeliveryRecord {
  switch (result.kind) {
    case 'delivered':
      return {
        ...record,
        status: 'delivered',
        ...(result.messageId === undefined ? {} : { messageId: result.messageId }),
      };
    case 'failed':
    case 'unknown':
      return { ...record, status: result.kind, reason: result.reason };
  }
}
