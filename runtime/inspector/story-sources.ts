/** The input of a timeline: the records of one event, and the state of its actors. */

import type { JsonObject } from '../../machines/base/json.ts';
import type { DeliveryRecord, EventRecord, GroupRecord, RunRecord } from '../../machines/webhook/record.ts';
import type { PlatformPause } from '../dispatch/target-lane.ts';
import type { Alike } from '../webhook/find-event.ts';
import type { WorkOfRun } from './story-calls.ts';
import type { StepRow } from './wire.ts';

export interface StorySources extends WorkOfRun {
  readonly key: string;
  readonly event: EventRecord;
  /** The equal requests that were refused with it. */
  readonly alike?: Alike;
  /** The status that a row of the history shows. */
  readonly status: string;
  readonly run?: { readonly key: string; readonly record: RunRecord };
  readonly delivery?: {
    readonly key: string;
    readonly record: DeliveryRecord;
    readonly pause?: PlatformPause | undefined;
  };
  /** Its further deliveries, if the response has several. */
  readonly others?: readonly NonNullable<StorySources['delivery']>[];
  /** The deliveries of the notices that its run failed. */
  readonly notices?: StorySources['others'];
  /** The batch in which the event waits. */
  readonly group?: { readonly key: string; readonly record: GroupRecord };
  /** The transcript of the run; empty if none was kept. */
  readonly transcript: readonly JsonObject[];
  /** Returns the steps of an actor that were recorded or are in its own trail. */
  readonly stepsOf: (actor: string) => readonly StepRow[];
  /** Returns the state of a running actor; undefined if it has ended. */
  readonly stateOf: (actor: string) => string | undefined;
}
