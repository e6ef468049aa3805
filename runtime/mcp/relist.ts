/**
 * Lists the tools of a connected server again when it reports that they changed: one listing at a time, with a pause after
 * each. What changes during a listing is listed afterwards, and a failed listing is tried again.
 * @see FLT-4 and LIF-14 in docs/specification.md
 */

import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { backoffMs } from '../../machines/base/restart.ts';
import type { ListName } from '../../machines/mcp/offers.ts';
import { untrustedWords } from '../../machines/mcp/untrusted-words.ts';

interface RelistPorts {
  readonly server: string;
  /** Whether the session is the current one of its connection; before that, changes only wait. */
  readonly isLive: () => boolean;
  readonly listTools: () => Promise<void>;
  /** Resources and prompts are listed when a client requests them. */
  readonly announce: (lists: readonly ListName[]) => void;
  /** How long the event loop has been busy, in milliseconds that only rise. */
  readonly busyMs: () => number;
  readonly log: Logger;
}

/** Minimum interval of listings for a server that reports changes of its tools continuously. */
const pauseMs = 1_000;
/** A failed listing is retried as long as its session lives, because the registered tools are outdated until it succeeds. */
const retry = { baseDelayMs: pauseMs, maxDelayMs: 60_000 };
/** The pause after a listing, as a multiple of the time that the loop was busy during it (LIF-14). */
const pausePerCost = 20;

/** Returns a function that takes the changed lists; without any, it begins with those that wait. */
export function createRelist({ server, isLive, listTools, announce, busyMs, log }: RelistPorts) {
  const stale = new Set<ListName>();
  let isListing = false;
  let failures = 0;

  async function listOnce(): Promise<void> {
    try {
      await listTools();
      failures = 0;
    } catch (thrown) {
      if (!isLive()) return;
      stale.add('tools');
      failures += 1;
      const why = `its changed tools cannot be listed and stay as they were: ${untrustedWords(causeOf(thrown))}`;
      log.log(failures === 1 ? 'warn' : 'debug', `mcp server "${server}": ${why}; it is tried again`);
    }
  }

  return async (lists: readonly ListName[]): Promise<void> => {
    for (const list of lists) stale.add(list);
    if (isListing) return;
    isListing = true;
    while (stale.size > 0 && isLive()) {
      const isOfTools = stale.delete('tools');
      if (stale.size > 0) announce([...stale]);
      stale.clear();
      const beganAtMs = busyMs();
      if (isOfTools) await listOnce();
      const costMs = Math.min(pausePerCost * (busyMs() - beganAtMs), retry.maxDelayMs);
      const waitMs = Math.max(costMs, backoffMs(retry, Math.max(0, failures - 1)));
      await new Promise<void>((resolve) => setTimeout(resolve, waitMs).unref());
    }
    isListing = false;
  };
}
