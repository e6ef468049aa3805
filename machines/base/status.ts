/** The words for the outcome of an event, of a run and of a delivery: in records, in rows and on the command line. */

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

/** A state or status as a person reads it: "waiting to retry", not `waitingToRetry`. */
export function stateWords(state: string): string {
  return state.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** The status of a list that a person means: the value itself, or its words with spaces or hyphens. */
export function meantStatus(text: string, known: readonly string[]): string | undefined {
  return known.find((one) => one === text || stateWords(one) === text.replaceAll('-', ' '));
}

/** What a row of the history of events may say: while its work waits, what it was answered as. */
export const historyStatuses: readonly string[] = [...new Set<string>([...eventStatuses, ...runStatuses])].filter(
  (status) => status !== 'queued',
);
