/** Ports of the loopback for specs of redirects. */

import { createServer } from 'node:net';

export const pinned = [27_890, 27_891, 27_892, 27_893, 27_894];

/** The redirect port that an authorization request names. */
export function portOf(url: string | undefined): number {
  return Number(new URL(new URL(url ?? '').searchParams.get('redirect_uri') ?? '').port);
}

/** Whether nobody holds a port. */
export async function free(port: number): Promise<boolean> {
  try {
    (await hold(port))();
    return true;
  } catch {
    return false;
  }
}

/** Binds a port; resolves with what lets go of it. */
export function hold(port: number): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(() => void server.close()));
  });
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
