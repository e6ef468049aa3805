/**
 * Whether a host is this machine, so that traffic to it never leaves it.
 * @see OAU-1 and TLS-2 in docs/specification.md
 * @see [RFC 6761 §6.3](https://www.rfc-editor.org/rfc/rfc6761.html#section-6.3)
 */

/** @param host of an address, in lower case, with or without the brackets of IPv6, as in `URL` */
export function isLoopback(host: string): boolean {
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '[::1]' ||
    host === '::1' ||
    /^127(?:\.\d{1,3}){3}$/.test(host)
  );
}

/** Whether what listens at this host is reached from this machine alone: a name that every system has, or a plain address. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
