/** Ports of the loopback for specs of redirects. */

import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Test } from 'tap';

export const pinned = [27_890, 27_891, 27_892, 27_893, 27_894];

/** Whoever holds this one has the pinned ones for himself. */
const turnPort = 27_889;

/**
 * Resolves once no other spec file counts on the pinned ports, which all of this machine share; until the given spec has
 * ended none does.
 */
export async function pinnedTurn(t: Pick<Test, 'teardown'>): Promise<void> {
  for (;;) {
    try {
      t.teardown(await hold(turnPort));
      return;
    } catch {
      await wait(50);
    }
  }
}

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
