/**
 * The log lines of work: one for an ended run, one for each attempt of a delivery, one for an unexpected error.
 * @see OBS-1 in docs/specification.md
 */

import type { Logger, LogLevel } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { stateWords } from '../../machines/base/status.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from '../../machines/webhook/record.ts';

/** The levels below error: delivered, retried, or ended by a person. */
const levels: Readonly<Record<string, LogLevel>> = {
  delivered: 'info',
  running: 'warn',
  sending: 'warn',
  delivering: 'warn',
  waitingToRetry: 'warn',
  dropped: 'warn',
  cancelled: 'warn',
};

/** Work that is still in progress was let go: another gateway has taken it up, or may. */
const wordsOf = (status: string): string =>
  status === 'running' || status === 'sending' ? 'left to another gateway' : stateWords(status);

export function logRun(key: string, run: RunRecord, event: EventRecord | undefined, log: Logger): void {
  // A failed delivery has set the reason.
  const isOnItsWay = run.status === 'delivering' && run.reason === undefined;
  log.log(isOnItsWay ? 'info' : (levels[run.status] ?? 'error'), `run ${wordsOf(run.status)}`, {
    delivery_id: event?.deliveryId,
    run: key,
    route: run.route,
    profile: run.profile,
    attempt: run.attempt,
    superseded: run.superseded,
    reason: run.reason,
  });
}

export function logDelivery(key: string, delivery: DeliveryRecord, log: Logger): void {
  log.log(levels[delivery.status] ?? 'error', `delivery ${wordsOf(delivery.status)}`, {
    delivery_id: delivery.deliveryId,
    delivery: key,
    route: delivery.route,
    profile: delivery.profile,
    target: delivery.target,
    attempt: delivery.attempts,
    next_try_at: delivery.dueAtMs === undefined ? undefined : new Date(delivery.dueAtMs).toISOString(),
    message_id: delivery.messageId,
    reason: delivery.reason,
  });
}

/** What a stop leaves in the journal: runs that have not ended, and deliveries of runs that have. */
export interface LeftWork {
  readonly runs: number;
  readonly deliveries: number;
}

/** Logs the last line of a stop. Undefined if no journal could be asked, so that the waiting work is unknown. */
export function logStopped(left: LeftWork | undefined, log: Logger): void {
  const { runs = 0, deliveries = 0 } = left ?? {};
  const waiting = [...counted(runs, 'run', 'runs'), ...counted(deliveries, 'delivery', 'deliveries')].join(' and ');
  const verb = runs + deliveries === 1 ? 'waits' : 'wait';
  const message = waiting === '' ? 'stopped' : `stopped; ${waiting} ${verb} on disk for the next start`;
  log.log('info', message, left && { runs_waiting: runs, deliveries_waiting: deliveries });
}

function counted(count: number, one: string, many: string): string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
}

/** Logs an error of work outside the charts, which must not crash the daemon. */
export function logUnforeseen(log: Logger, where: string, thrown: unknown): void {
  log.log('error', `${where}: ${causeOf(thrown)}`, { actor: where, error: String(thrown) });
}
