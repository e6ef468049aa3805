/**
 * The other gateways of the database: connected to at the first use, and listened to while the journal has a session.
 * @see SCA-3 in docs/specification.md
 */

import type { Neighbours } from '../../actors/store/postgres-neighbours.ts';
import type { Every } from '../system/ticks.ts';

interface NeighbourAccessPorts {
  readonly connect: () => Promise<Neighbours>;
  /** False while the journal has no session, in whose name the gateway answers. */
  readonly mayAnswer: () => boolean;
  readonly every: Every;
}

/** How often a lost notification of a request is made up for. */
const listenMs = 3_000;

export function createNeighbourAccess({ connect, mayAnswer, every }: NeighbourAccessPorts) {
  let known: Promise<Neighbours> | undefined;
  let isClosed = false;
  const reach = (): Promise<Neighbours> => {
    if (isClosed) return Promise.reject(new Error('the connection to the other gateways is closed'));
    known ??= connect().catch((thrown: unknown) => {
      known = undefined;
      throw thrown;
    });
    return known;
  };
  const listen = async (): Promise<void> => {
    if (mayAnswer()) await (await reach()).listen();
  };
  const stopListening = every(() => void listen().catch(() => {}), listenMs);

  return {
    /** Rejects if they cannot be connected to, and the next call tries again; also once it is closed. */
    reach,
    async close(): Promise<void> {
      isClosed = true;
      stopListening();
      const neighbours = await known?.catch(() => undefined);
      await neighbours?.close();
    },
  };
}
