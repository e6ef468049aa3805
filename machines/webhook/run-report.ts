/**
 * What a delivery reports to a system that follows runs, in addition to its text: what happened, to which event and run, and
 * the run's cost. The same for each attempt of a delivery.
 * @see DLV-6 in docs/specification.md
 */

import { defined, type JsonObject } from '../base/json.ts';
import type { DeliveryRecord, RunRecord } from './record.ts';

export interface RunReport {
  /** The delivery's id, as `agent deliveries list` shows it. */
  readonly id: string;
  readonly type: 'run.accepted' | 'run.approval' | 'run.finished' | 'run.failed' | 'event.accepted';
  /** When it happened, as ISO 8601. */
  readonly timestamp: string;
  readonly data: JsonObject;
}

/**
 * Returns the report of a delivery; a direct delivery reports its event.
 * @param run the run of the delivery; undefined for a direct delivery, or if the history no longer has it
 */
export function runReport(id: string, record: DeliveryRecord, run: RunRecord | undefined): RunReport {
  const { eventKey, deliveryId, event, route, profile, failedRun, progress, queuedAtMs } = record;
  const runKey = reportedRun(record);
  const ended = failedRun !== undefined ? 'run.failed' : runKey !== undefined ? 'run.finished' : 'event.accepted';
  const type = progress === undefined ? ended : (`run.${progress.kind}` as const);
  const failure = run?.status === 'interrupted' ? 'interrupted' : 'failed';
  const status = {
    'run.accepted': 'accepted',
    'run.approval': 'waiting for approval',
    'run.finished': 'finished',
    'run.failed': failure,
    'event.accepted': 'accepted',
  }[type];
  return {
    id,
    type,
    timestamp: new Date(queuedAtMs).toISOString(),
    data: {
      status,
      event_id: eventKey,
      delivery_id: deliveryId,
      event,
      route,
      profile,
      ...(runKey === undefined ? {} : { run_id: runKey }),
      ...(progress?.kind === 'approval' ? { question: { ...progress.question } } : {}),
      ...(run === undefined || progress !== undefined ? {} : ofRun(run, type)),
    },
  };
}

/** The run that a delivery reports; undefined for a direct one. */
export function reportedRun({ runKey, failedRun, progress }: DeliveryRecord): string | undefined {
  return progress?.run ?? failedRun ?? runKey;
}

function ofRun(
  { attempt, reason, steps, inputTokens, cachedTokens, outputTokens, cost }: RunRecord,
  type: string,
): JsonObject {
  return {
    attempts: attempt,
    ...(type === 'run.failed' && reason !== undefined ? { reason } : {}),
    ...(steps === undefined || inputTokens === undefined || outputTokens === undefined
      ? {}
      : {
          usage: defined({
            steps,
            input_tokens: inputTokens,
            cached_tokens: cachedTokens,
            output_tokens: outputTokens,
            cost,
          }),
        }),
  };
}
