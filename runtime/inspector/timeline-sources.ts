/** The input of a timeline: the records of one event, the state of its actors, and the words for their numbers and times. */

import type { JsonObject } from '../../machines/base/json.ts';
import type { Hold } from '../../machines/config/hints.ts';
import type { DeliveryRecord, EventRecord, GroupRecord, RunRecord } from '../../machines/webhook/record.ts';
import { placesOf } from '../../machines/webhook/responses.ts';
import type { StepRow } from '../control/contract/wire.ts';
import type { Alike } from '../dispatch/find-event.ts';
import type { PlatformPause } from '../dispatch/target-queue.ts';
import type { WaitingQuestion } from '../mcp/approvals.ts';
import type { CallMemo } from '../mcp/call-memory.ts';
import type { CallUnderWay } from '../mcp/calls.ts';

/** The calls and questions of one run, which are not in its records. */
export interface WorkOfRun {
  /** Settled calls that are still in memory. */
  readonly calls: readonly CallMemo[];
  readonly callsUnderWay: readonly CallUnderWay[];
  readonly questions: readonly WaitingQuestion[];
}

export const noWork: WorkOfRun = { calls: [], callsUnderWay: [], questions: [] };

export interface KnownDelivery {
  readonly key: string;
  readonly record: DeliveryRecord;
  readonly pause?: PlatformPause | undefined;
}

export interface TimelineSources extends WorkOfRun {
  readonly key: string;
  readonly event: EventRecord;
  /** The equal requests that were refused with it. */
  readonly alike?: Alike;
  /** The status that a row of the history shows. */
  readonly status: string;
  readonly run?: { readonly key: string; readonly record: RunRecord };
  /** What keeps the run from beginning. */
  readonly held?: Hold | undefined;
  /** Those of its text or response, then the notices that its run failed. */
  readonly deliveries: readonly KnownDelivery[];
  /** The batch in which the event waits. */
  readonly group?: { readonly key: string; readonly record: GroupRecord };
  /** The transcript of the run; empty if none was kept. */
  readonly transcript: readonly JsonObject[];
  /** Returns the steps of an actor that were recorded or are in its own trail. */
  readonly stepsOf: (actor: string) => readonly StepRow[];
  /** Returns the state of a running actor; undefined if it has ended. */
  readonly stateOf: (actor: string) => string | undefined;
}

/** Returns the deliveries without the failure notices. */
export function ownDeliveries({ deliveries }: Pick<TimelineSources, 'deliveries'>): readonly KnownDelivery[] {
  return deliveries.filter(({ record }) => record.failedRun === undefined);
}

/** Returns the questions that are not a call's approval: those of the run itself, and the forms of servers. */
export function ownQuestions({ callsUnderWay, questions }: WorkOfRun): readonly WaitingQuestion[] {
  return questions.filter(({ id }) => !callsUnderWay.some(({ approval }) => approval === id));
}

/** Returns the key under which its batch gathers events; undefined without a batch. */
export function groupKeyOf({ event, group, run }: TimelineSources): string | undefined {
  return event.told?.groupKey ?? group?.record.groupKey ?? run?.record.group;
}

export const runForgotten = 'Accepted; its run is no longer in the history.';

/** Whether the run of an event is no longer kept: a batch's run has the age of its first event, and goes before later ones. */
export function isRunForgotten({ event, run, group, deliveries }: TimelineSources): boolean {
  return event.work !== undefined && run === undefined && group === undefined && deliveries.length === 0;
}

/** Returns the targets of an event's response or text: `slack and mattermost`. */
export function targetsOf(event: EventRecord): string {
  return placesOf(event)
    .map(({ target }) => target)
    .join(' and ');
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export function seconds(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}
