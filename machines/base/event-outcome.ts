/**
 * The four outcomes that charts and filters count events by, and which statuses of the history make each.
 * @see INS-4 in docs/specification.md
 */

export const eventOutcomes = ['delivered', 'ignored', 'open', 'failed'] as const;
export type EventOutcome = (typeof eventOutcomes)[number];

const outcomes: Readonly<Record<string, EventOutcome>> = {
  delivered: 'delivered',
  ignored: 'ignored',
  duplicate: 'ignored',
  accepted: 'open',
  coalesced: 'open',
  cron: 'open',
  queued: 'open',
  running: 'open',
  waiting: 'open',
  delivering: 'open',
  retrying: 'open',
};

/** Returns the outcome of an event that shows a status. Refused and unconfirmed ones, and those that arrived in part, count as failed. */
export function outcomeOfStatus(status: string): EventOutcome {
  return Object.hasOwn(outcomes, status) ? (outcomes[status] ?? 'failed') : 'failed';
}
