/**
 * Decides which addresses of an authorization server may be used: TLS except on this machine, and only web addresses for a
 * person's browser.
 * @see OAU-1 and DEV-4 in docs/specification.md
 * @see [RFC 8414 §6.1](https://www.rfc-editor.org/rfc/rfc8414.html#section-6.1)
 */

import { isLoopback } from '../base/loopback.ts';

/** Whether an endpoint may be requested: over https, or on loopback. */
export function isSecureEndpoint(endpoint: string): boolean {
  if (!URL.canParse(endpoint)) return false;
  const { protocol, hostname } = new URL(endpoint);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** Whether a browser may open the address: nothing that runs or reads something on this machine. */
export function isWebAddress(address: string): boolean {
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol);
}

/** The refusal, with the part of the address that may be shown. */
export function insecureWords(what: string, endpoint: string): string {
  const shown = URL.canParse(endpoint) ? `${new URL(endpoint).protocol}//${new URL(endpoint).host}` : 'no address';
  return `${what} is not served over https (${shown}), so it is not used; ask the operator of the server`;
}
