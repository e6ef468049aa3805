/** The words for the outcome of an event, a run and a delivery, and for the steps of a chart: in records, rows and texts. */

/** What `gateway.status` says of a journal that is neither ready nor has a fault. */
export const journalOpening = 'the journal is being opened, and nothing is accepted until it is open';

export const eventStatuses = [
  'accepted',
  'coalesced',
  'cron',
  'delivering',
  'ignored',
  'duplicate',
  'refused',
] as const;

export const runStatuses = [
  'queued',
  'running',
  'delivering',
  'delivered',
  'partial',
  'failed',
  'interrupted',
  'cancelled',
  'unknown',
] as const;

export const deliveryStatuses = [
  'queued',
  'sending',
  'waitingToRetry',
  'delivered',
  'failed',
  'deadLettered',
  'unknown',
  'dropped',
] as const;

/**
 * A state or status for people: "waiting to retry", not `waitingToRetry`. A delivery that may have arrived is
 * "unconfirmed", as on the page.
 */
export function stateWords(state: string): string {
  if (state === 'unknown') return 'unconfirmed';
  return state.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** An event of a chart for people: of the interpreter's own ones, `xstate.done.actor.runScript` is "runScript done". */
export function eventWords(type: string): string {
  return type.replace(/^xstate\.(done|error)\.actor\.(.+)$/, '$2 $1').replace(/^xstate\.after\.(\w+)\..*$/, '$1 over');
}

/** The status that a person means: the value itself, or its words with spaces or hyphens. */
export function meantStatus(text: string, known: readonly string[]): string | undefined {
  return known.find((one) => one === text || stateWords(one) === text.replaceAll('-', ' '));
}

/** The statuses of ended events that can be replayed together. */
export const replayedStatuses = ['failed', 'interrupted', 'cancelled', 'ignored'] as const;
export type ReplayedStatus = (typeof replayedStatuses)[number];

/** The statuses of deliveries that can be retried or dropped together. */
export const sweptStatuses = ['deadLettered', 'queued', 'waitingToRetry'] as const;
export type SweptStatus = (typeof sweptStatuses)[number];

/** The possible statuses of an event in the history, including those of its run. */
export const historyStatuses: readonly string[] = [...new Set<string>([...eventStatuses, ...runStatuses])].filter(
  (status) => status !== 'queued',
);
