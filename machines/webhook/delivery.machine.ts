/**
 * One message to one target: waits for its slot, records that it is about to be sent, sends, and retries if that may help. A
 * crash between the record and the answer leaves an unknown outcome, and the message is not resent blindly. `next-try.ts`
 * decides what follows.
 * @see DUR-1, DIS-2, DLV-2 and DLV-4 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect, itself, itsOutput, promisePlaceholder } from '../base/declare.ts';
import { changed } from '../base/json.ts';
import { waitMs } from '../base/timer.ts';
import { type Attempt, nextTry } from '../dispatch/next-try.ts';
import { type DeliveryRecord, type FailedAttempt, isWaitedFor, unawaited } from './record.ts';

export interface DeliveryInput {
  readonly key: string;
  readonly record: DeliveryRecord;
  /** Unix milliseconds: waits are measured from here. */
  readonly atMs: number;
}

export type DeliveryEvent =
  /** With the destination chat, if the target has chats. */
  | { readonly type: 'place.granted'; readonly atMs: number; readonly chat?: string }
  /** Its turn comes later. */
  | { readonly type: 'place.awaited' }
  /** A direct delivery gets no turn while its sender waits. */
  | { readonly type: 'place.missed'; readonly reason: string }
  /** The sender of the event has hung up before its answer. */
  | { readonly type: 'sender.left' }
  /** A person retries it now, or drops it. */
  | { readonly type: 'delivery.retry' }
  | { readonly type: 'delivery.drop'; readonly note?: string }
  /** The target delivered the message within the gateway. */
  | { readonly type: 'text.delivered'; readonly attempt: Attempt }
  | { readonly type: 'journal.written' }
  /** The outcome is on disk, and this delivery waits only there because too many already wait in memory. */
  | { readonly type: 'delivery.shelved' }
  | { readonly type: 'journal.refused'; readonly reason: string }
  /** Another gateway has adopted the work. */
  | { readonly type: 'work.lost' };

type Begin = Pick<Extract<DeliveryEvent, { type: 'place.granted' }>, 'atMs' | 'chat'>;

const retryJournalMs = 1_000;
/** The most attempts that a record lists; by default a delivery has 15. */
const maxFailed = 20;

export const deliveryMachine = setup({
  types: {
    input: {} as DeliveryInput,
    context: {} as DeliveryInput,
    events: {} as DeliveryEvent,
    output: {} as DeliveryRecord,
  },
  actors: { sendText: promisePlaceholder<Attempt, DeliveryRecord>('sendText') },
  actions: {
    awaitPlace: effect('awaitPlace'),
    leavePlace: effect('leavePlace'),
    writeDelivery: effect('writeDelivery'),
    writeOnTheWay: effect('writeOnTheWay'),
    reportResult: effect('reportResult'),
    begin: assign(({ context }, place: Begin) => ({ record: begun(context.record, place) })),
    rememberResult: assign(({ context }, attempt: Attempt) => ({
      record: afterAttempt(context.record, attempt),
      atMs: attempt.endedAtMs,
    })),
    rememberCrash: assign(({ context }) => ({
      record: { ...context.record, status: 'unknown' as const, reason: 'the sending effect crashed' },
    })),
    rememberMiss: assign(({ context }, { reason }: { reason: string }) => ({
      record: { ...untried(context.record), status: 'failed' as const, reason },
    })),
    goOnAlone: assign(({ context }) => ({ record: unawaited(context.record) })),
    rememberNoTurn: assign(({ context }) => ({ record: { ...untried(context.record), status: 'queued' as const } })),
    rememberDrop: assign(({ context }, { note }: { note?: string }) => ({
      record: { ...untried(context.record), status: 'dropped' as const, ...(note === undefined ? {} : { note }) },
    })),
  },
  guards: {
    isWaitedFor: ({ context }) => isWaitedFor(context.record),
    isWaiting: ({ context }) => context.record.status === 'waitingToRetry',
    isOpen: ({ context }) => context.record.status === 'queued' || context.record.status === 'sending',
    isMarked: ({ context }) => context.record.status === 'sending',
    isDelivered: ({ context }) => context.record.status === 'delivered',
    isUnknown: ({ context }) => context.record.status === 'unknown',
    isDeadLettered: ({ context }) => context.record.status === 'deadLettered',
    isDropped: ({ context }) => context.record.status === 'dropped',
  },
  delays: {
    retryJournal: retryJournalMs,
    retryDelay: ({ context: { record, atMs } }) =>
      waitMs({ dueAtMs: record.dueAtMs ?? 0, sinceMs: record.startedAtMs ?? record.queuedAtMs, nowMs: atMs }),
  },
}).createMachine({
  id: 'delivery',
  context: ({ input }) => input,
  initial: 'resuming',
  output: ({ context }) => context.record,
  // On disk at once: after a crash, an unknown outcome releases the id of a sender that counts as waiting, and of no other.
  on: { 'sender.left': { guard: 'isWaitedFor', actions: ['goOnAlone', 'writeOnTheWay'] } },
  states: {
    resuming: {
      description: 'Chooses where to begin: one that was tried before waits for its time.',
      meta: { rule: 'DUR-1' },
      tags: ['working', 'underWay'],
      always: [
        { guard: 'isWaiting', target: 'waitingToRetry' },
        { guard: 'isOpen', target: 'queued' },
        { target: 'recording' },
      ],
    },
    queued: {
      description: 'Waits for its turn among the deliveries to the platform; one already marked on disk is then sent.',
      meta: { rule: 'DLV-4' },
      tags: ['resting'],
      entry: 'awaitPlace',
      on: {
        'place.granted': [
          { guard: 'isMarked', target: 'sending' },
          { target: 'marking', actions: { type: 'begin', params: itself } },
        ],
        'place.missed': {
          guard: 'isWaitedFor',
          target: 'recording',
          actions: ['leavePlace', { type: 'rememberMiss', params: itself }],
        },
        // A direct one is marked before it asks; a crash would leave one that waits as one that may have arrived.
        'place.awaited': { guard: 'isMarked', actions: ['rememberNoTurn', 'writeOnTheWay'] },
        'work.lost': { target: 'lost', actions: 'leavePlace' },
        'delivery.drop': {
          target: 'recording',
          actions: ['leavePlace', { type: 'rememberDrop', params: itself }],
        },
      },
    },
    marking: {
      description:
        'Writes to disk that sending begins, before it does. A text that stays within the gateway is delivered at once.',
      meta: { rule: 'DUR-1' },
      tags: ['working', 'underWay'],
      entry: 'writeDelivery',
      on: {
        'text.delivered': {
          target: 'recording',
          actions: ['leavePlace', { type: 'rememberResult', params: ({ event }) => event.attempt }],
        },
        'journal.written': 'sending',
        // Its mark is being written, and a second write of it could come after that of the outcome.
        'sender.left': { actions: 'goOnAlone' },
        'journal.refused': 'postponed',
        'work.lost': { target: 'lost', actions: 'leavePlace' },
      },
    },
    postponed: {
      description: 'The journal cannot write; nothing is sent until it can.',
      meta: { rule: 'DUR-1' },
      tags: ['resting', 'retrying'],
      after: { retryJournal: { target: 'marking' } },
    },
    sending: {
      description: 'The target has the text; its answer is awaited.',
      meta: { rule: 'DIS-2' },
      tags: ['working', 'underWay'],
      invoke: {
        id: 'sendText',
        src: 'sendText',
        input: ({ context }) => context.record,
        onDone: { target: 'recording', actions: { type: 'rememberResult', params: itsOutput } },
        onError: { target: 'recording', actions: 'rememberCrash' },
      },
      exit: 'leavePlace',
    },
    recording: {
      description: 'Writes the outcome down, and when it is tried again; it is not reported before it is on disk.',
      meta: { rule: 'DUR-2' },
      tags: ['working', 'underWay'],
      entry: 'writeDelivery',
      on: {
        'journal.written': [
          { guard: 'isDelivered', target: 'delivered' },
          { guard: 'isWaiting', target: 'waitingToRetry' },
          { guard: 'isUnknown', target: 'unknown' },
          { guard: 'isDeadLettered', target: 'deadLettered' },
          { guard: 'isDropped', target: 'dropped' },
          { target: 'failed' },
        ],
        'delivery.shelved': 'shelved',
        'journal.refused': 'unrecorded',
        'work.lost': 'lost',
      },
    },
    unrecorded: {
      description:
        'The outcome is known and the waiting sender gets it, but the journal cannot write; it is offered again.',
      meta: { rule: 'DUR-2' },
      tags: ['resting', 'retrying', 'underWay'],
      entry: 'reportResult',
      after: { retryJournal: { target: 'recording' } },
    },
    waitingToRetry: {
      description: 'Not delivered, and tried again after a wait: a growing one, or the one that the platform asks for.',
      meta: { rule: 'DLV-4' },
      tags: ['resting', 'retrying'],
      entry: 'reportResult',
      after: { retryDelay: { target: 'queued' } },
      on: {
        'delivery.retry': 'queued',
        'work.lost': 'lost',
        'delivery.drop': {
          target: 'recording',
          actions: { type: 'rememberDrop', params: itself },
        },
      },
    },
    shelved: {
      description: 'Waits for its next try on disk only, because many wait in memory; taken up when it is due.',
      meta: { rule: 'DLV-4' },
      tags: ['ended'],
      type: 'final',
      entry: 'reportResult',
    },
    delivered: {
      description: 'The target took the text.',
      meta: { rule: 'DIS-2' },
      tags: ['ended'],
      type: 'final',
    },
    deadLettered: {
      description: 'The platform will not take it, or tries and time are over; `agent deliveries retry` puts it back.',
      meta: { rule: 'DLV-4' },
      tags: ['ended', 'failed'],
      type: 'final',
    },
    failed: {
      description: 'A direct delivery that did not succeed in its time; its sender got that answer.',
      meta: { rule: 'DIS-2' },
      tags: ['ended', 'failed'],
      type: 'final',
    },
    unknown: {
      description: 'Whether the target took the text is not known; it is not sent again blindly.',
      meta: { rule: 'DUR-1' },
      tags: ['ended', 'failed'],
      type: 'final',
    },
    dropped: {
      description: 'A person has dropped it.',
      meta: { rule: 'DLV-4' },
      tags: ['ended'],
      type: 'final',
    },
    lost: {
      description: 'Another gateway has adopted the work; this one releases it.',
      meta: { rule: 'DUR-1' },
      tags: ['ended'],
      type: 'final',
    },
  },
});

/** Most records have no due time, and leaving out a member costs more than copying all of them. */
function undated(record: DeliveryRecord): DeliveryRecord {
  if (record.dueAtMs === undefined) return record;
  const { dueAtMs: _, ...rest } = record;
  return rest;
}

/** A record that ends before its next attempt, without the attempt that a direct delivery is marked with in advance. */
function untried(record: DeliveryRecord): DeliveryRecord {
  const { attempts, status } = record;
  return { ...undated(record), attempts: status === 'sending' ? (attempts ?? 1) - 1 : (attempts ?? 0) };
}

/** The chat is on disk before anything is sent: after a crash the message must not also be sent to another home channel. */
function begun(record: DeliveryRecord, { atMs, chat }: Begin): DeliveryRecord {
  const attempts = (record.attempts ?? 0) + 1;
  const place = chat === undefined ? {} : { chat };
  return changed(undated(record), { ...place, status: 'sending', attempts, startedAtMs: atMs });
}

function afterAttempt(record: DeliveryRecord, attempt: Attempt): DeliveryRecord {
  const before = undoubted(record);
  const known = attempt.chat === undefined ? before : changed(before, { chat: attempt.chat });
  const { sinceMs, failures = 0, unsureSinceMs, sent, answerByMs } = record;
  const next = nextTry(
    {
      sinceMs: sinceMs ?? record.queuedAtMs,
      failures,
      ...(unsureSinceMs === undefined ? {} : { unsureSinceMs }),
      ...(sent === undefined ? {} : { sent }),
      ...(answerByMs === undefined ? {} : { answerByMs }),
    },
    attempt,
  );
  if (next.kind === 'delivered') {
    const { kind: status, messageId, reason } = next;
    return changed(known, {
      status,
      ...(messageId === undefined ? {} : { messageId }),
      ...(reason === undefined ? {} : { reason }),
    });
  }
  const { kind, ...standing } = next;
  const failed = withFailed(record.failed, attempt);
  switch (kind) {
    case 'retry':
      return {
        ...known,
        ...standing,
        failed,
        status: 'waitingToRetry',
        failedSinceMs: record.failedSinceMs ?? attempt.endedAtMs,
      };
    case 'gaveUp':
      return { ...known, ...standing, failed, status: isWaitedFor(record) ? 'failed' : 'deadLettered' };
    case 'unsure':
      return { ...known, ...standing, failed, status: 'unknown' };
  }
}

/** The record without the doubts of an earlier attempt. */
function undoubted(record: DeliveryRecord): DeliveryRecord {
  if (record.reason === undefined && record.unsureSinceMs === undefined) return record;
  const { reason: _, unsureSinceMs: __, ...rest } = record;
  return rest;
}

function withFailed(failed: readonly FailedAttempt[] = [], { outcome, startedAtMs, endedAtMs }: Attempt) {
  if (outcome.kind === 'delivered') return failed;
  const { kind, reason } = outcome;
  return [...failed, { startedAtMs, endedAtMs, kind, reason }].slice(-maxFailed);
}
