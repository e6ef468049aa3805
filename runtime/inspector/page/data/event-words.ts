/**
 * The texts of an event's row: its outcome with a mark, the line that explains it, its short id.
 * @see INS-4 in docs/specification.md
 */

import type { ChipName } from '../../../../machines/base/event-query.ts';
import { targetTitle } from '../../../../machines/config/targets.ts';
import type { EventFound } from '../../../control/contract/events.ts';
import { formatWord, sentenceCase, withLocalTimes } from './format.ts';

/** A subset of the marks of `parts/chip.tsx`. */
type EventMark =
  | 'working'
  | 'batching'
  | 'waiting'
  | 'retrying'
  | 'delivered'
  | 'failed'
  | 'refused'
  | 'unconfirmed'
  | 'queued'
  | 'ignored'
  | 'duplicate';

export interface Outcome {
  readonly mark: EventMark;
  readonly words: string;
  /** In grey and black, for a normal outcome. */
  readonly calm: boolean;
}

const dropped: Outcome = { mark: 'ignored', words: 'Dropped', calm: true };
const waiting: Outcome = { mark: 'waiting', words: 'Waiting for you', calm: false };
const outcomes: Readonly<Record<string, Outcome>> = {
  accepted: { mark: 'queued', words: 'Queued', calm: true },
  cron: { mark: 'queued', words: 'Queued', calm: true },
  queued: { mark: 'queued', words: 'Queued', calm: true },
  coalesced: { mark: 'batching', words: 'Batching', calm: false },
  running: { mark: 'working', words: 'Running', calm: false },
  delivering: { mark: 'working', words: 'Delivering', calm: false },
  retrying: { mark: 'retrying', words: 'Retrying', calm: false },
  delivered: { mark: 'delivered', words: 'Delivered', calm: true },
  partial: { mark: 'failed', words: 'Partly failed', calm: false },
  failed: { mark: 'failed', words: 'Failed', calm: false },
  interrupted: { mark: 'failed', words: 'Interrupted', calm: false },
  // As the event is marked once it is opened.
  cancelled: { mark: 'ignored', words: 'Cancelled', calm: true },
  refused: { mark: 'refused', words: 'Refused', calm: false },
  unknown: { mark: 'unconfirmed', words: 'Unconfirmed', calm: false },
  ignored: { mark: 'ignored', words: 'Ignored', calm: true },
  duplicate: { mark: 'duplicate', words: 'Duplicate', calm: true },
};

export const chips: readonly (readonly [ChipName, string, EventMark])[] = [
  ['open', 'Open', 'working'],
  ['delivered', 'Delivered', 'delivered'],
  ['failed', 'Failed', 'failed'],
  ['refused', 'Refused', 'refused'],
  ['unconfirmed', 'Unconfirmed', 'unconfirmed'],
  ['ignored', 'Ignored', 'ignored'],
  ['duplicate', 'Duplicate', 'duplicate'],
];

export function outcomeOfRow(row: Pick<EventFound, 'status' | 'question' | 'dropped'>): Outcome {
  const { status } = row;
  if (row.question !== undefined) return waiting;
  if (row.dropped) return dropped;
  return outcomes[status] ?? { mark: 'ignored', words: sentenceCase(formatWord(status)), calm: true };
}

/** The line that explains a row: what to do, the reason, or where it was delivered. */
export function lineOfRow({ question, reason, place, result, alike }: EventFound): string {
  if (question !== undefined) return result ?? 'Answer the question of its run';
  const said = reason === undefined ? (result ?? '') : formatReason(reason, place);
  return alike === undefined ? said : `×${alike.count.toLocaleString('en')} ${said}`;
}

/**
 * Returns a reason as a sentence. If it begins with the configured name of the place's target, that becomes the title:
 * "Slack: …", and its times are local. If it begins with another target's name, as a script's message can, it is returned unchanged.
 * @param place of the reason's delivery, such as "Slack #deploys"; absent if the reason may be that of a run
 */
export function formatReason(said: string, place?: string): string {
  return withLocalTimes(reasonWords(said, place), Date.now());
}

function reasonWords(reason: string, place?: string): string {
  const [, name = '', said = ''] = /^(\w+): (.+)$/s.exec(reason) ?? [];
  const title = targetTitle(name);
  // A request that was refused without a reason has the name of its outcome as one: `rateLimited`.
  if (title === name) return sentenceCase(/^[a-z]+(?:[A-Z][a-z]+)+$/.test(reason) ? formatWord(reason) : reason);
  return `${place} `.startsWith(`${title} `) ? `${title}: ${said}` : reason;
}

/** Formats the targets of a route, or of a batch of them, by the names that people write. */
export function formatTargets(deliver: string): string {
  return deliver.split(', ').map(targetTitle).join(', ');
}

/** Returns the row's identity, which stays the same while its newest request changes. */
export function keyOfRow({ key, alike }: EventFound): string {
  return alike?.first_key ?? key;
}

const fitting = 10;

/** Returns the part of an id that differs between events: the beginning of a UUID, the day and time of a firing, else both ends. */
export function shortIdOf(id: string): string {
  const [, unique] = /^([0-9a-f]{8})-/i.exec(id) ?? /^cron-[0-9a-f]+-(?:\d{6}(?=\d\dT))?(\w{9})/.exec(id) ?? [];
  return unique ?? (id.length <= fitting ? id : `${id.slice(0, 4)}…${id.slice(-5)}`);
}

/** Returns the delivery id in the gateway's answer to an event; empty if it answers as its sender expects, without one. */
export function idInAnswer(body: string): string {
  return /"delivery_id":"([^"\\]+)"/.exec(body)?.[1] ?? '';
}
