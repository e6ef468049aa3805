/**
 * Lists the steps of a request: each state of its chart in order, with what was decided in it, up to the one that decided
 * the answer. They are read from the event's record, so the result does not change later.
 * @see RTE-3, FIL-1 and SIG-1 in docs/specification.md
 */

import { isMultipart } from '../../machines/webhook/body.ts';
import { type EventRecord, firedJob, handedInWords, type RunRecord } from '../../machines/webhook/record.ts';
import { type OutcomeKind, statusOf } from '../../machines/webhook/reply.ts';
import type { Step } from '../control/contract/wire.ts';
import { decidedIn, outcomeOf, type RequestState, requestStates } from './request-outcomes.ts';
import { targetsOf } from './timeline-sources.ts';

/** A replay was read and checked when its event first came; an event that was handed in has no signature. */
const skippedByOwner: ReadonlySet<string> = new Set(['throttling', 'readingBody', 'verifying']);

/** @param run the work that it led to */
export function requestSteps(event: EventRecord, run?: RunRecord): Step[] {
  // No request was made, so nothing of one was checked or answered.
  if (firedJob(event) !== undefined) return [];
  const outcome = outcomeOf(event);
  const last = outcome === undefined ? undefined : decidedIn(outcome, event);
  // A crash or a stop of the gateway ends a request in any state, which is not recorded.
  const known = event.status === 'refused' && last === undefined ? [] : requestStates;
  const steps: Step[] = [];
  for (const [state, rule] of known) {
    const stops = state === last;
    if (state === 'transforming' && !stops && event.told?.script === undefined) continue;
    const handedIn = event.told?.handedIn;
    if ((event.replayOf ?? handedIn) !== undefined && skippedByOwner.has(state)) {
      const detail = handedIn === undefined ? 'done when the event first came' : handedInWords(handedIn);
      steps.push({ state, result: 'skipped', detail, rule });
      continue;
    }
    const failed = outcome === 'unavailable' || outcome === 'deliveryFailed';
    steps.push({
      state,
      result: !stops ? 'passed' : failed ? 'failed' : 'stopped',
      detail: stops ? (event.reason ?? outcome ?? '') : passed(state, event, run),
      rule: state === 'matching' && outcome === 'ignoredEvent' ? 'EVT-1' : rule,
      ...(state === 'rendering' && !stops ? textsOf(event) : {}),
    });
    if (stops) break;
  }
  steps.push({ state: 'answered', result: 'passed', detail: answer(event, outcome), rule: 'DIS-1' });
  return steps;
}

function passed(state: RequestState, event: EventRecord, run: RunRecord | undefined): string {
  const { told = {}, headers, body, scheme, deliveryId, route, profile } = event;
  switch (state) {
    case 'sizing':
      return 'within max_body_bytes';
    case 'routing':
      return profile === 'default' ? `route "${route}"` : `route "${route}" of profile "${profile}"`;
    case 'throttling':
      return 'the window has room';
    case 'readingBody':
      // Of a form with parts the bytes of files are not kept.
      return `${body === '' || isMultipart(headers) ? 'read' : `${Buffer.byteLength(body)} bytes`}${told.bodyMs === undefined ? '' : ` in ${told.bodyMs} ms`}`;
    case 'verifying':
      return scheme === undefined || scheme === 'none'
        ? 'not signed: the route takes anything'
        : `genuine by ${scheme}`;
    case 'parsing':
      return `event ${event.event}, delivery ${deliveryId}`;
    case 'matching':
      return 'the event is listed and every filter holds';
    case 'transforming':
      return `the script ${told.script ?? 'ran'} the payload${told.scriptMs === undefined ? '' : ` in ${told.scriptMs} ms`}`;
    case 'rendering':
      return planned(event, run);
    case 'claiming':
      return told.repeats === undefined
        ? `first of its id within the hour${event.signatureDigest === undefined ? '' : ', and of its signature'}; on disk`
        : `its id or signature came before, with ${told.repeats}, which failed and so released it; on disk`;
    case 'dispatching':
      return event.work === undefined ? (event.reason ?? 'handed on') : `handed on as ${event.work}`;
  }
}

function planned(event: EventRecord, run: RunRecord | undefined): string {
  const { status, told } = event;
  switch (status) {
    // The record does not say to which work the event would have led.
    case 'duplicate':
    case 'refused':
    case 'ignored':
      return 'its texts are filled in';
    case 'coalesced':
      return `joins the batch "${told?.groupKey ?? ''}"`;
    case 'cron':
      return 'fires a cron job';
    case 'delivering':
      return `goes to ${targetsOf(event)} as it is`;
    default:
      if (run?.isDirect === true && event.isDry !== true) return `goes to ${targetsOf(event)} as it is`;
      return `an agent run, its response to ${event.isDry ? 'no target' : targetsOf(event)}`;
  }
}

function textsOf({ prompt }: EventRecord): Pick<Step, 'texts'> {
  return prompt === undefined || prompt === '' ? {} : { texts: [{ title: 'prompt', text: prompt }] };
}

function answer({ status }: EventRecord, outcome: OutcomeKind | undefined): string {
  if (outcome === 'handshake') return status === 'refused' ? 'refused' : 'as the provider wants it';
  if (outcome !== undefined) {
    return `${statusOf({ kind: outcome } as Parameters<typeof statusOf>[0])} ${outcome.startsWith('ignored') ? 'ignored' : status}`;
  }
  if (status === 'delivering') return '200 or 502, as the target answered, if the sender still waited';
  // The sender that fires a cron job gets the same answer as for a run.
  return `202 ${status === 'cron' ? 'accepted' : status}`;
}
