/**
 * The four outcomes by which charts and filters count events, and the history statuses that belong to each.
 * @see INS-4 in docs/specification.md
 */

export const eventOutcomes = ['delivered', 'ignored', 'open', 'failed'] as const;
export type EventOutcome = (typeof eventOutcomes)[number];

const outcomes: Readonly<Record<string, EventOutcome>> = {
  delivered: 'delivered',
  ignored: 'ignored',
  duplicate: 'ignored',
  // A person decided so: nothing has failed.
  cancelled: 'ignored',
  accepted: 'open',
  coalesced: 'open',
  cron: 'open',
  queued: 'open',
  running: 'open',
  waiting: 'open',
  delivering: 'open',
  retrying: 'open',
};

/** Returns the outcome of an event's status. Refused, unconfirmed and partly delivered events count as failed. */
export function outcomeOfStatus(status: string): EventOutcome {
  return Object.hasOwn(outcomes, status) ? (outcomes[status] ?? 'failed') : 'failed';
}
