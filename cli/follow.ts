/** Continues a command that shows what happens, until the gateway ends; Ctrl-C ends it as any other command. */

import type { ControlClient } from '../runtime/control/client.ts';
import { NotRunning } from './call.ts';
import type { GatewayPlace } from './context.ts';

/**
 * Asks for the stream and waits for its end. Rejects with NotRunning when the gateway ends or dies: a script must not take
 * that for the user's wish.
 * @see CLI-2 and CLI-6 in docs/specification.md
 */
export async function followUntilEnd(
  client: ControlClient,
  gateway: GatewayPlace,
  begin: () => Promise<void>,
): Promise<never> {
  try {
    await begin();
  } catch (thrown) {
    client.close();
    if ((thrown as { readonly code?: unknown }).code !== 'gateway-gone') throw thrown;
  }
  await client.closed;
  throw new NotRunning(gateway);
}
