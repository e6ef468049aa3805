/**
 * Decides what a call on a tool needs from a person before it is sent, and what happens to it when the connection is
 * lost under it. Both hang on the one hint of the server that its tool only reads. Knows no surface and no transport.
 * @see TRU-1 and TRU-2 in docs/specification.md
 */

import type { ServerSettings } from './server-settings.ts';

/** As the server sends them: only `true` itself counts, not a word or a number for it. */
export interface ToolAnnotations {
  readonly readOnlyHint?: unknown;
}

export interface LostCall {
  readonly annotations: ToolAnnotations | undefined;
  /** This call has been replayed once already. */
  readonly replayed: boolean;
  /** Any part of the request may have reached the server, in this attempt or an earlier one. */
  readonly dispatched: boolean;
}

/** `send`: nothing reached the server, so the new connection sends the call for the first time. */
export type AfterLostCall = 'replay' | 'outcomeUncertain' | 'send';

/** Tells whether a person is asked before anything is sent. */
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
