/** Goes on with a command that shows what happens until somebody ends it: the user, or the gateway. */

import type { ControlClient } from '../runtime/control/client.ts';
import { NotRunning } from './call.ts';
import type { ExitCode, GatewayPlace } from './context.ts';

/**
 * Asks for the stream and waits for its end. Ctrl-C is the user's: 0. A gateway that ends or dies leaves nothing to show,
 * and a script must not take that for the user's wish: rejects with NotRunning.
 * @see CLI-2 in docs/specification.md
 */
export async function followUntilEnd(
  client: ControlClient,
  gateway: GatewayPlace,
  begin: () => Promise<void>,
): Promise<ExitCode> {
  let isEnough = false;
  process.once('SIGINT', () => {
    isEnough = true;
    client.close();
  });
  try {
    await begin();
  } catch (thrown) {
    client.close();
    if ((thrown as { readonly code?: unknown }).code !== 'gateway-gone') throw thrown;
  }
  await client.closed;
  if (!isEnough) throw new NotRunning(gateway);
  return 0;
}
