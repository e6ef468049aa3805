/**
 * Composes the result of `events.open` for one event. Pure: its records and the state of its actors are arguments.
 * @see INS-4 and DUR-2 in docs/specification.md
 */

import { cut, defined } from '../../machines/base/json.ts';
import { type Answer, sourceOf } from '../../machines/config/sources.ts';
import { readablePayload } from '../../machines/webhook/body.ts';
import { isPassing } from '../../machines/webhook/marks.ts';
import { type EventRecord, handedInWords } from '../../machines/webhook/record.ts';
import type { EventReplay, OpenedEvent } from '../control/contract/event-wire.ts';
import { openedDelivery } from './event-attempts.ts';
import { answerOf, checksOf } from './event-checks.ts';
import { spansOf } from './event-spans.ts';
import { eventVerdict } from './event-verdict.ts';
import { outcomeOf } from './request-outcomes.ts';
import type { TimelineSources } from './timeline-sources.ts';

interface OpenedSources extends TimelineSources {
  /** Arrival times of the batch's events, oldest first. */
  readonly joined: readonly number[];
  /** Newest first. */
  readonly replays: readonly EventReplay[];
  /** The reply that the route's provider gets in place of the usual one. */
  readonly answer: Answer | undefined;
}

/** Characters of a payload that are sent at first. */
const firstPayload = 65_536;

const cancellable: ReadonlySet<string> = new Set(['queued', 'running']);

/** Of any length: the payload is cut after it has been redacted. */
export function openEvent(sources: OpenedSources): OpenedEvent {
  const { key, event, run, status, questions } = sources;
  const { body, headers } = event;
  const spans = spansOf(sources, sources.joined);
  // The outcome of a delivery is on disk before that of its run, which the event shows.
  const isOpen = spans.some(({ end }) => end === undefined) || isPassing(run?.record.status);
  const [question] = questions;
  const answer = answerOf(sources, event.told?.handedIn === undefined ? sources.answer : undefined);
  return defined({
    key,
    delivery: event.deliveryId,
    route: event.route,
    profile: event.profile,
    event: event.event,
    node: event.node,
    status,
    received: event.receivedAtMs,
    ended: isOpen ? undefined : Math.max(...spans.map(({ end = 0 }) => end)),
    verdict: eventVerdict(sources),
    sender: senderWords(event),
    payload: { text: readablePayload(body, headers), bytes: Buffer.byteLength(body), whole: true },
    headers,
    prompt: event.prompt || undefined,
    response: run?.record.response,
    answer,
    spans,
    checks: checksOf(sources),
    deliveries: sources.deliveries.map(openedDelivery),
    replayOf: event.replayOf,
    edited: event.isEdited,
    dry: event.isDry,
    replays: sources.replays,
    run: run !== undefined && cancellable.has(run.record.status) ? run.key : undefined,
    question: question?.id,
  });
}

/** Given a redacted event: half a secret is not recognized. */
export function withFirstPayload(opened: OpenedEvent): OpenedEvent {
  const { payload } = opened;
  const text = cut(payload.text, firstPayload);
  return { ...opened, payload: { ...payload, text, whole: text.length === payload.text.length } };
}

function senderWords(event: EventRecord): string {
  const { scheme, replayOf, told } = event;
  if (told?.handedIn !== undefined) return `Not verified: ${handedInWords(told.handedIn)}`;
  if (replayOf !== undefined) return 'Replayed by a person; the signature was checked when the event first came';
  if (scheme === undefined) return 'Not verified';
  if (scheme === 'none') return 'Not signed: the route accepts unsigned requests';
  const signer = sourceOf(scheme)?.title ?? scheme;
  return `${signer}, signature ${outcomeOf(event) === 'badSignature' ? 'refused' : 'verified'}`;
}
