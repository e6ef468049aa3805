/** Keeps a command that shows changes running until the gateway ends; Ctrl-C ends it like any other command. */

import { setTimeout as wait } from 'node:timers/promises';
import type { ConnectionLost, ControlClient } from '../runtime/control/client.ts';
import { NotRunning } from './call.ts';
import type { GatewayPlace } from './context.ts';

/**
 * Returns a wait that the end of the connection cuts short. A race with `closed` itself would leave something behind in it
 * at each turn, for as long as the gateway lives.
 */
export function pausesOf(client: ControlClient): (ms: number) => Promise<void> {
  const ended = new AbortController();
  void client.closed.then(() => ended.abort());
  return (ms) => wait(ms, undefined, { signal: ended.signal }).catch(() => {});
}

/**
 * Requests the stream and waits for its end. Rejects with NotRunning when the gateway ends or crashes, so that a script does
 * not mistake it for the user's Ctrl-C.
 * @see CLI-2 and CLI-6 in docs/specification.md
 */
export async function followUntilEnd(
  client: ControlClient,
  gateway: GatewayPlace,
  begin: () => Promise<void>,
): Promise<never> {
  await followConnection(client, begin);
  throw new NotRunning(gateway);
}

/** Requests the stream and waits for the end of the connection, by which a gateway also ends one that is read too slowly. */
export async function followConnection(client: ControlClient, begin: () => Promise<void>): Promise<void> {
  try {
    await begin();
  } catch (thrown) {
    client.close();
    const { code, isHung } = thrown as Partial<ConnectionLost>;
    if (code !== 'gateway-gone' || isHung === true) throw thrown;
  }
  await client.closed;
}
