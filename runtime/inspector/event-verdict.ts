/**
 * Formats the outcome of an event as one sentence with its reason, and what happened on the way as a second one. Only what
 * the page has no button for names a command. Times are in ISO 8601; the page shows them in its own
 * time zone. Pure.
 * @see INS-4 in docs/specification.md
 */

import { defined } from '../../machines/base/json.ts';
import { iso } from '../../machines/base/since.ts';
import type { Hold } from '../../machines/config/hints.ts';
import { placeWords } from '../../machines/config/targets.ts';
import { adviceOn } from '../../machines/dispatch/failure-groups.ts';
import { toolWords } from '../../machines/mcp/tool-name.ts';
import { firedJob } from '../../machines/webhook/record.ts';
import type { Tone, Verdict } from '../control/contract/event-wire.ts';
import { waitingWords } from '../dispatch/run-history.ts';
import { attemptsOf } from './event-attempts.ts';
import { cureOf, endingOf, outcomeOf } from './request-outcomes.ts';
import {
  counted,
  isRunForgotten,
  type KnownDelivery,
  ownDeliveries,
  runForgotten,
  seconds,
  type TimelineSources,
} from './timeline-sources.ts';
import { alikeWords, withReason } from './timeline-verdict.ts';

export function eventVerdict(sources: TimelineSources): Verdict {
  const { event } = sources;
  const outcome = outcomeOf(event);
  const ending = outcome === undefined ? undefined : endingOf(outcome, event);
  if (outcome !== undefined && ending !== undefined && outcome !== 'deliveryFailed') {
    return defined({
      tone: ending.check === undefined ? 'failed' : 'ended',
      text: `${withReason(ending.verdict, event.reason)}${alikeWords(sources, iso)}`,
      detail: ending.cureOnPage ?? cureOf(outcome, event),
      place: ending.place === 'route' ? placeOf(event) : ending.place,
    });
  }
  return { ...sentenceOf(sources), detail: detailOf(sources) };
}

type Sentence = Omit<Verdict, 'detail'>;

function sentenceOf(sources: TimelineSources): Sentence {
  const { event, group, run, held } = sources;
  if (group !== undefined) {
    const { count, dueAtMs } = group.record.burst;
    return say(
      'working',
      `Batching: ${counted(count, 'event')} joined; the run begins at ${iso(dueAtMs)} unless another comes.`,
    );
  }
  const own = ownDeliveries(sources);
  if (own.length > 0) return sentenceOfDeliveries(own);
  if (run === undefined) {
    if (isRunForgotten(sources)) return say('ended', runForgotten);
    const ended = firedJob(event) === undefined ? 'Accepted, and nothing was run.' : 'No run was fired.';
    return say('ended', withReason(ended, event.reason));
  }
  const { status, reason } = run.record;
  switch (status) {
    case 'queued':
      if (held === undefined) return say('working', 'Queued: the run waits for a free slot.');
      return {
        ...say('needsUser', heldWords(held, event.route)),
        place: held === 'agent.concurrency' ? 'config' : placeOf(event),
      };
    case 'running':
      return runningSentence(sources);
    case 'delivering':
      return say('working', 'The agent responded; its response is about to be delivered.');
    case 'delivered':
      return say('resting', 'The agent responded. Nothing was sent: this replay is shown here only.');
    case 'cancelled':
      // The reason names who cancelled it.
      return say('ended', `${(reason ?? status).replace(/^c/, 'C')}: nothing is delivered.`);
    case 'interrupted':
      return say('failed', withReason('The run was interrupted for good.', reason));
    default:
      return say('failed', withReason('Run failed.', reason));
  }
}

/** What a run waits for that does not begin. */
export function heldWords(held: Hold, route: string): string {
  if (held === 'held') return `Held: route ${route} is held. The run begins once you release it.`;
  const limit = held === 'concurrency' ? `the concurrency of route ${route}` : held;
  return `Held: ${limit} is 0. The run begins once you raise it.`;
}

function runningSentence({ questions: [question], callsUnderWay: [call] }: TimelineSources): Sentence {
  if (question !== undefined) return say('needsUser', `${waitingWords(question)}.`);
  return say('working', call === undefined ? 'Running.' : `Running: calling ${toolWords(call.tool)}.`);
}

/** Names the delivered ones, and the first that is not delivered. */
function sentenceOfDeliveries(deliveries: readonly KnownDelivery[]): Sentence {
  const arrived = deliveries.filter(({ record }) => record.status === 'delivered');
  const open = firstOpen(deliveries);
  const sent =
    arrived.length === 0 ? '' : `Delivered to ${listWords(arrived.map(({ record }) => placeWords(record)))}.`;
  if (open === undefined) return say('resting', sent);
  const next = openSentence(open);
  return say(next.tone, `${next.text}${sent === '' ? '' : ` ${sent}`}`);
}

function firstOpen(deliveries: readonly KnownDelivery[]): KnownDelivery | undefined {
  return deliveries.find(({ record }) => record.status !== 'delivered');
}

function openSentence({ record, pause }: KnownDelivery): Sentence {
  const place = placeWords(record);
  const { status, reason } = record;
  switch (status) {
    case 'queued':
      return say('working', pause === undefined ? `Queued for ${place}.` : `Waiting for ${place}: ${pause.reason}.`);
    case 'sending':
      return say('working', `Delivering to ${place}.`);
    case 'waitingToRetry':
      return say('working', withReason(`Retrying ${place}.`, reason));
    case 'unknown':
      return say('unconfirmed', withReason(`Unconfirmed: ${place} may have received the message.`, reason));
    case 'dropped':
      return say('ended', withReason(`Dropped: not sent to ${place}.`, record.note ?? reason));
    default:
      return say('failed', withReason(`Not delivered to ${place}.`, reason));
  }
}

function detailOf(sources: TimelineSources): string {
  const { run, event, deliveries } = sources;
  const parts: string[] = [];
  const open = firstOpen(ownDeliveries(sources))?.record;
  if (open?.status === 'deadLettered' || open?.status === 'unknown') parts.push(adviceOn(open).advice);
  for (const { record } of deliveries) {
    const attempts = attemptsOf(record);
    const [first] = attempts;
    const last = attempts.at(-1);
    if (record.status !== 'delivered' || first === undefined || last === undefined || attempts.length < 2) continue;
    parts.push(`${placeWords(record)}: attempt ${last.number} arrived ${seconds(last.at - first.at)} after the first.`);
  }
  for (const { tool, server, question } of sources.calls) {
    if (question === undefined) continue;
    const verdict = question.verdict === 'timedOut' ? 'not answered in time' : question.verdict;
    parts.push(`${toolWords(tool, server)}: ${verdict} at ${iso(question.answeredAtMs)}.`);
  }
  if (run?.record.repeatedBy !== undefined) parts.push(`Its sender delivered it again as ${run.record.repeatedBy}.`);
  if (event.isDry && ownDeliveries(sources).length === 0 && run?.record.status === 'failed')
    parts.push('Nothing was sent.');
  return parts.join(' ');
}

function placeOf({ profile, route }: TimelineSources['event']): string {
  return `routes/${profile}/${route}`;
}

function say(tone: Tone, text: string): Sentence {
  return { tone, text };
}

function listWords(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
