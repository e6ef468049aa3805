/**
 * Where the notice of a failed run is sent, from the keys of its route or cron job.
 * @see DIS-4 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import type { Route } from './route.ts';
import { canonicalTarget } from './targets.ts';

export interface NoticePlace {
  /** The target as configured. */
  readonly target: string;
  readonly extra: JsonObject;
}

export type NoticeKeys = Pick<Route, 'deliver' | 'deliverExtra' | 'onFailure' | 'onFailureExtra'>;

/**
 * Returns where the notices of a route or cron job are sent; undefined without `on_failure`. Without its own extra, a notice
 * to the target of `deliver` goes to the same place, and one to another target goes to that target's home channel.
 */
export function noticePlace({ deliver, deliverExtra, onFailure, onFailureExtra }: NoticeKeys): NoticePlace | undefined {
  if (onFailure === undefined) return undefined;
  const isSame = canonicalTarget(onFailure) === canonicalTarget(deliver);
  return { target: onFailure, extra: onFailureExtra ?? (isSame ? deliverExtra : {}) };
}
