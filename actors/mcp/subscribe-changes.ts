/**
 * Listens for changed lists of a server of the stateless era, which sends changes only on a requested stream. The stream
 * is reopened whenever the server ends or refuses it.
 * @see FLT-4 in docs/specification.md
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/client';

interface ChangeListener {
  /** A change may have been missed while no stream was open. The client itself reports changes on an open stream. */
  readonly missed: () => void;
  /** The stream was refused; it is requested again. */
  readonly refused: (thrown: unknown) => void;
  /** Aborts with the session. */
  readonly signal: AbortSignal;
}

interface ListenTimes {
  /** From the loss to the first attempt; doubles each time. */
  readonly firstMs: number;
  readonly maxMs: number;
}

const defaultTimes: ListenTimes = { firstMs: 1_000, maxMs: 60_000 };

/** Resolves when the session is over, or at once if the server announces no changes. */
export async function subscribeToChanges(
  client: Pick<Client, 'listen' | 'getServerCapabilities'>,
  { missed, refused, signal }: ChangeListener,
  { firstMs, maxMs }: ListenTimes = defaultTimes,
): Promise<void> {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  const filter = {
    ...(tools?.listChanged === true ? { toolsListChanged: true } : {}),
    ...(resources?.listChanged === true ? { resourcesListChanged: true } : {}),
    ...(prompts?.listChanged === true ? { promptsListChanged: true } : {}),
  };
  if (Object.keys(filter).length === 0) return;
  let isFirst = true;
  for (let waitMs = firstMs; !signal.aborted; waitMs = Math.min(waitMs * 2, maxMs)) {
    try {
      const subscription = await client.listen(filter, { signal });
      if (!isFirst) missed();
      const openedAtMs = performance.now();
      const why = await subscription.closed;
      if (why === 'local') return;
      // Only a stream that lasted resets the wait.
      if (performance.now() - openedAtMs >= firstMs) waitMs = firstMs;
    } catch (thrown) {
      refused(thrown);
    }
    isFirst = false;
    await wait(waitMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
