/**
 * Says where the notice of a failed run goes, by the keys of its route or cron job. Knows no run.
 * @see DIS-4 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { canonicalTarget } from './targets.ts';

export interface NoticePlace {
  /** The target as configured. */
  readonly target: string;
  readonly extra: JsonObject;
}

export interface NoticeKeys {
  readonly deliver: string;
  readonly deliverExtra: JsonObject;
  readonly onFailure?: string;
  readonly onFailureExtra?: JsonObject;
}

/**
 * Returns where the notices of a route or a cron job go; undefined where it asks for none. Without an extra of its own a
 * notice to the target of `deliver` goes to the same place, and to another target's home channel.
 */
export function noticePlace({ deliver, deliverExtra, onFailure, onFailureExtra }: NoticeKeys): NoticePlace | undefined {
  if (onFailure === undefined) return undefined;
  const isSame = canonicalTarget(onFailure) === canonicalTarget(deliver);
  return { target: onFailure, extra: onFailureExtra ?? (isSame ? deliverExtra : {}) };
}
