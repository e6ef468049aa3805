/**
 * Whether an address can be bound: binds it for a moment and releases it. Sends nothing.
 * @see ADP-1 and CLI-1 in docs/specification.md
 */

import { createServer } from 'node:net';

/** How many ports are tried. */
const maxTries = 100;

/** The system's error code, such as `EADDRINUSE`, if the address cannot be bound; else undefined. Never rejects. */
export function bindingFault(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** The first bindable port above the given one; 0 (any free port) if none of the next hundred is. */
export async function freePortAbove(host: string, port: number): Promise<number> {
  for (let next = port + 1; next <= Math.min(port + maxTries, 65_535); next += 1) {
    if ((await bindingFault(host, next)) === undefined) return next;
  }
  return 0;
}

/** Why an address cannot be bound, as a clause. @param code what `bindingFault` resolved with */
export function whyUnbound(code: string): string {
  if (code === 'EADDRINUSE') return 'another program has it';
  if (code === 'EACCES') return 'ports below 1024 need rights that this user has not';
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'no interface of this machine has that address';
  return `the system refuses it (${code})`;
}
