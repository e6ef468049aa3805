/**
 * Lists the checks that a request passed, up to the one that decided it, and the answer that its sender got. Pure.
 * @see RTE-3, DIS-1 and INS-4 in docs/specification.md
 */

import type { Answer } from '../../machines/config/sources.ts';
import { type EventRecord, firedJob } from '../../machines/webhook/record.ts';
import { type Outcome, replyFor } from '../../machines/webhook/reply.ts';
import type { Check, HttpAnswer } from '../control/contract/event-wire.ts';
import { answeredAtMs, isOfPerson } from './event-attempts.ts';
import { endings, outcomeOf, requestStates } from './request-outcomes.ts';
import { requestSteps } from './timeline-request.ts';
import { type KnownDelivery, ownDeliveries, type TimelineSources } from './timeline-sources.ts';

const names: ReadonlyMap<string, string> = new Map([
  ...requestStates.map(([state, , name]) => [state, name] as const),
  ['answered', 'answer'],
]);

export function checksOf({ event, run }: Pick<TimelineSources, 'event' | 'run'>): readonly Check[] {
  const { told = {} } = event;
  const checks: Check[] = [];
  const outcome = outcomeOf(event);
  const decision = (outcome === undefined ? undefined : endings[outcome]?.check) ?? 'failed';
  for (const { state, result, detail } of requestSteps(event, run?.record)) {
    // The check that decided is not known then.
    if (state === 'answered' && event.status === 'refused') break;
    const ms = state === 'readingBody' ? told.bodyMs : state === 'transforming' ? told.scriptMs : undefined;
    const isPassed = result === 'passed' || result === 'waiting';
    checks.push({
      name: names.get(state) ?? state,
      result: isPassed ? 'passed' : result === 'skipped' ? 'skipped' : decision,
      detail: detail === 'duplicate' ? 'this id or signature came before' : detail.replace(/^(?:filter|script): /, ''),
      ...(ms === undefined ? {} : { ms }),
    });
    // Only the `answered` step follows.
    if (result === 'failed' || result === 'stopped') break;
  }
  return checks;
}

/** @param answer the reply that the route's provider gets in place of the usual one */
export function answerOf(sources: TimelineSources, answer: Answer | undefined): HttpAnswer | undefined {
  const { event } = sources;
  if (firedJob(event) !== undefined) return undefined;
  const outcome = outcomeOf(event) ?? outcomeOfWork(event, ownDeliveries(sources)[0]);
  if (outcome === undefined) return undefined;
  // Neither the provider's question nor the status of a refusal is stored.
  if (outcome === 'handshake') return event.status === 'refused' ? undefined : { status: 200, body: '' };
  const { route, deliveryId, event: type, deliver } = event;
  const named = { route, deliveryId, event: type, target: deliver ?? 'log', retryAfterSeconds: 0 };
  const { status, body } = replyFor({ kind: outcome, ...named } as Outcome, answer);
  return { status, body };
}

function outcomeOfWork({ status }: EventRecord, delivery: KnownDelivery | undefined): Outcome['kind'] | undefined {
  switch (status) {
    case 'coalesced':
      return 'coalesced';
    case 'cron':
      return 'cron';
    case 'accepted':
      return 'accepted';
    default:
      if (delivery === undefined || answeredAtMs(delivery.record) === undefined) return undefined;
      return delivery.record.status === 'delivered' && !isOfPerson(delivery.record) ? 'delivered' : 'deliveryFailed';
  }
}
