/** Ports of the loopback for specs of redirects. */

import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import tap from 'tap';

export const pinned = [27_890, 27_891, 27_892, 27_893, 27_894];

/** The process that holds this one has the pinned ports for itself. */
const turnPort = 27_889;

let turn: Promise<void> | undefined;

/**
 * Resolves once no other process of specs counts on the pinned ports, which all processes of this machine share; none does
 * until this process has run its specs.
 */
export function pinnedTurn(): Promise<void> {
  turn ??= holdTurn();
  return turn;
}

async function holdTurn(): Promise<void> {
  for (;;) {
    try {
      tap.teardown(await hold(turnPort));
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
