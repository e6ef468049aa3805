/**
 * Chooses the front: the one that is configured, else uWebSockets.js where its binary loads and node:http elsewhere.
 * Says which in one line.
 */

import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import type { ExchangeHandler, Front, FrontSettings } from './front.ts';
import { openNodeFront } from './node.ts';
import { loadUws, openUwsFront } from './uws.ts';

export async function openFront(
  choice: 'auto' | 'uws' | 'node',
  settings: FrontSettings,
  handle: ExchangeHandler,
  log: Logger,
): Promise<Front> {
  const missing = choice === 'node' ? undefined : await whyNotLoadable();
  if (choice === 'uws' && missing !== undefined) {
    throw new Error(
      `webhook listener: gateway.front is "uws" but uWebSockets.js cannot load: ${missing}; set gateway.front to "auto" or "node"`,
    );
  }
  const useNode = choice === 'node' || missing !== undefined;
  const front = await (useNode ? openNodeFront : openUwsFront)(settings, handle);
  log.log(
    'info',
    useNode && missing !== undefined
      ? `front: node:http (uWebSockets.js cannot load: ${missing})`
      : `front: ${front.kind === 'uws' ? 'uWebSockets.js' : 'node:http'}`,
  );
  return front;
}

/** The library ends its error with the linker's own words, after a sentence about hosts in general. */
export async function whyNotLoadable(): Promise<string | undefined> {
  try {
    await loadUws();
    return undefined;
  } catch (thrown) {
    const lines = causeOf(thrown)
      .split('\n')
      .filter((line) => line.trim() !== '');
    return lines.at(-1)?.replace(/^Error: /, '') ?? '';
  }
}
