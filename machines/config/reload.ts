/** Tells what of the old settings the new ones change, for what must be opened anew. @see CFG-2 in docs/specification.md */

import type { Settings } from './settings.ts';

/** Whether both listen at the same address with the same kind of front. */
export function sameListener(one: Settings, other: Settings): boolean {
  return (
    one.webhook.enabled === other.webhook.enabled &&
    one.webhook.host === other.webhook.host &&
    one.webhook.port === other.webhook.port &&
    one.gateway.front === other.gateway.front
  );
}
