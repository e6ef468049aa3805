/** What changes something: left out of a session that may only read. @see SEC-1 in docs/specification.md */

import type { ComponentChildren } from 'preact';
import { useCell } from '../data/cell.ts';
import { guest } from '../data/session.ts';

/** Every button, field, key and command that changes something stands below this, or behind `useMayAct`. */
export function Acts({ children }: { readonly children: ComponentChildren }): ComponentChildren {
  return useMayAct() ? children : null;
}

/** Whether the session may change anything; false until the daemon has said for whom it is. */
export function useMayAct(): boolean {
  const who = useCell(guest);
  return who !== undefined && who.role !== 'reader';
}
