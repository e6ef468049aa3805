/**
 * The states of a request's chart, and the outcomes that end a request in one of them: verdict, remedy, and how the page
 * shows it. Names commands and keys, never a secret.
 * @see RTE-3, INS-2 and INS-4 in docs/specification.md
 */

import { profileOption } from '../../machines/base/names.ts';
import { shellWord } from '../../machines/base/shell-word.ts';
import { type EventRecord, firedJob } from '../../machines/webhook/record.ts';
import { type OutcomeKind, reasonStarts } from '../../machines/webhook/reply.ts';
import type { Check } from '../control/contract/event-wire.ts';

/** In the order of the chart, each with its rule and its name as a check. */
export const requestStates = [
  ['sizing', 'LIM-1', 'size'],
  ['routing', 'RTE-3', 'route'],
  ['throttling', 'LIM-2', 'rate limit'],
  ['readingBody', 'LIM-1', 'body'],
  ['verifying', 'SIG-1', 'signature'],
  ['parsing', 'LIM-3', 'payload'],
  ['matching', 'FIL-1', 'event type and filters'],
  ['transforming', 'SCR-2', 'script'],
  ['rendering', 'TPL-1', 'template'],
  ['claiming', 'IDM-1', 'duplicate'],
  ['dispatching', 'DIS-1', 'hand-over'],
] as const;

export type RequestState = (typeof requestStates)[number][0];

interface Ending {
  /** The state that decides it; absent if that depends on the record. */
  readonly decidedIn?: RequestState;
  /** One sentence without the reason. */
  readonly verdict: string;
  /** The remedy with its command; `<route>` stands for the event's route. Empty if none is needed. */
  readonly cure: string;
  /** The remedy on the page, which leads to the route and replays by a button; absent: `cure`. */
  readonly cureOnPage?: string;
  /** Where the page explains or changes the cause: the list of routes, or the page of this one. */
  readonly place?: 'routes' | 'route';
  /** Its check on the page; absent for a failure. The others are normal outcomes. */
  readonly check?: Exclude<Check['result'], 'failed' | 'skipped'>;
}

export const endings: Partial<Record<OutcomeKind, Ending>> = {
  tooLarge: {
    decidedIn: 'sizing',
    verdict: 'Refused: the body is larger than max_body_bytes.',
    cure: 'Raise platforms.webhook.max_body_bytes by `agent config edit`.',
    cureOnPage: 'Raise `platforms.webhook.max_body_bytes` in `config.yaml`.',
  },
  unknownRoute: {
    decidedIn: 'routing',
    verdict: 'Refused: no route has this path.',
    cure: 'Compare the URL at the sender with `agent webhook list`; `agent webhook subscribe` adds a route.',
    cureOnPage: 'Compare the URL at the sender with those of the routes, or add a route.',
    place: 'routes',
  },
  methodNotAllowed: {
    decidedIn: 'routing',
    verdict: 'Refused: webhooks are sent by POST.',
    cure: 'Let the sender use POST.',
  },
  routeDisabled: {
    decidedIn: 'routing',
    verdict: 'Refused: the route is disabled.',
    cure: '`agent webhook enable <route>` enables it.',
    cureOnPage: 'It can be enabled on its page.',
    place: 'route',
  },
  rateLimited: {
    decidedIn: 'throttling',
    verdict: 'Refused: the route had taken its requests of this minute.',
    cure: 'The sender may try again after Retry-After; if it should not have to, raise platforms.webhook.rate_limit by `agent config edit`.',
    cureOnPage:
      'The sender may try again after Retry-After; if it should not have to, raise `platforms.webhook.rate_limit` in `config.yaml`.',
    place: 'route',
  },
  badSignature: {
    decidedIn: 'verifying',
    verdict: 'Refused: the signature is not genuine.',
    cure: '`agent webhook doctor <route>` shows what differs. Give the sender the route’s secret and a scheme that the gateway knows; clocks may differ by 300 s at most.',
    cureOnPage:
      'Give the sender the route’s secret and a scheme that the gateway knows; clocks may differ by 300 s at most.',
    place: 'route',
  },
  badBody: {
    decidedIn: 'parsing',
    verdict: 'Refused: the body cannot be read.',
    cure: 'Let the sender send a JSON object, or a form.',
  },
  ignoredEvent: {
    decidedIn: 'matching',
    verdict: 'Ignored: the route does not list this event.',
    cure: 'Add the event to `events` of the route to take it; `agent webhook show <route>` shows them.',
    cureOnPage: 'Add the event to `events` of the route to take it.',
    place: 'route',
    check: 'notMatched',
  },
  ignoredFilter: {
    decidedIn: 'matching',
    verdict: 'Ignored: a filter does not hold.',
    cure: 'Change `filters` of the route if it should have passed; `agent webhook show <route>` shows them.',
    cureOnPage: 'Change `filters` of the route if it should have passed.',
    place: 'route',
    check: 'notMatched',
  },
  ignoredScript: {
    decidedIn: 'transforming',
    verdict: 'Ignored: the route’s script said so.',
    cure: 'Run the script with this payload to see why; `agent webhook show <route>` names the script.',
    cureOnPage: 'Run the script of the route with this payload to see why.',
    place: 'route',
    check: 'notMatched',
  },
  ignoredScriptFailed: {
    decidedIn: 'transforming',
    verdict: 'Ignored: the route’s script failed.',
    cure: 'Correct the script, which `agent webhook show <route>` names; then replay the event.',
    cureOnPage: 'Correct the script of the route; then replay the event.',
    place: 'route',
  },
  duplicate: {
    decidedIn: 'claiming',
    verdict: 'Passed over: this delivery id or signature came before, within the hour.',
    cure: '',
    check: 'repeated',
  },
  handshake: {
    verdict: 'Answered: the provider asked who listens here, before it sends events.',
    cure: '',
    check: 'passed',
  },
  pending: {
    decidedIn: 'claiming',
    verdict: 'Put off: the delivery that has this id or signature was not over.',
    cure: 'The sender may try again after Retry-After; it then gets the outcome of the first.',
  },
  overloaded: {
    verdict: 'Refused: the gateway had no room for it.',
    cure: 'The sender may try again after Retry-After; if it should not have to, raise platforms.webhook.max_unverified_bytes by `agent config edit`.',
    cureOnPage:
      'The sender may try again after Retry-After; if it should not have to, raise `platforms.webhook.max_unverified_bytes` in `config.yaml`.',
  },
  draining: {
    verdict: 'Put off: the gateway was starting or stopping.',
    cure: 'The sender may try again after Retry-After.',
  },
  unavailable: {
    decidedIn: 'claiming',
    verdict: 'Refused: the event could not be written down.',
    cure: '`agent gateway status` shows the state of the journal.',
  },
  deliveryFailed: {
    decidedIn: 'dispatching',
    verdict: 'Not delivered: the target did not take it.',
    cure: 'Correct what the reason names; the sender tries again.',
  },
  internal: {
    verdict: 'Refused: the gateway failed on it.',
    cure: '`agent gateway logs` shows more, by the request’s id.',
  },
};

const unchecked: Ending = {
  decidedIn: 'verifying',
  verdict: 'Put off: its signature could not be checked.',
  cure: 'The sender may try again after Retry-After; `agent gateway logs` shows more.',
};

/** Why a request is answered 503 while the journal is well, by the beginning of its reason. */
const putOff: Readonly<Record<string, Ending>> = {
  [reasonStarts.subscriptions]: {
    decidedIn: 'routing',
    verdict: 'Put off: its route is not known yet.',
    cure: '`agent webhook list` shows why; the sender may try again after Retry-After.',
  },
  [reasonStarts.certificate]: unchecked,
  [reasonStarts.keys]: unchecked,
  [reasonStarts.filter]: {
    decidedIn: 'matching',
    verdict: 'Put off: a filter could not be tried.',
    cure: 'Correct the list that the reason names, as `agent config check` says; the sender may try again after Retry-After.',
  },
  [reasonStarts.when]: {
    decidedIn: 'rendering',
    verdict: 'Put off: a condition in `when` could not be tried.',
    cure: 'Correct the list that the reason names, as `agent config check` says; the sender may try again after Retry-After.',
  },
  [reasonStarts.script]: {
    decidedIn: 'transforming',
    verdict: 'Put off: its script could not be started.',
    cure: 'The sender may try again after Retry-After; `agent gateway logs` shows more.',
  },
  [reasonStarts.sameBody]: {
    decidedIn: 'claiming',
    verdict: 'Put off: the events of a body are accepted together.',
    cure: 'Correct what stopped the other event, which `agent events --status refused` lists beside this one.',
  },
};

/** Before the reason of a request that one event of its array has stopped. */
const ofOneEvent = /^event \d+ of \d+: /;

export function endingOf(outcome: OutcomeKind, { reason = '' }: Pick<EventRecord, 'reason'>): Ending | undefined {
  const other =
    outcome === 'unavailable'
      ? Object.entries(putOff).find(([words]) => reason.replace(ofOneEvent, '').startsWith(words))
      : undefined;
  return other?.[1] ?? endings[outcome];
}

/** The outcome that ended the request; undefined for one that led to work, and for a cron job. */
export function outcomeOf(event: EventRecord): OutcomeKind | undefined {
  const { outcome, status, reason } = event;
  if (outcome !== undefined) return outcome;
  if (firedJob(event) !== undefined) return undefined;
  // Records of earlier versions have no `outcome`.
  if (status === 'duplicate') return 'duplicate';
  if (status === 'ignored') return reason?.startsWith(reasonStarts.script) === true ? 'ignoredScript' : 'ignoredFilter';
  return undefined;
}

/** Returns the state that decided the outcome. Without a declared length, a body is refused only while it is read. */
export function decidedIn(outcome: OutcomeKind, event: EventRecord): RequestState | undefined {
  const { reason, scheme } = event;
  // A handshake in the headers alone is answered before the signature is checked.
  if (outcome === 'handshake') return scheme === undefined ? 'routing' : 'verifying';
  if (outcome === 'tooLarge' && reason?.startsWith(reasonStarts.declared) !== true) return 'readingBody';
  // There was no room for its body, or for the events of its array.
  if (outcome === 'overloaded') return reason?.startsWith(reasonStarts.bodies) === true ? 'readingBody' : 'parsing';
  return endingOf(outcome, event)?.decidedIn;
}

/** Returns the remedy with its command; empty if none is needed. */
export function cureOf(outcome: OutcomeKind, event: EventRecord): string {
  return (endingOf(outcome, event)?.cure ?? '').replaceAll('<route>', () => argumentsOf(event.route, event.profile));
}

/** What a command takes to choose a route or a job. */
export function argumentsOf(name: string, profile: string): string {
  return `${shellWord(name)}${profileOption(profile)}`;
}
