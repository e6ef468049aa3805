/**
 * Decides whether a tool call needs a person's approval, and what happens to it when the connection is lost. Both depend on
 * the server's read-only hint.
 * @see TRU-1 and TRU-2 in docs/specification.md
 */

import type { ServerSettings } from './server-settings.ts';

/** As sent by the server: only `true` counts, not a string or a number. */
export interface ToolAnnotations {
  readonly readOnlyHint?: unknown;
}

interface LostCall {
  readonly annotations: ToolAnnotations | undefined;
  /** This call was already replayed once. */
  readonly replayed: boolean;
  /** Any part of the request may have reached the server, in this attempt or an earlier one. */
  readonly dispatched: boolean;
}

/** `send`: nothing reached the server, so the new connection sends the call for the first time. */
type AfterLostCall = 'replay' | 'outcomeUncertain' | 'send';

/** Whether a person is asked before anything is sent. */
export function needsApproval(trust: ServerSettings['trust'], annotations: ToolAnnotations | undefined): boolean {
  return trust !== 'full' && !isReadOnly(annotations);
}

/** Decides about a call whose session or child is gone; a call that may have changed something is never sent twice. */
export function afterLostCall({ annotations, replayed, dispatched }: LostCall): AfterLostCall {
  if (!dispatched) return 'send';
  return isReadOnly(annotations) && !replayed ? 'replay' : 'outcomeUncertain';
}

export function isReadOnly(annotations: ToolAnnotations | undefined): boolean {
  return annotations?.readOnlyHint === true;
}
