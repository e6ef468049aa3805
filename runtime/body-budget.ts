/**
 * Bounds the memory of bodies whose signature is not checked yet, over all connections and for each address. Where it is
 * spent, the sender is asked to come back. One body always fits, however small the budget.
 * @see SEC-3 in docs/specification.md
 */

import { isLoopback } from '../machines/base/loopback.ts';
import { leastBytes } from './http/body-reader.ts';

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

/**
 * The network of an IPv6 address is one sender, since its owner has all of it; an IPv4 address is one in each notation.
 * Undefined for this machine: behind its proxy are all senders, which must not share what one may hold.
 */
function senderOf(address: string): string | undefined {
  const sender = networkOf(address);
  return isLoopback(sender) ? undefined : sender;
}

function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(6);
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:65535') {
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  return groups.join(':') === '0:0:0:0:0:0:0:1' ? '::1' : groups.slice(0, 4).join(':');
}

/** The eight groups of an IPv6 address, however it is written (RFC 4291 §2.2). */
function groupsOf(address: string): readonly number[] {
  const [before = [], after = []] = address.split('::').map((side) => side.split(':').flatMap(numbersIn));
  const zeros = Math.max(0, 8 - before.length - after.length);
  return [...before, ...new Array<number>(zeros).fill(0), ...after];
}

function numbersIn(part: string): readonly number[] {
  if (!part.includes('.')) return part === '' ? [] : [Number.parseInt(part, 16)];
  const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}
