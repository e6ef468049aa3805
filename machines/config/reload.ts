/** Which settings require reopening on reload. @see CFG-2 in docs/specification.md */

import type { Settings } from './settings.ts';

/** Whether both listen at the same address with the same kind of HTTP server. */
export function sameListener(one: Settings, other: Settings): boolean {
  return (
    one.webhook.enabled === other.webhook.enabled &&
    one.webhook.host === other.webhook.host &&
    one.webhook.port === other.webhook.port &&
    one.gateway.front === other.gateway.front
  );
}
