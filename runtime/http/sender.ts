/**
 * Identifies the sender behind an address, so that its use of limits and its repetitions are counted together.
 * @see SEC-3 and SEC-8 in docs/specification.md
 */

import { isLoopback } from '../../machines/base/loopback.ts';

/**
 * The network of an IPv6 address is one sender, since its owner controls all of it; an IPv4 address is one in every
 * notation. Undefined for this machine, whose proxy may carry all senders.
 */
export function senderOf(address: string): string | undefined {
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
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return groups.join(':') === '0:0:0:0:0:0:0:1' ? '::1' : `${network.join(':')}::/64`;
}

/** The eight groups of an IPv6 address in any notation (RFC 4291 §2.2). */
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
