/**
 * Chooses the HTTP server: the configured one, else uWebSockets.js if its binary loads and passes its self-test, else
 * node:http. Logs the choice in one line, with the reason if it is not the preferred one.
 * @see RTE-4 in docs/specification.md
 */

import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import {
  type ExchangeHandler,
  type HttpServer,
  type HttpServerSettings,
  httpServerNames,
  type OpenHttpServer,
} from './http-server.ts';
import { failedProofs, type NativeFault, whyNotLoadable } from './native.ts';
import { openNodeServer } from './node.ts';
import { openUwsServer } from './uws.ts';

interface Native {
  /** Why it cannot load; undefined if it can. */
  readonly whyNotLoadable: () => NativeFault | undefined;
  readonly open: OpenHttpServer;
  /** How long each proof of the self-test may take to answer; two seconds unless given. */
  readonly proofLimitMs?: number;
}

/**
 * Installs the library beside the package. Its authors do not publish it on npm, so this is a republication
 * (docs/decisions/0006).
 */
export const installCommand = 'npm i uWebSockets.js@npm:@btc-vision/uwebsockets.js@20.57.0';

export const native: Native = { whyNotLoadable, open: openUwsServer };

export interface HttpServerChoice {
  readonly choice: 'auto' | 'uws' | 'node';
  readonly settings: HttpServerSettings;
  readonly library?: Native;
}

export async function openHttpServer(
  { choice, settings, library = native }: HttpServerChoice,
  handle: ExchangeHandler,
  log: Logger,
): Promise<HttpServer> {
  const fault = choice === 'node' ? undefined : await faultOf(library);
  if (choice === 'uws' && fault !== undefined && fault.kind !== 'invalid') {
    const install = fault.kind === 'absent' ? `install it (${installCommand}) or ` : '';
    throw new Error(
      `webhook listener: gateway.front is "uws" but uWebSockets.js ${fault.text}; ${install}set gateway.front to "auto" or "node"`,
    );
  }
  const useNode = choice === 'node' || (choice === 'auto' && fault !== undefined);
  const opened = await (useNode ? openNodeServer : library.open)(settings, handle);
  const name = httpServerNames[opened.kind];
  const isExpected = fault === undefined || fault.kind === 'absent';
  log.log(
    isExpected ? 'info' : 'warn',
    isExpected ? `HTTP server: ${name}` : `HTTP server: ${name} (uWebSockets.js ${fault.text})`,
  );
  return isExpected ? opened : { ...opened, remark: fault.text };
}

/** Resolves with undefined if the library loads and passes its self-test; a test that cannot run counts as failed. */
export async function faultOf({ whyNotLoadable, open, proofLimitMs }: Native): Promise<NativeFault | undefined> {
  const missing = whyNotLoadable();
  if (missing !== undefined) return missing;
  try {
    const failed = await failedProofs(open, proofLimitMs);
    return failed.length === 0 ? undefined : { kind: 'invalid', text: `does not take ${failed.join(', ')}` };
  } catch (thrown) {
    return { kind: 'invalid', text: `cannot run its self-test: ${causeOf(thrown)}` };
  }
}
