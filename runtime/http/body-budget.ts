/**
 * Bounds the memory of bodies whose signature is not checked yet, over all connections and for each address. Where it is
 * spent, the sender is asked to come back. One body always fits, however small the budget.
 * @see SEC-3 in docs/specification.md
 */

import { leastBytes } from './body-reader.ts';
import { senderOf } from './sender.ts';

/** What one body holds of the budget. */
export interface BodyAccount {
  /** Holds so many bytes more; false where there is no room for them. */
  grow(bytes: number): boolean;
  /** Gives back all that the body holds. */
  close(): void;
}

export interface BodyBudget {
  /** Returns undefined where the declared length does not fit into what is left. */
  open(address: string, declaredBytes?: number): BodyAccount | undefined;
}

/** One address may hold half of all: its neighbours find the other half. */
const sharePerAddress = 0.5;

export function createBodyBudget(limitBytes: () => number): BodyBudget {
  const held = new Map<string, number>();
  let all = 0;

  /** Whether so many bytes fit beside those of other bodies; a body that holds all there is has no others. */
  function hasRoom(sender: string | undefined, bytes: number, own: number): boolean {
    const limit = limitBytes();
    if (all > own && all + bytes > limit) return false;
    const its = sender === undefined ? own : (held.get(sender) ?? 0);
    return its === own || its + bytes <= limit * sharePerAddress;
  }

  function hold(sender: string | undefined, bytes: number): void {
    all += bytes;
    if (sender === undefined) return;
    const its = (held.get(sender) ?? 0) + bytes;
    if (its > 0) held.set(sender, its);
    else held.delete(sender);
  }

  return {
    open(address, declaredBytes = 0) {
      // Senders behind a proxy on this machine must not share what one may hold.
      const sender = senderOf(address);
      if (declaredBytes > 0 && !hasRoom(sender, declaredBytes, 0)) return undefined;
      // A slow sender must not hold room for what it only announced: no more than what has to come within one span.
      let own = Math.min(declaredBytes, leastBytes);
      let grown = 0;
      hold(sender, own);
      return {
        grow(bytes) {
          const more = grown + bytes - own;
          if (more > 0) {
            if (!hasRoom(sender, more, own)) return false;
            own += more;
            hold(sender, more);
          }
          grown += bytes;
          return true;
        },
        close() {
          hold(sender, -own);
          own = 0;
        },
      };
    },
  };
}
