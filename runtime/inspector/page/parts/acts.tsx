/** Hides what changes something in a session that may only read. @see SEC-1 in docs/specification.md */

import type { ComponentChildren } from 'preact';
import { useCell } from '../data/cell.ts';
import { guest } from '../data/session.ts';

/** Every button, field, key and command that changes something is inside this, or uses `useMayAct`. */
export function Acts({ children }: { readonly children: ComponentChildren }): ComponentChildren {
  return useMayAct() ? children : null;
}

/** Returns whether the session may change anything; false until the daemon has named the guest. */
export function useMayAct(): boolean {
  const who = useCell(guest);
  return who !== undefined && who.role !== 'reader';
}
