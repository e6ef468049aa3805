/** Agent runs of the history. */

import type { Json } from '../../../machines/base/json.ts';
import type { DeliveryRecord, RunRecord, RunRow } from '../../../machines/webhook/record.ts';
import type { HistoryQuery } from './choices.ts';

/** What a run, or a turn of a chat, has used. */
export interface ModelUse {
  /** Requests to the model. */
  readonly steps?: number;
  readonly input_tokens?: number;
  /** Those of the input that the endpoint had in its cache. */
  readonly cached_tokens?: number;
  readonly output_tokens?: number;
  readonly cost?: number;
}

export interface RunDetail extends RunRow, ModelUse {
  readonly prompt: string;
  readonly response: string | null;
  readonly delivery?: DeliveryRecord;
  /** All deliveries, if the response has several. */
  readonly deliveries?: readonly DeliveryRecord[];
  /** The delivery of the notice about the failure. */
  readonly notice?: DeliveryRecord;
  /** Present if requested. */
  readonly transcript?: Json;
}

/**
 * A run's record for display: an interrupted run is shown as waiting, whatever the disk says. `heldBy` is the session
 * that holds it: a run of another gateway is not interrupted.
 */
export type SeenRun = (key: string, record: RunRecord, heldBy: string | undefined) => RunRecord;

/** The agent runs of a journal. */
export interface RunHistory {
  /** The rows of the matching runs, newest first. */
  runs(query: HistoryQuery): Promise<readonly RunRow[]>;
  /** How many runs of a route have not begun. */
  waiting(route: { readonly route: string; readonly profile: string }): Promise<number>;
  /**
   * One run with its prompt, response and delivery, by its id, a unique prefix of the id or `latest`; undefined if none
   * matches.
   */
  run(id: string, more?: { readonly transcript?: boolean }): Promise<RunDetail | undefined>;
}
