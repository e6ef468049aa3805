/**
 * Bounds the memory of bodies whose signature is not checked yet, over all connections and per address. When it is used
 * up, senders are asked to retry. One body always fits, however small the budget.
 * @see SEC-3 in docs/specification.md
 */

import { ChurnMap } from '../../machines/base/churn-map.ts';
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
  /**
   * Returns undefined if the declared length does not fit into the rest of the budget.
   * @param address called only while much of the budget is used: on a native server it costs much
   */
  open(address: () => string, declaredBytes?: number): BodyAccount | undefined;
}

/** One address may hold half of the budget, so the other half stays free for others. */
const sharePerAddress = 0.5;
/** Up to this share of the budget no sender is near its limit, and addresses are not asked for. */
const unaskedShare = 1 / 32;

interface Holder {
  readonly address: () => string;
  isAsked: boolean;
  /** Undefined until it is asked, and if its bytes have no common limit: those of senders behind a proxy on this machine. */
  sender: string | undefined;
  own: number;
}

export function createBodyBudget(limitBytes: () => number): BodyBudget {
  const held = new Map<string, number>();
  /** Open accounts whose address is not known yet. */
  const unasked = new ChurnMap<Holder, true>();
  let all = 0;

  /** Whether the bytes fit beside those of other bodies; a body that is alone always fits. */
  function hasRoom(holder: Holder, bytes: number): boolean {
    const limit = limitBytes();
    const { own } = holder;
    if (all > own && all + bytes > limit) return false;
    if (all + bytes <= limit * unaskedShare) return true;
    ask(holder);
    unasked.each(ask);
    const its = holder.sender === undefined ? own : (held.get(holder.sender) ?? 0);
    return its === own || its + bytes <= limit * sharePerAddress;
  }

  function ask(holder: Holder): void {
    if (holder.isAsked) return;
    holder.isAsked = true;
    unasked.delete(holder);
    holder.sender = senderOf(holder.address());
    add(holder.sender, holder.own);
  }

  function add(sender: string | undefined, bytes: number): void {
    if (sender === undefined) return;
    const its = (held.get(sender) ?? 0) + bytes;
    if (its > 0) held.set(sender, its);
    else held.delete(sender);
  }

  function hold(holder: Holder, bytes: number): void {
    all += bytes;
    holder.own += bytes;
    add(holder.sender, bytes);
  }

  return {
    open(address, declaredBytes = 0) {
      const holder: Holder = { address, isAsked: false, sender: undefined, own: 0 };
      if (declaredBytes > 0 && !hasRoom(holder, declaredBytes)) return undefined;
      // A slow sender must not reserve everything it declared, only what must arrive within one span.
      hold(holder, Math.min(declaredBytes, leastBytes));
      if (!holder.isAsked) unasked.set(holder, true);
      let grown = 0;
      return {
        grow(bytes) {
          const more = grown + bytes - holder.own;
          if (more > 0) {
            if (!hasRoom(holder, more)) return false;
            hold(holder, more);
          }
          grown += bytes;
          return true;
        },
        close() {
          hold(holder, -holder.own);
          unasked.delete(holder);
        },
      };
    },
  };
}
