/**
 * Composes the timeline of one event with its outcome and reason: the states of its request with their decisions, then its
 * batch, its run with the tool calls, its deliveries. Pure: the caller reads journal and memory. A record of an earlier
 * version gives less detail.
 * @see INS-2, DUR-2 and FIL-1 in docs/specification.md
 */

import { type JsonObject, scalarText } from '../../machines/base/json.ts';
import { iso } from '../../machines/base/since.ts';
import { type EventRecord, firedJob, isOver, type RunRecord } from '../../machines/webhook/record.ts';
import type { Phase, Step, StepRow, Timeline } from '../control/contract/wire.ts';
import { callPhases, questionPhases, waitingWords } from './timeline-calls.ts';
import { requestSteps } from './timeline-request.ts';
import { counted, groupKeyOf, type KnownDelivery, seconds, type TimelineSources } from './timeline-sources.ts';
import { cureFor, verdictOn } from './timeline-verdict.ts';

export function timelineOf(sources: TimelineSources): Timeline {
  const { key, event, status, run, deliveries } = sources;
  return {
    delivery: event.deliveryId,
    key,
    route: event.route,
    profile: event.profile,
    event: event.event,
    status,
    received: event.receivedAtMs,
    verdict: verdictOn(sources),
    cure: cureFor(sources),
    phases: [
      requestPhase(sources),
      ...groupPhases(sources),
      ...(run === undefined
        ? []
        : [runPhase(run.key, run.record, sources), ...callPhases(sources), ...questionPhases(sources)]),
      ...deliveries.map((delivery) => deliveryPhase(delivery, sources)),
    ],
  };
}

function requestPhase(sources: TimelineSources): Phase {
  const { key, event, stateOf } = sources;
  const actor = `requests/${key}`;
  const steps = withTimes(requestSteps(event, sources.run?.record), sources.stepsOf(actor));
  // Its steps are known only while a viewer is connected.
  const checkedAtMs = event.receivedAtMs + (event.told?.checkMs ?? event.told?.bodyMs ?? 0);
  return {
    kind: 'request',
    machine: 'webhookRequest',
    actor,
    title: requestTitle(event),
    state: stateOf(actor) ?? 'answered',
    began: event.receivedAtMs,
    ...(stateOf(actor) === undefined ? { ended: endOf(steps, checkedAtMs) } : {}),
    steps,
  };
}

function requestTitle(event: EventRecord): string {
  const job = firedJob(event);
  if (job !== undefined) return event.work === undefined ? `cron job ${job}, not fired` : `cron job ${job}, fired`;
  return event.replayOf === undefined ? `request to ${event.route}` : `replay of ${event.replayOf}`;
}

/** Adds the times at which states were entered, if the steps were recorded. */
function withTimes(steps: readonly Step[], taken: readonly StepRow[]): Step[] {
  const entered = new Map(taken.map(({ to, at }) => [to, at]));
  return steps.map((step) => {
    const at = step.at ?? entered.get(step.state);
    return at === undefined ? step : { ...step, at };
  });
}

function endOf(steps: readonly Step[], otherwise: number): number {
  return Math.max(otherwise, ...steps.flatMap(({ at }) => (at === undefined ? [] : [at])));
}

function groupPhases(sources: TimelineSources): Phase[] {
  const { key, event, run, group, stateOf } = sources;
  const groupKey = groupKeyOf(sources);
  if (groupKey === undefined) return [];
  const actor = `groups/${group?.key ?? run?.record.group ?? groupKey}`;
  const state = stateOf(actor);
  const burst = group?.record.burst;
  const steps: Step[] = [
    {
      state: 'pending',
      at: event.receivedAtMs,
      result: burst === undefined ? 'passed' : 'waiting',
      detail:
        burst === undefined
          ? `gathered under "${groupKey}"`
          : `${counted(burst.count, 'event')} gathered under "${groupKey}"; settles at ${iso(burst.dueAtMs)} unless another comes`,
      rule: 'COA-1',
    },
  ];
  if (run !== undefined) {
    const { superseded = 0, earlierKeys, eventKey: newest } = run.record;
    const texts =
      earlierKeys === undefined ? 'the texts of the newest' : `the texts of ${earlierKeys.length + 1} up to the newest`;
    const isIn = key === newest || earlierKeys?.includes(key) === true;
    steps.push({
      state: 'dispatched',
      at: run.record.queuedAtMs,
      result: 'passed',
      detail: `one run for ${counted(superseded + 1 + (earlierKeys?.length ?? 0), 'event')}, with ${texts} (${newest})${isIn ? '' : ', not of this one'}`,
      rule: 'COA-2',
    });
  }
  return [
    {
      kind: 'group',
      machine: 'coalescingGroup',
      actor,
      title: `batch "${groupKey}"`,
      state: state ?? (group === undefined ? 'dispatched' : 'pending'),
      began: burst?.firstAtMs ?? event.receivedAtMs,
      ...(run === undefined ? {} : { ended: run.record.queuedAtMs }),
      steps,
    },
  ];
}

function runPhase(key: string, run: RunRecord, sources: TimelineSources): Phase {
  const { event, transcript, stateOf } = sources;
  const actor = `runs/${key}`;
  const { queuedAtMs, startedAtMs, endedAtMs, attempt, response, reason } = run;
  const neverBegan = endedAtMs !== undefined && startedAtMs === undefined;
  const steps: Step[] = [
    {
      state: 'queued',
      at: queuedAtMs,
      result: neverBegan ? 'failed' : startedAtMs === undefined ? 'waiting' : 'passed',
      detail: neverBegan
        ? (reason ?? run.status)
        : startedAtMs === undefined
          ? (reason ??
            'waits for a slot (agent.concurrency, concurrency of the route; 0 holds runs, and so does held: true)')
          : `waited ${seconds(startedAtMs - queuedAtMs)} for a slot`,
      rule: 'DIS-3',
    },
  ];
  if (startedAtMs !== undefined) {
    const over = response !== undefined || reason !== undefined || endedAtMs !== undefined;
    const failed = response === undefined && over;
    steps.push({
      state: 'running',
      at: startedAtMs,
      result: failed ? 'failed' : over ? 'passed' : 'waiting',
      detail: [
        attempt > 1 ? `attempt ${attempt}` : '',
        failed
          ? (reason ?? run.status)
          : over
            ? `${run.isDirect ? 'the text has' : 'responded with'} ${counted(response?.length ?? 0, 'character')}`
            : `the agent has the prompt${waitingWords(sources)}`,
      ]
        .filter((part) => part !== '')
        .join('; '),
      rule: 'DIS-3',
      texts: [
        ...(event.prompt === undefined ? [] : [{ title: 'prompt', text: event.prompt }]),
        ...said(transcript),
        ...(response === undefined ? [] : [{ title: 'response', text: response }]),
      ],
    });
  }
  if (response !== undefined) {
    const done = run.status !== 'delivering';
    const delivered = run.status === 'delivered';
    const arrived = run.isDry ? 'the response is kept and sent to no target' : 'the response was delivered';
    steps.push({
      state: 'delivering',
      result: delivered ? 'passed' : done ? 'failed' : 'waiting',
      detail: delivered ? arrived : (reason ?? (done ? run.status : 'the response is on its way')),
      rule: 'DIS-4',
    });
  }
  return {
    kind: 'run',
    machine: 'agentRun',
    actor,
    title: run.isDirect ? 'its text, without an agent' : run.kind === 'cron' ? 'run of a cron job' : 'agent run',
    state: stateOf(actor) ?? run.status,
    began: queuedAtMs,
    ...(endedAtMs === undefined ? {} : { ended: endedAtMs }),
    steps,
  };
}

/** Returns the calls, results and answers of a transcript. */
function said(transcript: readonly JsonObject[]): { readonly title: string; readonly text: string }[] {
  return transcript.flatMap(({ kind, text, tool, arguments: given, is_error }) => {
    switch (kind) {
      case 'call':
        return [{ title: `calls ${scalarText(tool)}`, text: scalarText(given) }];
      case 'result':
        return [{ title: is_error === true ? 'the tool failed' : 'the tool answered', text: scalarText(text) }];
      case 'answer':
        return text === '' ? [] : [{ title: 'the model says', text: scalarText(text) }];
      default:
        return [];
    }
  });
}

function deliveryPhase({ key, record, pause }: KnownDelivery, { stateOf }: TimelineSources): Phase {
  const actor = `deliveries/${key}`;
  const { target, failedRun, status, text, reason, messageId, queuedAtMs, endedAtMs, attempts = 1, dueAtMs } = record;
  const tries = attempts <= 1 ? '' : `; ${attempts} attempts`;
  const over = isOver(record);
  const delivered = status === 'delivered';
  const queued: Step = {
    state: 'queued',
    at: queuedAtMs,
    result: 'passed',
    detail: `${counted(text.length, 'character')} for ${target}`,
    rule: 'DLV-2',
    texts: [{ title: 'text', text }],
  };
  const phase = {
    kind: 'delivery' as const,
    machine: 'delivery',
    actor,
    title: failedRun === undefined ? `to ${target}` : `notice of the failed run to ${target}`,
    state: stateOf(actor) ?? status,
    began: queuedAtMs,
  };
  if (status === 'queued') {
    const waits = attempts > 1 ? 'it has its turn again soon' : 'it waits for its turn';
    const detail = `${queued.detail}; ${pause === undefined ? waits : pauseWords(target, pause)}`;
    return { ...phase, steps: [{ ...queued, result: 'waiting', detail, rule: 'DLV-4' }] };
  }
  const steps: Step[] = [
    queued,
    {
      state: over || status === 'waitingToRetry' ? status : 'sending',
      ...(endedAtMs === undefined ? {} : { at: endedAtMs }),
      result: delivered ? 'passed' : over ? 'failed' : 'waiting',
      detail: delivered
        ? `${target} took it${messageId === undefined ? '' : ` as ${messageId}`}${tries}`
        : `${reason ?? 'on its way'}${tries}${nextTry(dueAtMs, pause?.untilMs)}`,
      rule: over ? 'DLV-2' : 'DLV-4',
    },
  ];
  return { ...phase, ...(endedAtMs === undefined ? {} : { ended: endedAtMs }), steps };
}

function nextTry(dueAtMs: number | undefined, pausedUntilMs = 0): string {
  return dueAtMs === undefined ? '' : `; tried again at ${iso(Math.max(dueAtMs, pausedUntilMs))}`;
}

function pauseWords(target: string, { untilMs, reason, behind }: NonNullable<KnownDelivery['pause']>): string {
  if (behind !== undefined) return reason;
  return `${target} asks for a pause until ${iso(untilMs)}: ${reason}`;
}
