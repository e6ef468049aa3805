/**
 * Reads what came of a call from what the SDK threw: an answer, a time that ran out, a session that ran out, a connection
 * that broke under it. What follows is decided elsewhere.
 * @see TRU-2, LIF-3 and LIF-8 in docs/specification.md
 */

import { InsufficientScopeError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import type { Json } from '../../machines/base/json.ts';
import { isSessionExpiry } from '../../machines/mcp/connect-failure.ts';
import { strangersWords } from '../../machines/mcp/strangers-words.ts';
import { readConnectError } from './connect-errors.ts';
import { streamEndedCode, streamEndedWords } from './mend-transport.ts';

export type CallOutcome =
  | { readonly kind: 'result'; readonly result: Json }
  /** The server said no: an error of JSON-RPC, or of HTTP below 500. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'timedOut'; readonly afterMs: number }
  | { readonly kind: 'cancelled' }
  /** The credentials are refused, and could not be renewed. */
  | { readonly kind: 'unauthorized' }
  /** The token does not reach this far: only a login for more can help. */
  | { readonly kind: 'needsScope'; readonly scope: string | undefined }
  /** The server has forgotten the session. */
  | { readonly kind: 'expired' }
  /** The connection broke; `dispatched` where any part of the call may have reached the server. */
  | { readonly kind: 'lost'; readonly dispatched: boolean; readonly why: string };

export interface CallCircumstances {
  readonly timeoutMs: number;
  readonly hadSession: boolean;
  readonly exitStatus: number | string | null | undefined;
  readonly whyClosed: string | undefined;
}

/** The system refused the connection itself: not a byte was sent. */
const neverSent = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT/;
/** The server answered, and the connection is well; the answer is of no use. */
const badAnswers: ReadonlySet<string> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.CapabilityNotSupported,
  SdkErrorCode.MethodNotSupportedByProtocolVersion,
]);
const unsentCodes: ReadonlySet<string> = new Set([SdkErrorCode.NotConnected, SdkErrorCode.SendFailed]);

/** Never throws, whatever was thrown. */
export function readCallError(thrown: unknown, circumstances: CallCircumstances): CallOutcome {
  const { timeoutMs, hadSession, exitStatus, whyClosed } = circumstances;
  if (thrown instanceof InsufficientScopeError) return { kind: 'needsScope', scope: thrown.requiredScope };
  if (thrown instanceof SdkError && badAnswers.has(thrown.code)) {
    return { kind: 'refused', message: `its answer is not one of the protocol: ${clean(causeOf(thrown))}` };
  }
  const failure = readConnectError(thrown, { timeoutMs, exitStatus });
  switch (failure.kind) {
    case 'timeout':
      return { kind: 'timedOut', afterMs: failure.afterMs };
    case 'rpc':
      if (failure.code === streamEndedCode) return lost(true, streamEndedWords);
      return { kind: 'refused', message: `error ${failure.code}: ${clean(failure.message)}` };
    case 'http':
      if (isSessionExpiry(failure, hadSession)) return { kind: 'expired' };
      if (failure.status === 401) return { kind: 'unauthorized' };
      if (failure.status >= 500) return lost(true, `HTTP ${failure.status} ${failure.message}`);
      return { kind: 'refused', message: `HTTP ${failure.status} ${clean(failure.message)}` };
    case 'exited':
      return lost(!isUnsent(thrown), whyClosed ?? 'its command ended');
    case 'notMcp':
      return lost(true, `it answered ${failure.contentType}`);
    case 'network':
    case 'tls':
      return lost(!isUnsent(thrown), whyClosed ?? failure.message);
    case 'setting':
    case 'spawn':
    case 'tlsFile':
      return lost(false, causeOf(thrown));
  }
}

function lost(dispatched: boolean, why: string): CallOutcome {
  return { kind: 'lost', dispatched, why: clean(why) };
}

function isUnsent(thrown: unknown): boolean {
  if (thrown instanceof SdkError && unsentCodes.has(thrown.code)) return true;
  for (let error: unknown = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth += 1) {
    if (neverSent.test(`${(error as NodeJS.ErrnoException).code ?? ''} ${error.message}`)) return true;
  }
  return false;
}

function clean(text: string): string {
  return strangersWords(text, 500);
}
