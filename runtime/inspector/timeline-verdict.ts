/**
 * Formats the outcome of an event as one sentence, and what a person can do about it as another. Names commands and keys,
 * never a secret.
 * @see INS-2 in docs/specification.md
 */

import { iso } from '../../machines/base/since.ts';
import { targetChoices } from '../../machines/config/targets.ts';
import { adviceOn } from '../../machines/dispatch/failure-groups.ts';
import { firedJob } from '../../machines/webhook/record.ts';
import { argumentsOf, cureOf, endingOf, endings, outcomeOf } from './request-outcomes.ts';
import { answerCommands } from './timeline-calls.ts';
import {
  isRunForgotten,
  type KnownDelivery,
  ownDeliveries,
  runForgotten,
  type TimelineSources,
  targetsOf,
} from './timeline-sources.ts';

/** Returns the first delivery that has not arrived; if all have, the response's. */
function openDelivery(sources: TimelineSources): KnownDelivery | undefined {
  const own = ownDeliveries(sources);
  return own.find(({ record }) => record.status !== 'delivered') ?? own[0];
}

export function verdictOn(sources: TimelineSources): string {
  const { event, group } = sources;
  const delivery = openDelivery(sources);
  const arrived = ownDeliveries(sources)
    .filter(({ record }) => record.status === 'delivered')
    .map(({ record }) => record.target);
  const outcome = outcomeOf(event);
  const ending = outcome === undefined ? undefined : endingOf(outcome, event);
  if (ending !== undefined) return `${withReason(ending.verdict, event.reason)}${alikeWords(sources)}`;
  if (group !== undefined) return 'Accepted: it waits in its batch.';
  if (isRunForgotten(sources)) return runForgotten;
  const isOpen = delivery !== undefined && delivery.record.status !== 'delivered';
  const before = isOpen && arrived.length > 0 ? `Delivered to ${arrived.join(' and ')}. ` : '';
  const target = isOpen ? delivery.record.target : arrived.join(' and ') || targetsOf(event);
  return before + statusWords(sources, delivery, target);
}

function statusWords(sources: TimelineSources, delivery: KnownDelivery | undefined, target: string): string {
  const { event, run } = sources;
  const status = delivery?.record.status ?? run?.record.status ?? sources.status;
  switch (status) {
    case 'delivered':
      if (event.isDry) return 'Accepted and run. Nothing was sent: this replay was dry.';
      return run === undefined || run.record.isDirect
        ? `Delivered to ${target}.`
        : `Accepted, run and delivered to ${target}.`;
    case 'queued':
      if (delivery === undefined) {
        return run?.record.reason === undefined
          ? 'Accepted: its run waits for a slot.'
          : withReason('Its run could not be started yet, and is tried again.', run.record.reason);
      }
      return delivery.pause === undefined
        ? `On its way to ${target}: it waits for its turn.`
        : delivery.pause.behind === undefined
          ? `On its way to ${target}, which asks for a pause: ${delivery.pause.reason}.`
          : `On its way to ${target}: ${delivery.pause.reason}.`;
    case 'running':
      return `Accepted: its run ${underWay(sources)}.`;
    case 'sending':
    case 'delivering':
      return `On its way to ${target}.`;
    case 'waitingToRetry':
      return withReason(`Not delivered to ${target} yet; it is tried again.`, delivery?.record.reason);
    case 'interrupted':
      return 'Its run was interrupted for good.';
    case 'cancelled':
      return 'Its run was cancelled.';
    case 'unknown':
      return withReason(`It may or may not have been delivered to ${target}.`, delivery?.record.reason);
    case 'failed':
    case 'deadLettered':
    case 'dropped':
      if (delivery === undefined) return withReason('Its run failed.', run?.record.reason);
      return delivery.record.status === 'dropped'
        ? withReason(`A person dropped it: not sent to ${target}.`, delivery.record.note ?? delivery.record.reason)
        : withReason(`Not delivered to ${target}.`, delivery.record.reason);
    case 'ignored':
      return withReason(`${event.status === 'cron' ? 'Accepted and dropped: no' : 'No'} run was fired.`, event.reason);
    default:
      return withReason(`It is ${sources.status}.`, event.reason);
  }
}

/** @param timeOf formats Unix milliseconds */
export function alikeWords({ alike }: TimelineSources, timeOf = timeInUtc): string {
  if (alike === undefined) return '';
  const { count, firstAtMs, lastAtMs } = alike;
  return ` It is one of ${count.toLocaleString('en')} alike from one address, from ${timeOf(firstAtMs)} to ${timeOf(lastAtMs)}.`;
}

function timeInUtc(atMs: number): string {
  return `${iso(atMs).slice(11, 19)} UTC`;
}

function underWay({ questions: [question], callsUnderWay: [call] }: TimelineSources): string {
  if (question !== undefined && question.kind === 'form') return 'waits for your answer';
  if (question !== undefined) return `waits for your yes to ${question.tool}`;
  return call === undefined ? 'is under way' : `is under way, in a call of ${call.tool}`;
}

export function cureFor(sources: TimelineSources): string {
  const { key, event, run } = sources;
  const delivery = openDelivery(sources);
  const outcome = outcomeOf(event);
  const job = firedJob(event);
  const named = argumentsOf(event.cronJob ?? job ?? '', event.profile);
  const again =
    job === undefined
      ? `\`agent events replay ${key}\` sends the event through once more.`
      : `\`agent cron run ${named}\` fires the job once more.`;
  if (outcome === 'duplicate') return `If it was to run again: ${again}`;
  if (outcome !== undefined) return cureOf(outcome, event);
  if (job !== undefined && event.status === 'ignored') return `\`agent cron show ${named}\` shows the job.`;
  if (run?.record.repeatedBy !== undefined)
    return `Its sender has delivered it again: \`agent inspect why ${run.record.repeatedBy}\` shows what followed.`;
  const freed =
    run?.record.kind === 'cron' ? again : `${again} A redelivery by its sender runs too: its delivery id is free.`;
  const status = delivery?.record.status ?? run?.record.status ?? '';
  const [question] = sources.questions;
  switch (status) {
    case 'running':
      return question === undefined ? '' : answerCommands(question);
    case 'queued':
    case 'waitingToRetry':
      return delivery?.pause === undefined
        ? ''
        : delivery.pause.behind === undefined
          ? `\`agent deliveries retry ${delivery.key}\` lets it go in spite of the pause.`
          : `\`agent deliveries drop ${delivery.pause.behind}\` lets it go.`;
    case 'failed':
    case 'deadLettered':
      return delivery === undefined ? freed : afterFailure(delivery, again);
    case 'dropped':
      return `If it is to be sent after all: ${again}`;
    case 'interrupted':
      return freed;
    case 'cancelled':
      return again;
    case 'unknown':
      return `Look at the target first: it may have arrived. \`agent deliveries retry ${delivery?.key ?? key} --force\` sends its text again.`;
    default:
      return '';
  }
}

/** A retry sends the same text to the same place, so a corrected route needs a replay of the event. */
function afterFailure({ key, record }: KnownDelivery, again: string): string {
  const { helps, orReplay, advice } = adviceOn(record);
  if (helps === 'never') return `${advice} ${again}`;
  const retry = `\`agent deliveries retry ${key}\` sends its text again.`;
  return orReplay ? `${advice} ${retry} ${again}` : `${advice} ${retry}`;
}

export function withReason(verdict: string, reason: string | undefined): string {
  // A request that was refused without a reason has the name of its outcome as one.
  if (reason === undefined || Object.hasOwn(endings, reason) || verdict.endsWith(`${reason}.`)) return verdict;
  // The verdict already names the source of the reason.
  const own = targetChoices.find((name) => reason.startsWith(`${name}: `)) ?? '';
  return `${verdict.slice(0, -1)}: ${reason.replace(/^(?:filter|when|script): /, '').slice(own === '' ? 0 : own.length + 2)}.`;
}
