/**
 * Bounds the memory of bodies whose signature is not checked yet, over all connections and per address. When it is used
 * up, senders are asked to retry. One body always fits, however small the budget.
 * @see SEC-3 in docs/specification.md
 */

import { leastBytes } from './body-reader.ts';
import { senderOf } from './sender.ts';

/** The share of the budget that one body holds. */
export interface BodyAccount {
  /** Reserves more bytes; false if there is no room for them. */
  grow(bytes: number): boolean;
  /** Releases everything that the body holds. */
  close(): void;
}

export interface BodyBudget {
  /** Returns undefined if the declared length does not fit into the rest of the budget. */
  open(address: string, declaredBytes?: number): BodyAccount | undefined;
}

/** One address may hold half of the budget, so the other half stays free for others. */
const sharePerAddress = 0.5;

export function createBodyBudget(limitBytes: () => number): BodyBudget {
  const held = new Map<string, number>();
  let all = 0;

  /** Whether the bytes fit beside those of other bodies; a body that is alone always fits. */
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
      // Senders behind a proxy on this machine have no common limit.
      const sender = senderOf(address);
      if (declaredBytes > 0 && !hasRoom(sender, declaredBytes, 0)) return undefined;
      // A slow sender must not reserve everything it declared, only what must arrive within one span.
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
