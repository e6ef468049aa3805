/** What a story is composed from: the records of one event and what is known of their actors. */

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
  /** Its further deliveries, where its response has several. */
  readonly others?: readonly NonNullable<StorySources['delivery']>[];
  /** The deliveries of the notices that its run failed. */
  readonly notices?: StorySources['others'];
  /** The burst that the event waits in. */
  readonly group?: { readonly key: string; readonly record: GroupRecord };
  /** What was said between a run and its model, where it was kept. */
  readonly transcript: readonly JsonObject[];
  /** Steps of an actor that were seen or that it remembers itself. */
  readonly stepsOf: (actor: string) => readonly StepRow[];
  /** The state of a living actor; undefined for one that has ended. */
  readonly stateOf: (actor: string) => string | undefined;
}
