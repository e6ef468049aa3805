/**
 * Listens for changed lists of a server of the stateless era, which says nothing unasked: changes come on a stream, which is
 * opened again whenever the server ends it or does not give it. Reads nothing of the lists.
 * @see FLT-4 in docs/specification.md
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/client';

export interface ChangeListener {
  /** Something changed while nobody listened, which is not told again; what changes while somebody does, the client tells. */
  readonly missed: () => void;
  /** The stream is not given; it is asked for again. */
  readonly refused: (thrown: unknown) => void;
  /** The end of the session. */
  readonly signal: AbortSignal;
}

export interface ListenTimes {
  /** From the loss to the first try; twice as long each time. */
  readonly firstMs: number;
  readonly longestMs: number;
}

const usualTimes: ListenTimes = { firstMs: 1_000, longestMs: 60_000 };

/** Resolves when the session is over, or at once where the server has no list that changes. */
export async function subscribeToChanges(
  client: Pick<Client, 'listen' | 'getServerCapabilities'>,
  { missed, refused, signal }: ChangeListener,
  { firstMs, longestMs }: ListenTimes = usualTimes,
): Promise<void> {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  const filter = {
    ...(tools?.listChanged === true ? { toolsListChanged: true } : {}),
    ...(resources?.listChanged === true ? { resourcesListChanged: true } : {}),
    ...(prompts?.listChanged === true ? { promptsListChanged: true } : {}),
  };
  if (Object.keys(filter).length === 0) return;
  let isFirst = true;
  for (let waitMs = firstMs; !signal.aborted; waitMs = Math.min(waitMs * 2, longestMs)) {
    try {
      const subscription = await client.listen(filter, { signal });
      if (!isFirst) missed();
      const openedAtMs = performance.now();
      const why = await subscription.closed;
      if (why === 'local') return;
      // One that ends at once is no better than one that is not given.
      if (performance.now() - openedAtMs >= firstMs) waitMs = firstMs;
    } catch (thrown) {
      refused(thrown);
    }
    isFirst = false;
    await wait(waitMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
